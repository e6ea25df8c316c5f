/* Views in slots through a whole line: the same verdicts, and every slot free again whatever
 * becomes of its view. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/line/internal.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/line/gate.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/random.h"

#define HEIGHT 24
#define WIDTH  40
#define BYTES  (HEIGHT * WIDTH * 2 * 4)

static line_fixture line;
static crn_raw_producer producer;
static float *maps;

static int set_up(void **state)
{
    (void)state;
    maps = line_discs(HEIGHT, WIDTH, 2);
    crn_gate_close(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_raw_producer_close(&producer);
    free(maps);
    return 0;
}

/* Views of one fruit, which closes at its second view or in a long time. */
static void start(const crn_stage *stage, int assemble_ms)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: serial, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: %d}\n"
             "limits: {slots: 3}\n"
             "log: {level: error}\n",
             assemble_ms);
    line_configure(&line, yaml);
    line.config.ingest.slots.slots = 4;
    const char *path = line_use_slots(&line);
    if (stage)
        line.config.chain[0].stage = stage;
    line_run(&line, NULL);
    crn_raw_producer_open(path, 4, BYTES, &producer);
    line.producer = &producer;
}

static void stop(void)
{
    line_stop(&line);
    crn_raw_producer_close(&producer);
}

static crn_view_header header_of(uint64_t fruit, uint16_t view)
{
    crn_view_header header = line_header(&line, fruit, view, 2, HEIGHT, WIDTH);
    header.payload_bytes = BYTES;
    return header;
}

static void expect_verdict(uint64_t fruit, const char *kind, uint64_t judged)
{
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, kind);
    assert_int_equal(verdict.views_judged, judged);
    assert_int_equal(verdict.defects, judged);
}

/* All slots are the producer's again. */
static void expect_all_free(void)
{
    for (uint32_t i = 0; i < producer.answer.slots; i++)
        crn_raw_producer_take(&producer); /* waits */
    for (uint32_t slot = 0; slot < producer.answer.slots; slot++)
        atomic_fetch_and(&producer.states[slot], ~(uint64_t)CRN_SLOTS_FILLING);
}

static void fruits_in_slots_get_their_verdicts(void **state)
{
    (void)state;
    start(NULL, 60000);
    for (uint64_t fruit = 0; fruit < 20; fruit++) { /* each slot many times */
        for (uint16_t view = 0; view < 2; view++)
            line_send(&line, header_of(fruit, view), maps, NULL);
        expect_verdict(fruit, "complete", 2);
    }
    expect_all_free();
    line_end(&line);
    assert_int_equal(line.line->meters.lanes[0].received[CRN_INGEST_MEMFD], 40);
    assert_int_equal(line.line->meters.lanes[0].received[CRN_INGEST_IPC], 0);
    line_close(&line);
    assert_int_equal(line.metrics.fruits.complete, 20);
    assert_int_equal(line.metrics.slots.producers, 1);
}

static void headers_may_come_through_zeromq(void **state)
{
    (void)state;
    start(NULL, 60000);
    for (uint16_t view = 0; view < 2; view++) {
        unsigned char header[CRN_WIRE_HEADER_BYTES], reference[CRN_SLOTS_REFERENCE_BYTES];
        const void *parts[] = {header, reference};
        const size_t sizes[] = {sizeof header, sizeof reference};
        crn_view_header sent = header_of(1, view);
        sent.sequence = line.sequence++;
        uint32_t slot = crn_raw_producer_take(&producer);
        crn_raw_producer_fill(&producer, slot, &sent, maps, NULL);
        sent.flags = CRN_SLOTS_FLAG_IN_SLOT;
        crn_wire_pack(&sent, header);
        crn_slots_reference refers = crn_raw_producer_refer(&producer, slot);
        crn_slots_pack_reference(&refers, reference);
        line_send_parts(&line, parts, sizes, 2);
    }
    expect_verdict(1, "complete", 2);
    unsigned char alone[CRN_WIRE_HEADER_BYTES];
    const void *part = alone;
    const size_t size = sizeof alone;
    crn_view_header none = header_of(2, 0);
    none.sequence = line.sequence++;
    none.flags = CRN_SLOTS_FLAG_NO_SLOT;
    none.deadline_ns = 1; /* of no concern: far away */
    crn_wire_pack(&none, alone);
    line_send_parts(&line, &part, &size, 1);
    line_send(&line, header_of(2, 1), maps, NULL);
    expect_verdict(2, "partial", 1);
    stop();
    assert_int_equal(line.metrics.fruits.no_slot, 1);
}

static void a_view_that_got_no_slot_is_lost_for_that_reason(void **state)
{
    (void)state;
    start(NULL, 60000);
    crn_view_header none = header_of(1, 0);
    none.sequence = line.sequence++;
    crn_raw_producer_send_none(&producer, &none);
    line_send(&line, header_of(1, 1), maps, NULL);
    expect_verdict(1, "partial", 1);
    stop();
    assert_int_equal(line.metrics.fruits.no_slot, 1);
    assert_int_equal(line.metrics.fruits.wanted, 2);
}

