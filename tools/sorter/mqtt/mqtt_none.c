/* In a build without libmosquitto. */
#include <errno.h>

#include "stages/base/clock.h"
#include "tools/sorter/mqtt/mqtt.h"

bool crn_mqtt_is_built(void)
{
    return false;
}

int crn_mqtt_open(const crn_mqtt_plan *plan, crn_mqtt **ret_mqtt, crn_error *error)
{
    (void)ret_mqtt;
    return crn_error_set(error, -ENOTSUP, "%s: this program was built without libmosquitto",
                         plan->broker);
}

void crn_mqtt_close(crn_mqtt **mqtt)
{
    (void)mqtt;
}

void crn_mqtt_send(crn_mqtt *mqtt, const char *json, size_t length)
{
    (void)mqtt;
    (void)json;
    (void)length;
}

int64_t crn_mqtt_look(crn_mqtt *mqtt, crn_line_state state, const crn_decider_stats *stats,
                      const crn_texts *outlets, int64_t now_ns)
{
    (void)mqtt;
    (void)state;
    (void)stats;
    (void)outlets;
    (void)now_ns;
    return CRN_NEVER_NS;
}

crn_mqtt_stats crn_mqtt_get_stats(const crn_mqtt *mqtt)
{
    (void)mqtt;
    return (crn_mqtt_stats){.connected = 0};
}
