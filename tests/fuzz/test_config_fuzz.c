/*
 * Mutated line files: for any bytes the parser returns either settings that print and load again,
 * or error messages of the documented form. The seed is fixed; a failing round prints its file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/same_config.h"

#define ROUNDS    20000
#define FILE_MAX  8192
#define MUTATIONS 4

static const char *const seeds[] = {
    "/data/config/good_minimal.yaml", "/data/config/good_full.yaml", "/data/config/good_texts.yaml",
    "/data/config/good_windows.yaml", "/data/config/good_json.yaml", "/../config/line.yaml",
    "/../config/line-full.yaml"};
#define SEEDS (sizeof seeds / sizeof *seeds)

/* Tokens that change one YAML construct into another. */
static const char *const tokens[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     ": ",
                                     ":",
                                     "- ",
                                     "\n",
                                     "\n  ",
                                     "\n\t",
                                     "#",
                                     "&a ",
                                     "*a",
                                     "!!int ",
                                     "---\n",
                                     "...",
                                     "\"",
                                     "'",
                                     "\"\\0",
                                     "\\u2028",
                                     "|\n",
                                     ">\n",
                                     "? ",
                                     "%YAML ",
                                     "<<: ",
                                     "null",
                                     "~",
                                     "010",
                                     "1e999",
                                     "-0",
                                     "nan",
                                     "true",
                                     "0.5",
                                     "-1",
                                     "name: ",
                                     "level: ",
                                     "\xff",
                                     "\xc3",
                                     "\x01",
                                     "\x9b",
                                     "\xe2\x80\xa8",
                                     "contours",
                                     "ranklet: ",
                                     "size: ",
                                     "7x3",
                                     "[8, 4x2]",
                                     "bind: ",
                                     "lanes: ",
                                     "classes:\n"};

static uint64_t random_state = 20240613;

/* Splitmix64. */
static uint32_t random_below(size_t limit)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) % limit);
}

/* Replaces `old` bytes at `at` by `length` new ones. */
static size_t splice(char *file, size_t size, size_t at, size_t old, const char *bytes,
                     size_t length)
{
    if (size - old + length > FILE_MAX)
        return size;
    memmove(file + at + length, file + at + old, size - at - old);
    memcpy(file + at, bytes, length);
    return size - old + length;
}

static size_t mutate(char *file, size_t size)
{
    char bytes[64];
    size_t at = random_below(size + 1), from = random_below(size + 1);
    size_t old = random_below(32), length = random_below(sizeof bytes);
    const char *token = tokens[random_below(sizeof tokens / sizeof *tokens)];
    old = at + old > size ? size - at : old;
    length = from + length > size ? size - from : length;
    memcpy(bytes, file + from, length);
    switch (random_below(5)) {
    case 0: /* one byte */
        bytes[0] = (char)random_below(256);
        return splice(file, size, at, at < size, bytes, 1);
    case 1:
        return splice(file, size, at, old, "", 0);
    case 2: /* insert a copy of another range of the file */
        return splice(file, size, at, 0, bytes, length);
    case 3:
        return splice(file, size, at, 0, token, strlen(token));
    default:
        return splice(file, size, at, old, token, strlen(token));
    }
}

/* Asserts lines of the form `f:line:column: text`, printable, in order of position. */
static void assert_faults(const char *faults)
{
    int last_line = 0, last_column = 0;
    assert_true(faults[0]);
    for (const char *at = faults; *at; at += strcspn(at, "\n") + 1) {
        int line, column, used = 0;
        assert_int_equal(sscanf(at, "f:%d:%d: %n", &line, &column, &used), 2);
        assert_true(used > 0 && at[used] != '\n');
        assert_true(line > last_line || (line == last_line && column >= last_column));
        last_line = line;
        last_column = column;
        for (size_t i = 0, bytes, length = strcspn(at, "\n"); i < length; i += bytes)
            assert_true(crn_utf8_prints(crn_utf8_read(at + i, length - i, &bytes)));
    }
}

static void assert_prints_and_loads(const crn_config *config)
{
    static crn_config again;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    crn_config_print(config, out);
    fclose(out);
    assert_int_equal(crn_config_parse("f", text, bytes, stderr, &again), 0);
    assert_true(crn_same_config(&again, config));
    crn_config_done(&again);
    free(text);
}

static size_t read_seed(size_t number, char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", CRN_TEST_DATA, seeds[number]);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t size = fread(file, 1, FILE_MAX, stream);
    fclose(stream);
    assert_true(size > 0 && size < FILE_MAX);
    return size;
}

static void test_mutated_files_are_read_or_told(void **state)
{
    (void)state;
    static char original[SEEDS][FILE_MAX], file[FILE_MAX];
    static crn_config config;
    size_t original_size[SEEDS];
    int good = 0;
    for (size_t i = 0; i < SEEDS; i++)
        original_size[i] = read_seed(i, original[i]);
    for (int round = 0; round < ROUNDS; round++) {
        size_t seed = random_below(SEEDS), size = original_size[seed];
        memcpy(file, original[seed], size);
        for (uint32_t i = 0, n = 1 + random_below(MUTATIONS); i < n; i++)
            size = mutate(file, size);
        char *faults = NULL;
        size_t faults_bytes = 0;
        FILE *out = open_memstream(&faults, &faults_bytes);
        /* Exactly sized, so that a sanitizer detects reads past the end. */
        char *exact = malloc(size ? size : 1);
        memcpy(exact, file, size);
        int r = crn_config_parse("f", exact, size, out, &config);
        fclose(out);
        assert_int_equal(faults_bytes, strlen(faults));
        assert_true(r == 0 || r == -EINVAL);
        if (r == 0) {
            assert_int_equal(faults_bytes, 0);
            assert_prints_and_loads(&config);
            crn_config_done(&config);
            good++;
        } else {
            assert_faults(faults);
        }
        free(exact);
        free(faults);
    }
    print_message("%d of %d files were good\n", good, ROUNDS);
    assert_true(good > ROUNDS / 100 && good < ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutated_files_are_read_or_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