/* Whatever is wrong with a view, its slot comes back; a wrong reference frees none. */
static void slots_of_unwanted_views_come_back(void **state)
{
    (void)state;
    start(NULL, 60000);
    crn_view_header header = header_of(1, 0);
    line_send(&line, header, maps, NULL);
    line_send(&line, header, maps, NULL); /* a duplicate */
    crn_view_header other = header_of(1, 1);
    other.class_set ^= 1;
    line_send(&line, other, maps, NULL);
    expect_all_free();
    crn_slots_reference wrong = crn_raw_producer_refer(&producer, 0);
    wrong.generation += 7;
    other = header_of(1, 1);
    other.flags = CRN_SLOTS_FLAG_IN_SLOT;
    crn_raw_producer_send_packet(&producer, &other, &wrong);
    line_send(&line, header_of(1, 1), maps, NULL);
    expect_verdict(1, "complete", 2);
    line_send(&line, header, maps, NULL); /* after its fruit's verdict */
    expect_all_free();
    stop();
    assert_int_equal(line.metrics.slots.slots_taken_back, 0); /* that would be after 10 s */
    assert_int_equal(line.metrics.fruits.duplicates, 1);
    assert_int_equal(line.metrics.fruits.stragglers, 1);
    assert_int_equal(line.metrics.ingest.faults[CRN_WIRE_CLASS_SET], 1);
    assert_int_equal(line.metrics.ingest.faults[CRN_WIRE_GENERATION], 1);
}

/* Until the line has so many views. */
static void wait_for_views(uint64_t views)
{
    crn_line_status status;
    do
        assert_int_equal(crn_line_status_get(line.line, &status), 0);
    while (status.views < views);
}

static void send_by_socket(uint64_t fruit, uint16_t view)
{
    line.producer = NULL;
    line_send(&line, header_of(fruit, view), maps, NULL);
    line.producer = &producer;
}

/* The pool has 3 slots. A view that finds all taken evicts one of a younger fruit, but none that
 * lies in a ring: its slot would be of no use to it. */
static void slots_of_ring_and_pool_are_not_mixed(void **state)
{
    (void)state;
    start(&crn_gated, 60000);
    send_by_socket(1, 0);
    crn_gate_wait();
    send_by_socket(2, 0); /* the worker takes it as its next one */
    send_by_socket(3, 0);
    wait_for_views(3);
    for (uint16_t view = 0; view < 2; view++)
        line_send(&line, header_of(4, view), maps, NULL);
    wait_for_views(5);
    send_by_socket(1, 1); /* evicts that of fruit 3 */
    wait_for_views(6);
    crn_gate_let_through(64);
    seen_verdict verdict;
    uint64_t complete = 0;
    for (int i = 0; i < 2; i++) {
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "complete");
        complete |= UINT64_C(1) << verdict.fruit;
    }
    assert_int_equal(complete, 1 << 1 | 1 << 4);
    send_by_socket(3, 1);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 3);
    assert_string_equal(verdict.verdict, "partial");
    expect_all_free();
    stop();
}

static void what_a_producer_sent_before_its_end_is_judged(void **state)
{
    (void)state;
    start(&crn_gated, 60000);
    for (uint16_t view = 0; view < 2; view++)
        line_send(&line, header_of(1, view), maps, NULL);
    crn_gate_wait();
    crn_raw_producer_close(&producer);
    crn_gate_let_through(64);
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "complete");
    crn_raw_producer_open(line.config.ingest.slots.path, 4, BYTES, &producer); /* it returns */
    line_send(&line, header_of(2, 0), maps, NULL);
    line_send(&line, header_of(2, 1), maps, NULL);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "complete");
    stop();
    assert_int_equal(line.metrics.slots.left, 1);
}

/* Byte for byte, except for times. */
static void verdicts_are_those_of_views_that_were_sent(void **state)
{
    (void)state;
    every_stage_start(
        &line,
        &(every_stage_settings){.backend = "openmp", .workers = 2, .threads = 1, .slots = "memfd"});
    crn_raw_producer_open(line.config.ingest.slots.path, 0, 1 << 20, &producer);
    verdict_bytes sent, in_slots;
    for (uint64_t fruit = 0; fruit < CRN_EVERY_STAGE_SHOWN; fruit++) {
        line.producer = NULL;
        every_stage_send(&line, fruit, 1);
        every_stage_receive(&line, &sent);
        line.producer = &producer;
        every_stage_send(&line, fruit, 2);
        every_stage_receive(&line, &in_slots);
        every_stage_expect_whole(&in_slots);
        every_stage_expect_same(&sent, &in_slots);
        free(sent.data);
        free(in_slots.data);
    }
    stop();
}

