/*
 * Errors in a line's file: each case is a file and exactly the messages expected. Longer cases are
 * tests/data/config/bad_*.yaml, with the expected lines at their end after `#! `.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/same_config.h"
#include "tests/unit/config/config_stages.h"

#define GOOD "classes: [{name: rot, level: 0.5}]\nchain: [contours]\n"
#define YAML_CURE                                                                                  \
    "one 'key: value' a line and keys that belong together in one column expected, here and "      \
    "above\n"
#define NO_ADDRESS "is not an address, HOST:PORT or \"\" (none) expected\n"

typedef struct fault_case {
    const char *bytes;
    size_t length; /* 0: zero-terminated */
    const char *faults;
} fault_case;

static const fault_case cases[] = {
    {.bytes = GOOD, .faults = ""},
    {.bytes = "", .faults = "f:1:1: the file is empty, classes and a chain expected\n"},
    {.bytes = "# no keys\n\n",
     .faults = "f:1:1: the file is empty, classes and a chain expected\n"},
    {.bytes = "---\n...\n", .faults = "f:1:1: the file is empty, classes and a chain expected\n"},
    {.bytes = "\n  text\n",
     .faults =
         "f:2:3: a value given, keys expected: ingest, limits, classes, chain, run, realtime, "
         "latency, geometry, publish, access, record, recipes, monitor, control, state and log\n"},
    {.bytes = "[]",
     .faults =
         "f:1:1: a list given, keys expected: ingest, limits, classes, chain, run, realtime, "
         "latency, geometry, publish, access, record, recipes, monitor, control, state and log\n"},
    {.bytes = "publish: {log: {keep_mib: 100}}\n" GOOD,
     .faults = "f:1:27: publish.log.keep_mib: 100 is below segment_mib, which is 256, at least as "
               "much or 0 (keep all) expected\n"},
    {.bytes = "publish: {log: {segment_mib: 4096, keep_mib: 0}}\n" GOOD, .faults = ""},
    {.bytes = "limits: {lanes: !!int 0}\n" GOOD,
     .faults = "f:1:17: a tag (!...) is not supported, the bare value expected\n"},
    {.bytes = "!x {}",
     .faults = "f:1:1: a tag (!...) is not supported, the bare value expected\n"
               "f:1:1: classes is missing, a list such as '- {name: rot, level: 0.5}' expected\n"
               "f:1:1: chain is missing, a list such as '- contours: {...}' expected\n"},
    {.bytes = "\nlimits: {lanes: 1}\n",
     .faults = "f:2:1: classes is missing, a list such as '- {name: rot, level: 0.5}' expected\n"
               "f:2:1: chain is missing, a list such as '- contours: {...}' expected\n"},
    {.bytes = "classes: []\nchain:\n",
     .faults = "f:1:10: classes is empty, a list such as '- {name: rot, level: 0.5}' expected\n"
               "f:2:7: chain is empty, a list such as '- contours: {...}' expected\n"},
    {.bytes = "classes: rot\nchain: {contours: {}}\n",
     .faults =
         "f:1:10: classes: a value given, a list such as '- {name: rot, level: 0.5}' expected\n"
         "f:2:8: chain: a map of keys given, a list such as '- contours: {...}' expected\n"},
    {.bytes = "classes: [{name: rot}]\nchain:\n  - contours\n",
     .faults = "f:3:5: contours: no class has a level\n"},
    {.bytes = "classes: [{name: rot, level: 1}]\nchain: [convolve]\n",
     .faults = "f:2:1: chain: no contours stage, exactly one expected\n"
               "f:2:9: convolve.kernel is missing, it has no default\n"},
    {.bytes = "classes: [{name: rot, level: 1}]\nchain: [contour]\n",
     .faults = "f:2:9: chain: unknown stage 'contour', did you mean 'contours'?\n"},
    {.bytes = "ingest: {bind: []}\n" GOOD,
     .faults = "f:1:16: ingest.bind: an empty list, at least one text expected\n"},
    {.bytes = "run: {devices: []}\n" GOOD,
     .faults = "f:1:16: run.devices: an empty list, at least one number expected\n"},
    {.bytes = "run: {devices: [0, 64, x, 1]}\n" GOOD,
     .faults = "f:1:20: run.devices: 64 is out of range, 0 to 63 expected\n"
               "f:1:24: run.devices: 'x' is not a plain whole number, 0 to 63 expected\n"},
    {.bytes = "run: {devices: [3, 0, 3]}\n" GOOD,
     .faults = "f:1:23: run.devices: 3 is a duplicate, each device once expected\n"},
    {.bytes = "run: {devices: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}\n" GOOD,
     .faults = "f:1:55: run.devices: too many numbers, at most 16 expected\n"},
    {.bytes =
         "realtime: {line_cpus: 3-1, worker_cpus: '0,', io_cpus: 1024, device_cpus: [1]}\n" GOOD,
     .faults = "f:1:23: realtime.line_cpus: '3-1' is not a list of CPUs, such as 3 or \"2,4-7\" "
               "expected\n"
               "f:1:41: realtime.worker_cpus: '0,' is not a list of CPUs, such as 3 or \"2,4-7\" "
               "expected\n"
               "f:1:56: realtime.io_cpus: '1024' is not a list of CPUs, such as 3 or \"2,4-7\" "
               "expected\n"
               "f:1:75: realtime.device_cpus: a list given, a text expected\n"},
    {.bytes = "realtime: {line_cpus: '0-3,8', worker_cpus: 2, worker_priority: 10, line_priority: "
              "12}\n" GOOD,
     .faults = ""},
    {.bytes = "realtime: {worker_priority: 10, line_priority: 11}\n" GOOD,
     .faults = "f:1:29: realtime.worker_priority: 10 is not at least 2 below line_priority, which "
               "is 11 (libzmq's threads run between them), a lower one or 0 expected\n"},
    {.bytes = "realtime: {worker_priority: 1}\n" GOOD,
     .faults = "f:1:29: realtime.worker_priority: 1 is not at least 2 below line_priority, which "
               "is 0 (libzmq's threads run between them), a lower one or 0 expected\n"},
    {.bytes = "realtime: {line_priority: 99, worker_priority: 97, lock_memory: 1}\n" GOOD,
     .faults = "f:1:27: realtime.line_priority: 99 is out of range, 0 to 98 expected\n"
               "f:1:48: realtime.worker_priority: 97 is out of range, 0 to 96 expected\n"
               "f:1:65: realtime.lock_memory: '1' given, true or false expected\n"},
    {.bytes = "run: {devices: {a: 1}}\n" GOOD,
     .faults =
         "f:1:16: run.devices: a map of keys given, a whole number or a list of at most 16, from 0 "
         "to 63 expected\n"},
    {.bytes = "latency: {guard_ms: 100}\n" GOOD,
     .faults =
         "f:1:21: latency.guard_ms: 100 is not below budget_ms, which is 100, less expected\n"},
    {.bytes = "latency: {guard_ms: 200, budget_ms: 5s}\n" GOOD,
     .faults =
         "f:1:37: latency.budget_ms: '5s' has a unit, the bare number expected (the unit, ms, "
         "is in the key's name)\n"},
    {.bytes = "record: {dir: \"a\\0b\"}\n" GOOD,
     .faults = "f:1:15: record.dir: 'a\\x00b' has a character that does not print, a line of "
               "printable text expected\n"},
    {.bytes = "record: {dir: \"a\\u202e\\x85\"}\n" GOOD,
     .faults = "f:1:15: record.dir: 'a\\xe2\\x80\\xae\\xc2\\x85' has a character that does not "
               "print, a line of printable text expected\n"},
    {.bytes = GOOD "---\na: 1\n", .faults = "f:3:1: a second document (---), one expected\n"},
    {.bytes = GOOD "monitor: {http: \"9464\"}\n",
     .faults = "f:3:17: monitor.http: '9464' " NO_ADDRESS},
    {.bytes = GOOD "monitor: {http: \"host:65536\"}\n",
     .faults = "f:3:17: monitor.http: 'host:65536' " NO_ADDRESS},
    {.bytes =
         GOOD "monitor: {hosts: [good.example, '*', 'https://a', 'a:80', '[::1]', '', 10.1.2.3]}\n",
     .faults = "f:3:33: monitor.hosts: '*' is not a host name, one without port, such as "
               "line3.example.com, expected\n"
               "f:3:38: monitor.hosts: 'https://a' is not a host name, one without port, such as "
               "line3.example.com, expected\n"
               "f:3:51: monitor.hosts: 'a:80' is not a host name, one without port, such as "
               "line3.example.com, expected\n"
               "f:3:59: monitor.hosts: '[::1]' is not a host name, one without port, such as "
               "line3.example.com, expected\n"
               "f:3:68: monitor.hosts: '' is not a host name, one without port, such as "
               "line3.example.com, expected\n"},
    {.bytes = GOOD "monitor: {http: \"a b:1\"}\n",
     .faults = "f:3:17: monitor.http: 'a b:1' " NO_ADDRESS},
    {.bytes = GOOD "limits: {view_mib: 300}\n", .faults = ""},
    {.bytes = GOOD "limits: {view_mib: 30, peer_mib: 29}\n",
     .faults = "f:3:34: limits.peer_mib: 29 is below view_mib, which is 30: views would be "
               "refused; at least as much expected\n"},
    {.bytes = GOOD "limits:\n\tlanes: 3\n",
     .faults = "f:4:1: not YAML: found character that cannot start any token while scanning for "
               "the next token, spaces instead of the tab expected\n"},
    {.bytes = "limits: {lanes: 3\n",
     .faults = "f:2:1: not YAML: did not find expected ',' or '}' while parsing a flow mapping\n"},
    {.bytes = "limits: 1: 2\n",
     .faults = "f:1:10: not YAML: mapping values are not allowed in this context, " YAML_CURE},
    {.bytes = GOOD "limits:\n  lanes: 3\n slots: 4\n",
     .faults =
         "f:5:2: not YAML: did not find expected key while parsing a block mapping, " YAML_CURE},
    {.bytes = GOOD "limits:\n  lanes: 3\n  slots:4\n  views: 4\n",
     .faults =
         "f:6:3: not YAML: could not find expected ':' while scanning a simple key, " YAML_CURE},
    {.bytes = GOOD "run: {backend: serial}\ningest: {slots: {path: /s, kinds: vmm}}\n",
     .faults = "f:4:35: ingest.slots.kinds: vmm with run.backend serial, cuda or auto expected\n"},
    {.bytes = "classes: *x\n" GOOD,
     .faults = "f:1:10: an alias (*...) is not supported, the value itself expected\n"
               "f:2:1: 'classes' is a duplicate, first on line 1, one expected\n"},
    {.bytes = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
     .faults = "f:1:33: nested more than 32 levels deep, sections with keys expected\n"},
    {.bytes = "a: 1\nbb\xc3\xa9: \xff\n",
     .faults = "f:2:6: not a text file: invalid leading UTF-8 octet (0xff), printable UTF-8 "
               "expected\n"},
    {.bytes = "li\x01: 2",
     .faults = "f:1:3: not a text file: control characters are not allowed (0x01), printable "
               "UTF-8 expected\n"},
    {.bytes = "a: \0b\n",
     .length = 6,
     .faults = "f:1:4: not a text file: control characters are not allowed (0x00), printable "
               "UTF-8 expected\n"},
    {.bytes = "\xff\xfe"
              "a\0",
     .length = 4,
     .faults = "f:1:1: not a text file: invalid leading UTF-8 octet (0xff), printable UTF-8 "
               "expected\n"},
};

