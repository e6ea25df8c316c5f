/* What the descriptors leave out is not looked at, and nothing is missed by that. */
#include <poll.h>

#include "tests/support/parts/receiving.h"
#include "tests/support/cmocka_prelude.h"

#define TCP "tcp://127.0.0.1:*"

static crn_receiving line;

static int tear_down(void **state)
{
    (void)state;
    crn_receiving_close(&line);
    return 0;
}

static void expect_next(uint64_t sequence)
{
    crn_view_header header;
    crn_receiving_next(&line, &header);
    assert_int_equal(header.sequence, sequence);
}

static void what_is_quiet_is_not_looked_at(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    crn_receiving_send_good(&line, line.push, 1);
    crn_receiving_wait_peers(&line, 1, 0, 0);
    expect_next(1);
    crn_view_header header;
    int descriptors[2];
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    crn_ingest_set_quiet(line.ingest, (crn_ingest_quiet){true, true, true});
    crn_receiving_send_good(&line, line.push, 2);
    crn_ingest_descriptors(line.ingest, descriptors);
    struct pollfd item = {descriptors[0], POLLIN, 0};
    assert_int_equal(poll(&item, 1, CRN_PATIENCE_MS), 1);
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    assert_false(crn_ingest_pending(line.ingest));
    crn_ingest_set_quiet(line.ingest, (crn_ingest_quiet){.events = true});
    expect_next(2);
}

/* As the line's thread does: the descriptors, which are edge-triggered, are all that it goes by. */
static void descriptors_alone_tell_every_view(void **state)
{
    (void)state;
    enum { BURSTS = 100, VIEWS = 3 };
    crn_receiving_open(TCP, &line);
    uint64_t sent = 0, got = 0;
    crn_ingest_service(line.ingest); /* to their end once: only then are they signalled */
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 0; i < 1 + burst % VIEWS; i++)
            crn_receiving_send_good(&line, line.push, sent++);
        while (got < sent) {
            crn_view_header header;
            int r = crn_ingest_receive(line.ingest, &header);
            if (r == 1)
                assert_int_equal(header.sequence, got++);
            else if (!crn_ingest_pending(line.ingest)) {
                int descriptors[2];
                crn_ingest_descriptors(line.ingest, descriptors);
                struct pollfd items[] = {{descriptors[0], POLLIN, 0}, {descriptors[1], POLLIN, 0}};
                assert_true(poll(items, 2, CRN_PATIENCE_MS) > 0);
                crn_ingest_set_quiet(line.ingest, (crn_ingest_quiet){.socket = !items[0].revents,
                                                                     .events = !items[1].revents});
                crn_ingest_service(line.ingest);
            }
        }
    }
    assert_int_equal(crn_ingest_get_stats(line.ingest)->connected, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_quiet_is_not_looked_at, tear_down),
        cmocka_unit_test_teardown(descriptors_alone_tell_every_view, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