/* Writes into all slots until it is killed. */
static void write_for_ever(void)
{
    crn_random random = {1};
    size_t bytes = producer.answer.slots * producer.answer.slot_bytes;
    for (;;) {
        uint64_t value = crn_random_next(&random);
        size_t at = (size_t)(value >> 8) % (bytes / 64);
        memset(producer.slots + 64 * at, (int)(value & 0xff), 64);
    }
}

/* Its maps, and what is found in them, are its own matter; all others are judged as ever.
 * CRN_CASES: so many fruits. */
static void a_producer_that_keeps_writing_harms_nobody(void **state)
{
    (void)state;
    every_stage_start(
        &line,
        &(every_stage_settings){.backend = "openmp", .workers = 2, .threads = 1, .slots = "memfd"});
    crn_raw_producer_open(line.config.ingest.slots.path, 0, 1 << 16, &producer);
    pid_t writer = crn_cleanup_fork();
    if (writer == 0) {
        write_for_ever();
        _exit(1);
    }
    verdict_bytes verdict;
    uint64_t fruits = crn_random_cases(30);
    for (uint64_t fruit = 0; fruit < fruits; fruit++) {
        line.producer = &producer;
        every_stage_send(&line, fruit, 1);
        line.producer = NULL;
        every_stage_send(&line, fruit, 2);
        for (int i = 0; i < 2; i++) {
            every_stage_receive(&line, &verdict);
            assert_int_equal(verdict.fruit, fruit);
            if (verdict.lane == 2)
                every_stage_expect_whole(&verdict);
            free(verdict.data);
        }
    }
    kill(writer, SIGKILL);
    crn_cleanup_wait(writer, NULL);
    line.producer = &producer;
    every_stage_send(&line, fruits, 1);
    every_stage_receive(&line, &verdict);
    every_stage_expect_whole(&verdict);
    free(verdict.data);
    stop();
}

/* So many views were recorded, with the first value of each as the next test sends them. */
static void expect_recorded(int views)
{
    DIR *folder = opendir(recorded_folder);
    const struct dirent *entry;
    crn_recorded_view got;
    crn_error error;
    int count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", recorded_folder, entry->d_name);
        if (!crn_segment_is_name(entry->d_name))
            continue;
        crn_recording_reader *reader = recorded_open(path);
        for (; crn_recording_next(reader, &got, &error) == 1; count++) {
            float first = (float)count / 8;
            assert_memory_equal(got.maps, &first, sizeof first);
            assert_int_equal(got.header.flags, 0);
        }
        crn_recording_end(&reader);
    }
    closedir(folder);
    assert_int_equal(count, views);
}

/* What is recorded and what is kept are copies: the producer has its slots again. */
static void maps_are_recorded_and_kept(void **state)
{
    (void)state;
    char yaml[640];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: serial, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "limits: {slots: 8}\n"
             "record: {dir: '%s'}\n"
             "monitor: {http: '127.0.0.1:0', keep_slots: 4}\n"
             "log: {level: error}\n",
             recorded_folder);
    line_configure(&line, yaml);
    line.config.ingest.slots.slots = 8; /* held until the verdict while most are free */
    const char *path = line_use_slots(&line);
    line_run(&line, NULL);
    crn_raw_producer_open(path, 8, BYTES, &producer);
    line.producer = &producer;
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        maps[1] = fruit == 1 ? 7 : 0; /* not a probability: its fruit is partial */
        for (uint16_t view = 0; view < 2; view++) {
            maps[0] = (float)(fruit * 2 + view) / 8;
            line_send(&line, header_of(fruit, view), maps, NULL);
        }
        seen_verdict verdict;
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, fruit == 1 ? "partial" : "complete");
    }
    expect_all_free();
    memset(producer.slots, 0xff, 8 * producer.answer.slot_bytes);
    line_end(&line);
    crn_kept_copy copy = {0};
    for (uint16_t view = 0; view < 2; view++) {
        float first = (float)(2 + view) / 8;
        assert_int_equal(
            crn_kept_maps_copy(line.line->kept_maps, &(crn_kept_fruit){0, 7, 1}, view, &copy), 1);
        assert_int_equal(copy.header.view, view);
        assert_memory_equal(copy.bytes, &first, sizeof first);
    }
    free(copy.bytes);
    line_close(&line);
    expect_recorded(6);
    crn_raw_producer_close(&producer);
    recorded_clear();
}

int main(void)
{
#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_LINE(fruits_in_slots_get_their_verdicts),
        ON_LINE(headers_may_come_through_zeromq),
        ON_LINE(a_view_that_got_no_slot_is_lost_for_that_reason),
        ON_LINE(slots_of_unwanted_views_come_back),
        ON_LINE(slots_of_ring_and_pool_are_not_mixed),
        ON_LINE(what_a_producer_sent_before_its_end_is_judged),
        ON_LINE(verdicts_are_those_of_views_that_were_sent),
        ON_LINE(a_producer_that_keeps_writing_harms_nobody),
        ON_LINE(maps_are_recorded_and_kept),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
