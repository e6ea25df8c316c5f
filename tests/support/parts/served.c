#include "tests/support/parts/served.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

void served_start(served_pages *pages, const char *monitor, unsigned idle_s, unsigned request_s)
{
    char yaml[1024];
    crn_error error;
    *pages = (served_pages){.http = NULL};
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "monitor: {http: '127.0.0.1:0'%s%s}\n",
             monitor ? ", " : "", monitor ? monitor : "");
    assert_int_equal(crn_config_parse("f", yaml, strlen(yaml), stderr, &pages->config), 0);
    crn_config_resolve(&pages->config, 2);
    assert_int_equal(crn_meters_init(&pages->config, &pages->meters), 0);
    assert_int_equal(crn_snapshots_create((int32_t)pages->config.limits.lanes, &pages->snapshots),
                     0);
    assert_int_equal(crn_alarms_open("", &pages->alarms), 0);
    assert_int_equal(crn_minutes_start("", 1, (int32_t)pages->config.limits.lanes, &pages->minutes),
                     0);
    assert_int_equal(crn_conditions_open(&pages->config, NULL, NULL, crn_alarms_tell, pages->alarms,
                                         &pages->conditions),
                     0);
    assert_int_equal(crn_flight_create(&pages->config, &pages->flight), 0);
    crn_http_settings settings = {.run = "run",
                                  .meters = &pages->meters,
                                  .snapshots = pages->snapshots,
                                  .conditions = pages->conditions,
                                  .alarms = pages->alarms,
                                  .minutes = pages->minutes,
                                  .flight = pages->flight,
                                  .idle_s = idle_s,
                                  .request_s = request_s};
    if (crn_http_open(&pages->config, &settings, &pages->http, &error) < 0)
        fail_msg("%s", error.text);
    pages->address = crn_http_address(pages->http);
}

void served_stop(served_pages *pages)
{
    crn_http_close(&pages->http);
    crn_flight_free(&pages->flight);
    crn_conditions_close(&pages->conditions);
    crn_alarms_close(&pages->alarms);
    crn_minutes_stop(&pages->minutes);
    crn_snapshots_free(&pages->snapshots);
    crn_meters_done(&pages->meters);
    crn_config_done(&pages->config);
}