/* The parser's messages for the bytes; the caller frees them. */
static char *faults_of(const char *bytes, size_t length, int *ret_r)
{
    static crn_config config, before;
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    assert_non_null(out);
    memset(&config, 0x5a, sizeof config);
    memcpy(&before, &config, sizeof before);
    *ret_r = crn_config_parse("f", bytes, length, out, &config);
    fclose(out);
    if (*ret_r < 0)
        assert_memory_equal(&config, &before, sizeof before);
    else
        crn_config_done(&config);
    return text;
}

static void test_each_fault_gives_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fault_case *c = &cases[i];
        int r;
        char *faults = faults_of(c->bytes, c->length ? c->length : strlen(c->bytes), &r);
        if (strcmp(faults, c->faults) != 0)
            print_message("case %zu:\n%s\n", i, c->bytes);
        assert_string_equal(faults, c->faults);
        assert_int_equal(r, c->faults[0] ? -EINVAL : 0);
        free(faults);
    }
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Collects the lines after `#! ` in the format of crn_config_parse. */
static void expected_of(const char *text, char *out)
{
    out[0] = '\0';
    for (const char *at = strstr(text, "\n#! "); at; at = strstr(at + 1, "\n#! ")) {
        size_t length = strcspn(at + 4, "\n");
        sprintf(out + strlen(out), "f:%.*s\n", (int)length, at + 4);
    }
}

