/*
 * Mutated logs (bytes changed, inserted and deleted, files cut) and random bytes through the
 * reader: it ends, and every verdict that it returns is one that was written. CRN_CASES is the
 * number of cases (2000 by default), CRN_SEED the first seed (default: the clock).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tests/support/random.h"

#define BYTES_MAX 16384
#define VERDICTS  40

static unsigned char original[BYTES_MAX], bytes[BYTES_MAX];

static size_t load(void)
{
    FILE *file = fopen(logged_path(1), "r");
    assert_non_null(file);
    size_t size = fread(original, 1, sizeof original, file);
    fclose(file);
    assert_true(size > 1000 && size < BYTES_MAX - 100);
    return size;
}

static void save(uint64_t segment, size_t size)
{
    FILE *file = fopen(logged_path(segment), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A mutated segment, one of random bytes, and a whole one. */
static void check_case(crn_random *random, size_t size)
{
    memcpy(bytes, original, size);
    save(1, crn_random_spoil(random, bytes, size));
    size_t noise = crn_random_below(random, 2000);
    for (size_t i = 0; i < noise; i++)
        bytes[i] = (unsigned char)(crn_random_once_in(random, 3) ? crn_random_next(random) : 0);
    if (crn_random_once_in(random, 2))
        memcpy(bytes, original, 16);
    save(2, noise);
    memcpy(bytes, original, size);
    save(3, size);
    const logged_log *log = logged_read();
    assert_true(log->count >= VERDICTS);
    for (size_t i = 0; i < log->count; i++)
        assert_true(log->numbers[i] < VERDICTS);
    for (size_t i = 0; i < VERDICTS; i++)
        assert_int_equal(log->numbers[log->count - VERDICTS + i], i);
}

static void only_written_verdicts_are_read(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(2000);
    logged_bytes_max = 300;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 0, VERDICTS);
    crn_verdict_writer_close(&writer);
    size_t size = load();
    for (uint32_t i = 0; i < cases; i++) {
        crn_random random = {seed + i};
        check_case(&random, size);
    }
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_written_verdicts_are_read, logged_setup,
                                        logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
