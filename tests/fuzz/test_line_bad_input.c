/*
 * The whole line under invalid input: every case of fault and random messages, interspersed with
 * valid fruits. Each invalid message is counted, each valid fruit is answered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/peers/bad_messages.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"

/* Lane of the valid fruits; random messages never use it. */
#define GOOD_LANE UINT32_C(0x900d900d)

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}]\n"
    "run: {backend: openmp, workers: 1, threads: 1}\n"
    "limits: {view_mib: 1, lanes: 1024}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: error}\n";

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static crn_wire_rules rules_of(const line_fixture *line)
{
    return (crn_wire_rules){
        .max_bytes = (uint64_t)line->config.limits.view_mib << 20,
        .channels = (uint32_t)line->config.classes.count,
        .views = (uint32_t)line->config.limits.views,
        .class_set = crn_classes_hash(&line->config.classes),
    };
}

static void send_message(line_fixture *line, const crn_message *message)
{
    const void *parts[CRN_MESSAGE_PARTS_MAX];
    size_t sizes[CRN_MESSAGE_PARTS_MAX];
    for (size_t i = 0; i < message->parts; i++) {
        parts[i] = message->part[i].bytes;
        sizes[i] = message->part[i].size;
    }
    line_send_parts(line, parts, sizes, (int)message->parts);
}

/* Sends a fruit of one view and waits for its verdict, skipping those of random messages. */
static void answer_a_good_fruit(line_fixture *line, const float *maps, uint64_t fruit)
{
    crn_view_header header = line_header(line, fruit, 0, 1, 24, 40);
    header.lane = GOOD_LANE;
    line_send(line, header, maps, NULL);
    seen_verdict verdict;
    do {
        if (!line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict))
            fail_msg("good fruit %" PRIu64 " was not answered", fruit);
    } while (verdict.lane != GOOD_LANE);
    assert_int_equal(verdict.fruit, fruit);
    assert_int_equal(verdict.sequence, fruit);
    assert_string_equal(verdict.verdict, "complete");
    assert_int_equal(verdict.defects, 2);
}

static void every_shape_of_fault_is_counted_under_its_reason(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    crn_wire_rules rules = rules_of(&line);
    crn_view_header good = crn_message_header(&rules);
    float *maps = line_discs(24, 40, 3);
    uint64_t expected[CRN_WIRE_FAULTS] = {0};
    uint64_t fruit = 0;
    for (size_t i = 0; i < crn_message_bad_count(); i++) {
        crn_message message;
        crn_message_make_bad(i, &good, &rules, &message);
        send_message(&line, &message);
        expected[message.fault]++;
        answer_a_good_fruit(&line, maps, fruit++);
        crn_message_done(&message);
    }
    line_stop(&line);
    for (int fault = 1; fault < CRN_WIRE_FAULTS; fault++)
        if (line.metrics.ingest.faults[fault] != expected[fault])
            fail_msg("%s: %" PRIu64 " counted, %" PRIu64 " sent", crn_wire_fault_names[fault],
                     line.metrics.ingest.faults[fault], expected[fault]);
    assert_int_equal(line.metrics.fruits.complete, fruit);
    free(maps);
}

static void chance_is_survived_and_counted(void **state)
{
    (void)state;
    uint64_t seed = number_from("CRN_SEED", 20261120), cases = number_from("CRN_CASES", 100000);
    printf("seed %" PRIu64 ", %" PRIu64 " messages\n", seed, cases);
    static line_fixture line;
    line_start(&line, yaml);
    crn_wire_rules rules = rules_of(&line);
    crn_view_header good = crn_message_header(&rules);
    float *maps = line_discs(24, 40, 3);
    uint64_t bad = 0, fruit = 0;
    for (uint64_t i = 0; i < cases; i++) {
        crn_message message;
        crn_message_make_random(&seed, &good, &rules, &message);
        bool acceptable = crn_message_is_acceptable(&message, &rules);
        if (!acceptable || crn_message_get(message.part[0].bytes + 56, 4) != GOOD_LANE) {
            send_message(&line, &message);
            bad += !acceptable;
        }
        crn_message_done(&message);
        if (i % 500 == 0)
            answer_a_good_fruit(&line, maps, fruit++);
    }
    answer_a_good_fruit(&line, maps, fruit++);
    line_stop(&line);
    uint64_t counted = 0;
    for (int fault = 1; fault < CRN_WIRE_FAULTS; fault++)
        counted += line.metrics.ingest.faults[fault];
    assert_int_equal(counted, bad);
    assert_true(bad > cases / 10);
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_of_fault_is_counted_under_its_reason),
        cmocka_unit_test(chance_is_survived_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