static void test_bad_files_tell_all_their_faults_in_order(void **state)
{
    (void)state;
    static char expected[1 << 16];
    int files = 0;
    DIR *dir = opendir(CRN_TEST_DATA "/data/config");
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (strncmp(entry->d_name, "bad_", 4) != 0)
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/data/config/%s", CRN_TEST_DATA, entry->d_name);
        char *text = read_whole(path);
        expected_of(text, expected);
        assert_true(expected[0]);
        int r;
        char *faults = faults_of(text, strlen(text), &r);
        if (strcmp(faults, expected) != 0)
            print_message("%s\n", path);
        assert_string_equal(faults, expected);
        assert_int_equal(r, -EINVAL);
        free(faults);
        free(text);
        files++;
    }
    closedir(dir);
    assert_true(files >= 8);
}

static void test_a_copy_stands_alone(void **state)
{
    (void)state;
    static crn_config config, copy;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/data/config/good_full.yaml", stderr, &config),
                     0);
    assert_int_equal(crn_config_copy(&config, &copy), 0);
    assert_true(crn_same_config(&config, &copy));
    assert_true(config.steps > 0);
    for (int32_t i = 0; i < config.steps; i++)
        if (config.chain[i].settings)
            assert_ptr_not_equal(config.chain[i].settings, copy.chain[i].settings);
    crn_config_done(&config);
    crn_config_done(&copy);
}

