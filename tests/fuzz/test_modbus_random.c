/*
 * Random requests to the sorter's Modbus server: none does harm, and none but a good
 * acknowledgement takes a decision away. CRN_CASES is the number of cases, CRN_SEED the seed.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/sorter/modbus/server.h"
#include "tools/sorter/modbus/window.h"

#define RUN       77
#define DECISIONS 30

/* So many cases are sure to hold requests of each kind that is counted; fewer may lack one. */
#define SURE_CASES 50000

static int connect_to(const crn_modbus_server *server)
{
    int port = atoi(strrchr(crn_modbus_server_address(server), ':') + 1);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* A request that is nearly one: often a whole frame, with functions and addresses that exist. */
static size_t draw_request(crn_random *random, unsigned char *bytes)
{
    static const unsigned char functions[] = {1, 2, 3, 3, 4, 5, 6, 15, 16, 16, 17, 22, 23, 23, 99};
    size_t size = 8 + crn_random_below(random, 40);
    for (size_t i = 0; i < size; i++)
        bytes[i] = crn_random_once_in(random, 3) ? (unsigned char)crn_random_next(random) : 0;
    memset(bytes, 0, 6);
    bytes[5] = (unsigned char)(size - 6);
    bytes[7] = functions[crn_random_below(random, sizeof functions)];
    if (size > 20 && crn_random_once_in(random, 2)) { /* near the acknowledgement of window 0 */
        size_t at = bytes[7] == 23 ? 12 : 8;
        bytes[at] = 0;
        bytes[at + 1] = CRN_WINDOW_ACK;
        bytes[at + 3] = CRN_WINDOW_ACKS;
        bytes[at + 4] = 2 * CRN_WINDOW_ACKS;
    }
    return crn_random_once_in(random, 6) ? crn_random_spoil(random, bytes, size) : size;
}

static void no_request_does_harm(void **state)
{
    (void)state;
    crn_error error = {""};
    crn_modbus_server *server = NULL;
    static const crn_texts peers = {.count = 0};
    static const crn_numbers lanes = {.count = 1, .item = {3}};
    const crn_modbus_plan plan = {.address = "127.0.0.1:0",
                                  .peers = &peers,
                                  .lanes = &lanes,
                                  .ring = 2 * DECISIONS,
                                  .run = RUN};
    if (!crn_modbus_is_built())
        skip();
    assert_int_equal(crn_modbus_server_open(&plan, &server, &error), 0);
    for (int i = 0; i < DECISIONS; i++)
        crn_modbus_server_add(server, &(crn_decision){.outlet = 1, .lane = 3}, 0);
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(100000);
    int client = -1;
    for (uint32_t i = 0; i < cases; i++) {
        unsigned char bytes[64 + CRN_SPOILT_MORE], answer[4096];
        if (client < 0)
            client = connect_to(server);
        size_t size = draw_request(&random, bytes);
        bool gone = send(client, bytes, size, MSG_NOSIGNAL) < 0;
        crn_modbus_server_serve(server, CRN_LINE_HEARD, i);
        gone |= recv(client, answer, sizeof answer, MSG_DONTWAIT) == 0;
        if (gone || crn_random_once_in(&random, 50)) {
            close(client);
            client = -1;
        }
    }
    crn_modbus_stats stats = crn_modbus_server_get_stats(server);
    uint32_t sure = cases / SURE_CASES;
    assert_true(stats.requests >= sure * (SURE_CASES / 4) && stats.bad_frames >= sure);
    assert_int_equal(stats.overwritten, 0);
    assert_true(stats.refused_acknowledgements >= sure);
    /* A random one must have guessed the run. */
    assert_true(stats.acknowledged <= 2 * DECISIONS);
    close(client);
    crn_modbus_server_close(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_request_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
