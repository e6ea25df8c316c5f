/* A whole line with publish.log: what the grader got is in the log, byte for byte and in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/little_endian.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/logged.h"

#define FRUITS 30

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}]\n"
    "run: {backend: openmp, workers: 1, threads: 1}\n"
    "limits: {slots: 128}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

static unsigned char *verdicts[2 * FRUITS];
static size_t sizes[2 * FRUITS];

/* Runs a line and keeps what the grader gets from `first` on. */
static void run_line(int first)
{
    static line_fixture line;
    line_configure(&line, yaml);
    snprintf(line.config.publish.log.dir, CRN_TEXT_BYTES, "%s", logged_folder);
    line_run(&line, NULL);
    float *maps = line_discs(48, 64, 3);
    for (int fruit = 0; fruit < FRUITS; fruit++) {
        crn_view_header header = line_header(&line, (uint64_t)fruit, 0, 1, 48, 64);
        header.lane = (uint32_t)fruit % 3;
        line_send(&line, header, maps, NULL);
        int at = first + fruit;
        verdicts[at] = line_receive_bytes(&line, CRN_FIXTURE_PATIENCE_MS, &sizes[at]);
        assert_non_null(verdicts[at]);
    }
    line_stop(&line);
    assert_int_equal(line.metrics.publish.log.dropped, 0);
    assert_int_equal(line.metrics.publish.log.failed, 0);
    free(maps);
}

static void the_log_is_what_the_grader_got(void **state)
{
    (void)state;
    run_line(0);
    run_line(FRUITS);
    assert_int_equal(logged_files(), 2);
    crn_verdict_reader *reader;
    crn_logged_verdict verdict;
    crn_error error;
    assert_int_equal(crn_verdict_reader_open(logged_folder, &reader, &error), 0);
    for (int i = 0; i < 2 * FRUITS; i++) {
        assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 1);
        assert_int_equal(verdict.lane, i % FRUITS % 3);
        assert_int_equal(verdict.size, sizes[i]);
        assert_memory_equal(verdict.bytes, verdicts[i], sizes[i]);
        free(verdicts[i]);
    }
    assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 0);
    crn_verdict_reader_close(&reader);
}

/* The reader in the README, written from the format's description alone; the last record is torn.
 */
static void the_documented_reader_reads_it(void **state)
{
    (void)state;
    char command[256];
    if (system("python3 -c 'import zlib'") != 0)
        skip();
    crn_verdict_writer *writer = logged_writer(20000, 0);
    logged_append(writer, 0, 100);
    crn_verdict_writer_close(&writer);
    snprintf(command, sizeof command, "truncate -s -1 '%s'", logged_path((uint64_t)logged_files()));
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command,
             "python3 " CRN_TEST_DATA "/line/programs/verdicts/check_verdict_log.py '%s'",
             logged_folder);
    FILE *read = popen(command, "r");
    assert_non_null(read);
    for (uint64_t number = 0; number < 99; number++) {
        static unsigned char bytes[4 + 3000];
        size_t size;
        const unsigned char *verdict = logged_verdict(number, &size);
        assert_int_equal(fread(bytes, 1, 4 + size, read), 4 + size);
        assert_int_equal(crn_get_le32(bytes), logged_lane(number));
        assert_memory_equal(bytes + 4, verdict, size);
    }
    assert_int_equal(fgetc(read), EOF);
    assert_int_equal(pclose(read), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_log_is_what_the_grader_got, logged_setup,
                                        logged_teardown),
        cmocka_unit_test_setup_teardown(the_documented_reader_reads_it, logged_setup,
                                        logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
