/* The hash of the settings: over the output of --print-config, then the files that it names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A grey picture of 3 x 3 pixels as an uncompressed TIFF, so that its bytes are deterministic. */
static void write_element(const char *name, uint8_t corner)
{
    unsigned char tiff[] = {
        'I', 'I', 42, 0, 8,      0, 0, 0, 8,   0,       /* entries: */
        0,   1,   3,  0, 1,      0, 0, 0, 3,   0, 0, 0, /* width */
        1,   1,   3,  0, 1,      0, 0, 0, 3,   0, 0, 0, /* height */
        2,   1,   3,  0, 1,      0, 0, 0, 8,   0, 0, 0, /* bits */
        3,   1,   3,  0, 1,      0, 0, 0, 1,   0, 0, 0, /* no compression */
        6,   1,   3,  0, 1,      0, 0, 0, 1,   0, 0, 0, /* black is 0 */
        17,  1,   4,  0, 1,      0, 0, 0, 110, 0, 0, 0, /* offset of the pixels */
        22,  1,   3,  0, 1,      0, 0, 0, 3,   0, 0, 0, /* rows */
        23,  1,   4,  0, 1,      0, 0, 0, 9,   0, 0, 0, /* bytes */
        0,   0,   0,  0, corner, 1, 1, 1, 1,   1, 1, 1, 1};
    write_file(name, tiff, sizeof tiff);
}

static void load(const char *chain, crn_config *ret_config)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [%s {contours: {}}]\n"
             "ingest: {bind: 'tcp://127.0.0.1:5555'}\n"
             "publish: {grader: {bind: 'tcp://127.0.0.1:5556'}, viewers: {bind: "
             "'tcp://127.0.0.1:5557'}}\n",
             chain);
    assert_int_equal(crn_config_parse("test", yaml, strlen(yaml), stderr, ret_config), 0);
}

static uint64_t hash_of(const crn_config *config)
{
    uint64_t hash = 0;
    crn_error error = {""};
    int r = crn_config_hash(config, &hash, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
    return hash;
}

static uint64_t fnv1a(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

static void test_it_is_of_the_print_and_the_files(void **state)
{
    (void)state;
    static const char kernel[] = "1 2 1\n";
    write_file("kernel.txt", kernel, strlen(kernel));
    static crn_config config;
    char chain[256];
    snprintf(chain, sizeof chain, "{convolve: {kernel: '%s/kernel.txt'}}, {convolve: {}},",
             test_folder);
    load(chain, &config);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    crn_config_print(&config, out);
    fclose(out);
    uint64_t expected = fnv1a(UINT64_C(14695981039346656037), text, size);
    free(text);
    assert_int_equal(hash_of(&config), fnv1a(expected, kernel, strlen(kernel)));
    crn_config_done(&config);
}

static void test_it_changes_with_settings_and_files(void **state)
{
    (void)state;
    static crn_config config;
    char chain[256];
    uint64_t seen[5];
    load("", &config);
    seen[0] = hash_of(&config);
    config.latency.budget_ms++;
    seen[1] = hash_of(&config);
    crn_config_done(&config);
    snprintf(chain, sizeof chain, "{morphology: {element: '%s/element.tif'}},", test_folder);
    for (uint8_t corner = 0; corner < 2; corner++) {
        write_element("element.tif", corner);
        load(chain, &config);
        seen[2 + corner] = hash_of(&config);
        assert_int_equal(hash_of(&config), seen[2 + corner]);
        crn_config_done(&config);
    }
    load("{morphology: {element: rect}},", &config);
    seen[4] = hash_of(&config);
    crn_config_done(&config);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
}

static void test_a_file_that_has_gone_is_named(void **state)
{
    (void)state;
    static crn_config config;
    char chain[256], path[128];
    write_file("gone.txt", "1\n", 2);
    snprintf(chain, sizeof chain, "{convolve: {kernel: '%s/gone.txt'}},", test_folder);
    load(chain, &config);
    snprintf(path, sizeof path, "%s/gone.txt", test_folder);
    assert_int_equal(unlink(path), 0);
    uint64_t hash = 7;
    crn_error error = {""};
    assert_int_equal(crn_config_hash(&config, &hash, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/gone.txt: "));
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(mkfifo(path, 0600), 0); /* no process ever writes to it */
    assert_true(crn_config_hash(&config, &hash, &error) < 0);
    assert_non_null(strstr(error.text, "it is a pipe, a regular file is needed"));
    assert_int_equal(hash, 7);
    crn_config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_of_the_print_and_the_files),
        cmocka_unit_test(test_it_changes_with_settings_and_files),
        cmocka_unit_test(test_a_file_that_has_gone_is_named),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