static void test_good_files_load(void **state)
{
    (void)state;
    static const char *const names[] = {"minimal", "full", "texts", "windows", "json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        static crn_config config;
        snprintf(path, sizeof path, "%s/data/config/good_%s.yaml", CRN_TEST_DATA, names[i]);
        assert_int_equal(crn_config_load(path, stderr, &config), 0);
        crn_config_done(&config);
        assert_int_equal(config.steps, 0);
        crn_config_done(&config);
    }
    crn_config_done(NULL);
}

static void test_values_arrive_where_they_belong(void **state)
{
    (void)state;
    static crn_config c;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/data/config/good_full.yaml", stderr, &c), 0);
    assert_int_equal(c.ingest.bind.count, 3);
    assert_string_equal(c.ingest.bind.item[1], "ipc://views.sock");
    assert_int_equal(c.ingest.high_water_mark, 1);
    assert_int_equal(c.limits.lanes, 1024);
    assert_int_equal(c.limits.view_mib, 1);
    assert_int_equal(c.limits.views, 64);
    assert_int_equal(c.limits.slots, 2);
    assert_int_equal(c.limits.open_fruits, 65536);
    assert_int_equal(c.limits.judged_fruits, 64);
    assert_int_equal(c.limits.lane_idle_s, 1);
    assert_int_equal(c.ingest.lanes.count, 4);
    assert_int_equal(c.limits.points, 16);
    assert_int_equal(c.limits.defects, 1048576);
    assert_int_equal(c.classes.count, 3);
    assert_string_equal(c.classes.name[2], "healed hail");
    assert_true(isnan(c.classes.level[0]));
    assert_true(c.classes.level[1] == 1 && c.classes.level[2] == 0);
    assert_int_equal(c.steps, 1);
    assert_ptr_equal(c.chain[0].stage, &contours);
    assert_true(c.chain[0].optional);
    const expected_contours_settings *settings = c.chain[0].settings;
    assert_int_equal(settings->border, 0);
    assert_true(settings->min_area_px == 0.25);
    assert_int_equal(c.run.backend, 2);
    assert_int_equal(c.run.workers, 256);
    assert_int_equal(c.run.devices.count, 2);
    assert_int_equal(c.run.devices.item[0], 63);
    assert_int_equal(c.run.devices.item[1], 0);
    assert_int_equal(c.run.threads, 1);
    assert_int_equal(c.run.stop_ms, 0);
    assert_int_equal(c.latency.budget_ms, 60000);
    assert_int_equal(c.latency.assemble_ms, 1);
    assert_int_equal(c.latency.guard_ms, 1000);
    assert_int_equal(c.ingest.sum, CRN_SUM_ONE);
    assert_int_equal(c.latency.straggler_ms, 600000);
    assert_string_equal(c.publish.grader.bind, "tcp://[::1]:6000");
    assert_int_equal(c.publish.grader.format, CRN_FORMAT_JSON);
    assert_int_equal(c.publish.grader.high_water_mark, 100000);
    assert_int_equal(c.publish.grader.alive_ms, 60000);
    assert_string_equal(c.realtime.line_cpus, "0");
    assert_string_equal(c.realtime.io_cpus, "1");
    assert_string_equal(c.realtime.worker_cpus, "2-5,8");
    assert_string_equal(c.realtime.device_cpus, "1023");
    assert_int_equal(c.realtime.line_priority, 98);
    assert_int_equal(c.realtime.worker_priority, 96);
    assert_true(c.realtime.lock_memory);
    assert_true(c.realtime.huge_pages);
    assert_string_equal(c.publish.viewers.bind, "ipc:///run/cernita/viewers");
    assert_int_equal(c.publish.viewers.format, CRN_FORMAT_JSON);
    assert_int_equal(c.publish.viewers.high_water_mark, 1);
    assert_string_equal(c.publish.log.dir, "/var/lib/cernita/log");
    assert_int_equal(c.publish.log.segment_mib, 4096);
    assert_int_equal(c.publish.log.keep_mib, 0);
    assert_string_equal(c.record.dir, "/var/lib/cernita");
    assert_int_equal(c.record.segment_mib, 16);
    assert_int_equal(c.record.only, CRN_RECORD_PARTIAL);
    assert_int_equal(c.record.keep_gib, 1048576);
    assert_int_equal(c.record.keep_days, 36500);
    assert_int_equal(c.publish.log.keep_days, 90);
    assert_string_equal(c.monitor.http, "[::1]:0");
    assert_true(c.monitor.http_named);
    assert_int_equal(c.monitor.hosts.count, 2);
    assert_string_equal(c.monitor.hosts.item[1], "sorter-3");
    assert_string_equal(c.access.keys, "/etc/cernita/keys");
    assert_true(c.access.ipc && !c.access.plain_tcp);
    assert_int_equal(c.recipes->count, 2);
    assert_string_equal(c.recipes->item[1].name, "Late plum, 2nd");
    assert_int_equal(c.log.level, 3);
    crn_config_done(&c);
}

