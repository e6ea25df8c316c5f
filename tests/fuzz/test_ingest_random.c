/*
 * Random messages through a socket into crn_ingest, interspersed with valid views: every valid one
 * must arrive whole and in order, and the counts of accepted and refused random ones must follow
 * from the rules. CRN_CASES (20000 by default) and CRN_SEED as in test_wire_random.c.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <zmq.h>

#include "stages/base/log.h"
#include "src/ingest/ingest.h"
#include "tests/support/peers/bad_messages.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/receiving.h"

#define BATCH 10 /* messages sent before they are read */

/* No bit flip and no limit value gives a random message this epoch. */
#define GOOD_EPOCH UINT64_C(0x7b3fd1e60c95a842)

static crn_receiving line;
static unsigned char *maps, *intensity;

static uint64_t setting(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : fallback;
}

static uint64_t total_faults(void)
{
    const crn_ingest_stats *stats = crn_ingest_get_stats(line.ingest);
    uint64_t total = 0;
    for (int fault = 0; fault < CRN_WIRE_FAULTS; fault++)
        total += stats->faults[fault];
    return total;
}

/* Sends one random message; true if it must be accepted. */
static bool send_random(uint64_t seed)
{
    crn_message message;
    crn_message_make_random(&seed, &line.good, &line.rules, &message);
    bool acceptable = crn_message_is_acceptable(&message, &line.rules);
    assert_int_equal(crn_message_send(&message, line.push), 0);
    crn_message_done(&message);
    return acceptable;
}

static void good_views_between_random_messages_all_arrive(void **state)
{
    (void)state;
    uint64_t cases = setting("CRN_CASES", 20000), seed = setting("CRN_SEED", 1);
    uint64_t accepted = 0, acceptable = 0, good = 0;
    for (uint64_t sent = 0; sent < cases;) {
        for (uint64_t end = sent + BATCH; sent < end; sent++)
            acceptable += send_random(seed + sent);
        crn_view_header header = line.good;
        line.good.epoch = GOOD_EPOCH;
        crn_receiving_send_good(&line, line.push, good);
        line.good = header;
        for (;;) {
            crn_receiving_next(&line, &header);
            crn_ingest_copy(line.ingest, crn_values_kernels_best()->copy_u8, maps, intensity);
            if (header.epoch == GOOD_EPOCH)
                break;
            accepted++;
        }
        if (header.sequence != good || !crn_message_matches(&header, maps, intensity))
            fail_msg("CRN_SEED=%" PRIu64 ": good view %" PRIu64 " came as %" PRIu64, seed + sent,
                     good, header.sequence);
        if (accepted != acceptable || total_faults() != sent - accepted)
            fail_msg("CRN_SEED=%" PRIu64 ": %" PRIu64 " accepted, not %" PRIu64, seed + sent,
                     accepted, acceptable);
        good++;
    }
    print_message("%" PRIu64 " good, %" PRIu64 " accepted, %" PRIu64 " refused\n", good, accepted,
                  total_faults());
}

static int set_up(void **state)
{
    (void)state;
    crn_log_set_level(CRN_LOG_ERROR);
    crn_receiving_open("inproc://views", &line);
    maps = malloc(line.rules.max_bytes);
    intensity = malloc(line.rules.max_bytes);
    return maps && intensity ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(maps);
    free(intensity);
    crn_receiving_close(&line);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        good_views_between_random_messages_all_arrive, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
