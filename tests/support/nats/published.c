#include "tests/support/nats/published.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/programs/shell.h"

archived_line published_line;
nats_server published_server;
char published_url[160], published_output[4096];

int published_setup(void **state)
{
    published_line = (archived_line){.random = {crn_random_seed()}};
    int r = archived_setup(state);
    published_server =
        (nats_server){.port = crn_test_free_ports(false, 1), .folder = logged_folder};
    snprintf(published_url, sizeof published_url, "nats://127.0.0.1:%d/" CRN_PUBLISHED_STREAM,
             published_server.port);
    return r;
}

void published_start(const char *settings)
{
    if (!nats_server_is_installed())
        skip();
    published_server.settings = settings;
    nats_server_start(&published_server);
}

void published_write(uint64_t verdicts)
{
    archived_write(&published_line, CRN_FORMAT_MSGPACK, UINT64_MAX, verdicts);
}

int published_run(const char *from, const char *to, const char *options)
{
    char command[1024];
    snprintf(command, sizeof command, CRN_BIN "/cernita-archive --from %s --to %s %s 2>&1", from,
             to, options);
    return crn_test_shell(command, published_output, sizeof published_output);
}

void published_expect_said(const char *wanted)
{
    if (!strstr(published_output, wanted))
        fail_msg("'%s' expected in: %s", wanted, published_output);
}

void published_publish(void)
{
    if (published_run(logged_folder, published_url, "") != 0)
        fail_msg("%s", published_output);
}

void published_archive(void)
{
    if (published_run(published_url, archived_path, "") != 0)
        fail_msg("%s", published_output);
}