static void test_sizes_and_lists_of_them_arrive(void **state)
{
    (void)state;
    static crn_config c;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/data/config/stages.yaml", stderr, &c), 0);
    const expected_convolve_settings *first = c.chain[0].settings, *second = c.chain[1].settings;
    assert_int_equal(first->tile.width, 7);
    assert_int_equal(first->tile.height, 3);
    assert_int_equal(first->scales.count, 0);
    assert_int_equal(second->tile.width, 99);
    assert_int_equal(second->tile.height, 99);
    assert_int_equal(second->scales.count, 3);
    static const crn_size scales[] = {{2, 2}, {64, 4}, {8, 8}};
    assert_memory_equal(second->scales.item, scales, sizeof scales);
    const expected_ranklet_settings *third = c.chain[4].settings, *fourth = c.chain[5].settings;
    assert_int_equal(third->windows.count, 2);
    assert_int_equal(third->windows.item[1].width, 16);
    assert_int_equal(fourth->windows.count, 1); /* the file's list replaces the default */
    assert_int_equal(fourth->windows.item[0].height, 6);
    assert_int_equal(crn_config_textures(&c), 3);
    crn_config_done(&c);
}

static void test_defaults_hold_where_the_file_says_nothing(void **state)
{
    (void)state;
    static crn_config c;
    assert_int_equal(crn_config_parse("f", GOOD, strlen(GOOD), stderr, &c), 0);
    assert_int_equal(c.ingest.bind.count, 1);
    assert_string_equal(c.ingest.bind.item[0], "tcp://127.0.0.1:5555");
    assert_string_equal(c.publish.grader.bind, "tcp://127.0.0.1:5556");
    assert_string_equal(c.publish.viewers.bind, "tcp://127.0.0.1:5557");
    assert_string_equal(c.publish.log.dir, "");
    assert_int_equal(c.publish.log.segment_mib, 256);
    assert_int_equal(c.publish.log.keep_mib, 4096);
    assert_int_equal(c.publish.log.keep_days, 0);
    assert_int_equal(c.record.only, CRN_RECORD_ALL);
    assert_int_equal(c.record.keep_gib, 0);
    assert_int_equal(c.record.keep_days, 0);
    assert_int_equal(c.limits.points, 262144);
    assert_int_equal(c.latency.budget_ms, 100);
    assert_string_equal(c.monitor.http, "127.0.0.1:9464");
    assert_false(c.monitor.http_named);
    assert_int_equal(c.log.level, 2);
    assert_false(c.chain[0].optional);
    assert_int_equal(((const expected_contours_settings *)c.chain[0].settings)->border, 1);
    assert_int_equal(crn_config_textures(&c), 0);
    crn_config_done(&c);
}

static void test_what_cannot_be_read_gives_one_line(void **state)
{
    (void)state;
    static crn_config config;
    char *text = NULL, path[] = "/tmp/test_config_XXXXXX";
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    assert_int_equal(crn_config_load("/nowhere/line.yaml", out, &config), -ENOENT);
    assert_int_equal(crn_config_load("/", out, &config), -EISDIR);
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, CRN_CONFIG_BYTES_MAX + 1), 0);
    close(descriptor);
    assert_int_equal(crn_config_load(path, NULL, &config), -EFBIG);
    unlink(path);
    fclose(out);
    assert_string_equal(text, "/nowhere/line.yaml: cannot be read: No such file or directory\n"
                              "/: cannot be read: it is a folder, a regular file is needed\n");
    free(text);
}

static void test_a_thousand_faults_end_in_a_count(void **state)
{
    (void)state;
    char *text = malloc(20000);
    assert_non_null(text);
    text[0] = '\0';
    size_t used = 0;
    for (int i = 0; i < 1002; i++)
        used += (size_t)sprintf(text + used, "key%d: %d\n", i, i);
    used += (size_t)sprintf(text + used, GOOD);
    int r;
    char *faults = faults_of(text, used, &r);
    const char *end =
        strstr(faults, "f: more faults than these 1000: the rest of the file was not read\n");
    assert_non_null(end);
    assert_int_equal(strlen(end),
                     strlen("f: more faults than these 1000: the rest of the file was not read\n"));
    assert_int_equal(r, -EINVAL);
    free(faults);
    free(text);
}

static void test_resolve_fills_in_the_machine(void **state)
{
    (void)state;
    static const struct {
        int32_t cores;
        int64_t workers, threads, slots; /* as configured */
        int64_t got_workers, got_threads, got_slots;
    } rows[] = {{1, 0, 0, 0, 1, 1, 20},  {2, 0, 0, 0, 1, 2, 20},  {16, 0, 0, 0, 15, 1, 76},
                {16, 4, 0, 0, 4, 4, 32}, {16, 5, 0, 0, 5, 3, 36}, {4, 8, 0, 0, 8, 1, 48},
                {4, 8, 3, 2, 8, 3, 2},   {0, 0, 0, 0, 1, 1, 20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static crn_config c;
        c.run.workers = rows[i].workers;
        c.run.threads = rows[i].threads;
        c.limits.slots = rows[i].slots;
        crn_config_resolve(&c, rows[i].cores);
        assert_int_equal(c.run.workers, rows[i].got_workers);
        assert_int_equal(c.run.threads, rows[i].got_threads);
        assert_int_equal(c.limits.slots, rows[i].got_slots);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fault_gives_its_line),
        cmocka_unit_test(test_bad_files_tell_all_their_faults_in_order),
        cmocka_unit_test(test_good_files_load),
        cmocka_unit_test(test_a_copy_stands_alone),
        cmocka_unit_test(test_values_arrive_where_they_belong),
        cmocka_unit_test(test_sizes_and_lists_of_them_arrive),
        cmocka_unit_test(test_defaults_hold_where_the_file_says_nothing),
        cmocka_unit_test(test_what_cannot_be_read_gives_one_line),
        cmocka_unit_test(test_a_thousand_faults_end_in_a_count),
        cmocka_unit_test(test_resolve_fills_in_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
