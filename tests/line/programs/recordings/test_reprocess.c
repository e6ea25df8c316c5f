/* cernita-reprocess: the line's verdicts, and the same bytes however the work is divided, killed
 * and cut into recordings. CRN_ROUNDS is the number of kills (5). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "tests/support/cleanup.h"
#include "tests/support/line/daemon.h"
#include "tests/support/line/same_verdicts.h"
#include "tests/support/programs/shell.h"
#include "tests/support/random.h"
#include "tests/support/small_disk.h"

#define FRUITS 12

static char folder[64], output[65536];

/* Runs a command in which every @ stands for the folder, and the programs are found; returns its
 * exit status. */
static int run(const char *text)
{
    char command[2048];
    size_t used = (size_t)snprintf(command, sizeof command, "PATH=" CRN_BIN ":$PATH; ");
    for (const char *c = text; *c; c++)
        used += (size_t)(*c == '@' ? snprintf(command + used, sizeof command - used, "%s", folder)
                                   : snprintf(command + used, sizeof command - used, "%c", *c));
    return crn_test_shell(command, output, sizeof output);
}

#define REPROCESS "exec 2>&1; cernita-reprocess --config @/line.yaml --out @/"

static void expect_said(const char *text)
{
    if (!strstr(output, text))
        fail_msg("not '%s':\n%s", text, output);
}

/* The results of two folders are the same bytes, and nothing else lies there. */
static void expect_same(const char *name, const char *other)
{
    char command[256];
    snprintf(command, sizeof command, "exec 2>&1; diff -r @/%s @/%s", name, other);
    if (run(command))
        fail_msg("%s", output);
}

/* --- verdicts, times apart --- */

/* What says when and where it ran; `epoch` stays. */
static const char *const times[] = {"run",        "sequence",    "published_ns", "deadline_ns",
                                    "latency_ms", "assembly_ms", "received_ms",  "queue_ms",
                                    "run_ms",     NULL};
static const char *const place[] = {"run", "sequence", NULL};

static void expect_verdicts(const char *name, const char *other, const char *const *but)
{
    char one[128], two[128];
    snprintf(one, sizeof one, "%s/%s", folder, name);
    snprintf(two, sizeof two, "%s/%s", folder, other);
    crn_test_same_verdicts(one, two, FRUITS, but);
}

/* --- recordings --- */

/* A recording of some views of a recording; `takes`: by the view's place in it. */
static void copy_views(const char *from, const char *to, bool (*takes)(uint64_t at, uint64_t part),
                       uint64_t part)
{
    char path[128];
    crn_recording_reader *reader;
    crn_recording_writer *writer;
    crn_recorded_view view;
    crn_error error;
    snprintf(path, sizeof path, "%s/%s", folder, from);
    assert_int_equal(crn_recording_open(path, &reader, &error), 0);
    snprintf(path, sizeof path, "%s/%s", folder, to);
    assert_int_equal(crn_recording_create(path, true, &writer, &error), 0);
    for (uint64_t at = 0; crn_recording_next(reader, &view, &error) > 0; at++) {
        if (!takes(at, part))
            continue;
        crn_recording_name_classes(writer, crn_recording_classes(reader));
        assert_int_equal(crn_recording_write(writer, &view, &error), 0);
    }
    crn_recording_end(&reader);
    assert_int_equal(crn_recording_close(&writer, &error), 0);
}

#define VIEWS_IN_A_PART 7 /* a fruit has 4, and two lanes alternate: parts cut through fruits */
#define PARTS           ((FRUITS * 4 + VIEWS_IN_A_PART - 1) / VIEWS_IN_A_PART)

static bool is_in_part(uint64_t at, uint64_t part)
{
    return at / VIEWS_IN_A_PART == part;
}

static bool is_not(uint64_t at, uint64_t view)
{
    return at != view;
}

static void write_config(const char *name, const char *more)
{
    char yaml[2048], path[128];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'},\n"
             "          log: {dir: '%s/line'}}\n"
             "record: {dir: '%s/recorded'}\n"
             "chain: [morphology: {operation: open, element: disk, size: 3}, contours,\n"
             "        ranklet: {windows: [8], optional: true}]\n"
             "limits: {slots: 128, view_mib: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "run: {backend: openmp, workers: 1, threads: 1, stop_ms: 10000}\n"
             "control: {path: '%s/control'}\n"
             "%s",
             folder, folder, folder, folder, folder, folder, more);
    daemon_write_config(folder, name, yaml, path);
}

#define CLASSES  "classes: [{name: background}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
#define GEOMETRY "geometry: {mm_per_px: 0.5, fruit: {from: photo}}\n"

/* A line records what it judges. */
static int set_up(void **state)
{
    (void)state;
    daemon_process daemon;
    char path[128];
    if (daemon_make_folder(folder) || run("mkdir @/line @/recorded") ||
        run("cernita-synth @/made.tif --fruits 12 --lanes 2 --classes 3 --size 160x64"))
        return -1;
    write_config("line.yaml", CLASSES GEOMETRY);
    snprintf(path, sizeof path, "%s/line.yaml", folder);
    daemon_start(&daemon, (const char *const[]){"cernitad", "--config", path, NULL});
    daemon_read_until(&daemon, "ready:");
    int status = run("exec 2>&1; cernita-replay @/made.tif --to ipc://@/in --rate max --unwatched "
                     "--wait 60");
    kill(daemon.pid, SIGTERM);
    if (status || daemon_end(&daemon))
        return -1;
    for (uint64_t part = 0; part < PARTS; part++) {
        snprintf(path, sizeof path, "part%d.tif", (int)part);
        copy_views("made.tif", path, is_in_part, part);
    }
    return run(REPROCESS "whole @/part?.tif");
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* --- tests --- */

static void verdicts_are_those_of_the_line(void **state)
{
    (void)state;
    assert_int_equal(run(REPROCESS "again @/recorded"), 0);
    expect_said("1 recording judged, 0 were before: 12 fruits of 48 views");
    expect_verdicts("line", "again", times);
}

/* Fruits whose views lie in several recordings are judged once, and whole. */
static void verdicts_do_not_depend_on_cuts(void **state)
{
    (void)state;
    assert_int_equal(run(REPROCESS "uncut @/made.tif"), 0);
    expect_verdicts("uncut", "whole", place);
}

/* Named in a wrong order each fruit is still judged once, and whole. */
static void verdicts_do_not_depend_on_order(void **state)
{
    (void)state;
    assert_int_equal(run(REPROCESS "order @/part4.tif @/part6.tif @/part1.tif @/part0.tif "
                                   "@/part5.tif @/part2.tif @/part3.tif"),
                     0);
    expect_verdicts("whole", "order", times);
}

static void shards_in_any_order_give_the_same_bytes(void **state)
{
    (void)state;
    static const int order[] = {3, 1, 4, 2};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        char command[256];
        snprintf(command, sizeof command, REPROCESS "shards @/part?.tif --shard %d/4 --jobs %d",
                 order[i], order[i]);
        assert_int_equal(run(command), 0);
    }
    expect_same("whole", "shards");
}

static void at_once_give_the_same_bytes(void **state)
{
    (void)state;
    assert_int_equal(run("for i in 1 2 3; do cernita-reprocess --config @/line.yaml --out @/once "
                         "@/part?.tif & all=\"$all $!\"; done; for i in $all; do wait $i || exit 1;"
                         " done"),
                     0);
    expect_same("whole", "once");
}

static void what_is_there_is_not_made_again(void **state)
{
    (void)state;
    assert_int_equal(run(REPROCESS "whole @/part?.tif"), 0);
    expect_said("0 recordings judged, 7 were before");
    assert_int_equal(run("cp -r @/whole @/partly; rm @/partly/*3.verdicts"), 0);
    assert_int_equal(run(REPROCESS "partly @/part?.tif"), 0);
    expect_said("1 recording judged, 6 were before");
    expect_same("whole", "partly");
}

/* One that was written again is judged again, and so are those beside it. */
static void recordings_that_changed_are_judged_again(void **state)
{
    (void)state;
    assert_int_equal(run("mkdir @/moved; cp @/part?.tif @/moved"), 0);
    assert_int_equal(run(REPROCESS "changed @/moved"), 0);
    assert_int_equal(run("touch @/moved/part3.tif"), 0);
    assert_int_equal(run(REPROCESS "changed @/moved"), 0);
    expect_said("3 recordings judged, 4 were before");
    expect_same("whole", "changed");
}

static int kills(void)
{
    const char *rounds = getenv("CRN_ROUNDS");
    return rounds ? atoi(rounds) : 5;
}

/* Whenever it is killed, with some results or none, the next run goes on, and nothing else is
 * left. */
static void killed_runs_are_resumed(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    for (int i = 0; i < kills(); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "exec 2>&1; rm -rf @/killed; mkdir @/killed; cernita-reprocess --config "
                 "@/line.yaml --out @/killed @/part?.tif --jobs 1 >/dev/null & while kill -0 $! && "
                 "[ $(ls @/killed | wc -l) -lt %u ]; do :; done; sleep 0.%03u; kill -KILL $!; "
                 "wait $!; ls @/killed",
                 (unsigned)crn_random_below(&random, PARTS),
                 (unsigned)crn_random_below(&random, 20));
        run(command);
        assert_int_equal(run(REPROCESS "killed @/part?.tif"), 0);
        expect_same("whole", "killed");
    }
}

/* A fruit that lacks a view is partial, as on a line. */
static void missing_views_make_fruits_partial(void **state)
{
    (void)state;
    copy_views("made.tif", "lacking.tif", is_not, 5);
    assert_int_equal(run(REPROCESS "lacking @/lacking.tif"), 0);
    assert_int_equal(run("cernita-tail --log @/lacking"), 0);
    expect_said("partial   views 3/4");
    assert_int_equal(run("cernita-tail --log @/lacking | grep -c complete"), 0);
    assert_string_equal(output, "11\n");
}

static void bad_recordings_are_told_and_the_others_judged(void **state)
{
    (void)state;
    assert_int_equal(
        run("mkdir @/bad; cp @/part0.tif @/bad/1.tif; cp @/part0.tif @/bad/2.tif; echo no > "
            "@/bad/3.tif; head -c 200000 @/part3.tif > @/bad/4.tif; cp @/part5.tif @/bad/5.tif"),
        0);
    assert_int_equal(run(REPROCESS "bad-out @/bad @/none.tif"), 1);
    expect_said("/bad/2.tif: begins with the same view as ");
    expect_said("/bad/3.tif: is not a recording: not a little-endian BigTIFF");
    expect_said("/bad/4.tif: the file ends within view 1 (page 4): that view is skipped");
    expect_said("; the views before are judged");
    expect_said("/none.tif: ");
    expect_said("3 recordings judged, 0 were before");
    expect_said("3 of 6 recordings were not judged; mend what the lines above tell");
    /* What is damaged is told by the next run, too. */
    assert_int_equal(run(REPROCESS "bad-out @/bad @/none.tif"), 1);
    expect_said("1 recording judged, 2 were before");
    expect_said("; the views before are judged");
}

/* Another recording of the same name is another one; one that is mended is the same. */
static void recordings_are_known_by_their_first_view(void **state)
{
    (void)state;
    assert_int_equal(run("mkdir @/one @/two; cp @/part0.tif @/one/1.tif; cp @/part1.tif @/two/1.tif"
                         "; echo no > @/one/2.tif"),
                     0);
    assert_int_equal(run(REPROCESS "named @/one"), 1);
    assert_int_equal(run(REPROCESS "named @/two"), 1);
    expect_said("/named: holds results of other recordings");
    assert_int_equal(run("cp @/part1.tif @/one/2.tif"), 0);
    assert_int_equal(run(REPROCESS "named @/one"), 0);
    assert_int_equal(run("echo no > @/one/2.tif"), 0);
    assert_int_equal(run(REPROCESS "named @/one"), 1);
    expect_said("/2.tif: is not a recording");
    assert_int_equal(run("echo no > @/named/recordings.txt"), 0);
    assert_int_equal(run(REPROCESS "named @/one"), 1);
    expect_said("/recordings.txt: cannot be read; remove it");
}

static void unsuitable_settings_are_told(void **state)
{
    (void)state;
    write_config("other.yaml", "classes: [{name: rot, level: 0.5}]\n");
    assert_int_equal(run("exec 2>&1; cernita-reprocess --config @/other.yaml --out @/other "
                         "@/part?.tif"),
                     1);
    expect_said("/part0.tif: no view suits --config ");
    expect_said("(channels): there must be as many channels as the file has classes");
    expect_said("7 of 7 recordings were not judged");
    assert_int_equal(run("exec 2>&1; cernita-reprocess --config @/other.yaml --out @/whole "
                         "@/part?.tif"),
                     1);
    expect_said("/whole: holds results of other settings");
    assert_int_equal(run(REPROCESS "whole @/made.tif"), 1);
    expect_said("/whole: holds results of other recordings, or in another order");
}

/* With the line that recorded, the same; with another level, fruits that changed, and a report. */
static void runs_are_compared(void **state)
{
    (void)state;
    assert_int_equal(run(REPROCESS "with-line @/recorded --compare @/line"), 0);
    expect_said("12 fruits and ");
    expect_said(": all equal; ");
    assert_null(strstr(output, " and 0 defects"));
    write_config("level.yaml", "classes: [{name: background}, {name: rot, level: 0.5}, "
                               "{name: rust, level: 0.7}]\n" GEOMETRY);
    assert_int_equal(run("exec 2>&1; cernita-reprocess --config @/level.yaml --out @/level "
                         "@/part?.tif --compare @/whole"),
                     0);
    expect_said("rust: ");
    expect_said("level 0.7, expected 0.5");
    expect_said("/level/report/report.html");
    assert_int_equal(run("grep -c 'data:image/png' @/level/report/report.html"), 0);
    assert_int_equal(run("grep -q 'have no photographs' @/level/report/report.html"), 1);
    /* Half of the recordings: the others' fruits are told. */
    assert_int_equal(run(REPROCESS "half @/part[0-2].tif --compare @/whole"), 0);
    expect_said("of its fruits are not in the recordings");
    assert_int_equal(run(REPROCESS "with-line @/recorded --compare @/none"), 1);
    expect_said("/none: ");
    assert_int_equal(run(REPROCESS "with-line @/recorded --compare @/line --shard 1/2"), 2);
}

static void shards_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0/4", "5/4", "1", "1/0", "1/4x", "-1/4", "a/b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[256];
        snprintf(command, sizeof command, REPROCESS "x @/made.tif --shard %s", wrong[i]);
        assert_int_equal(run(command), 2);
        expect_said("is not I/N with I from 1 to N");
    }
}

/* Exit status 0: what is expected came; in a child, whose disk it is. */
static int fill_disk(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/full", folder);
    if (mkdir(path, 0700) < 0 || !crn_small_disk_mount(path, "32k"))
        return 77;
    int status = run(REPROCESS "full @/part?.tif");
    fputs(output, stderr);
    if (status != 1 || !strstr(output, "No space left on device") ||
        !strstr(output, "of 7 recordings were not judged"))
        return 1;
    /* Neither parts nor empty results. */
    run("ls -A @/full | grep -v '^cernita-.*verdicts$'; find @/full -size 0; "
        "for i in @/full/*.verdicts; do cmp $i @/whole/${i##*/}; done");
    fputs(output, stderr);
    return strcmp(output, "recordings.txt\n") != 0;
}

/* What fits is kept, and there is one line for each that does not. */
static void a_full_disk_is_told(void **state)
{
    (void)state;
    int status;
    pid_t child = crn_cleanup_fork();
    if (child == 0)
        _exit(fill_disk());
    assert_int_equal(crn_cleanup_wait(child, &status), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void a_folder_without_rights_is_told(void **state)
{
    (void)state;
    assert_int_equal(run("touch @/file"), 0);
    assert_int_equal(run(REPROCESS "file @/made.tif"), 1);
    expect_said("/file: cannot write results there");
    assert_int_equal(run(REPROCESS "none/below @/made.tif"), 1);
    expect_said("/none/below: cannot be made: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_the_line),
        cmocka_unit_test(verdicts_do_not_depend_on_cuts),
        cmocka_unit_test(verdicts_do_not_depend_on_order),
        cmocka_unit_test(shards_in_any_order_give_the_same_bytes),
        cmocka_unit_test(at_once_give_the_same_bytes),
        cmocka_unit_test(what_is_there_is_not_made_again),
        cmocka_unit_test(recordings_that_changed_are_judged_again),
        cmocka_unit_test(killed_runs_are_resumed),
        cmocka_unit_test(missing_views_make_fruits_partial),
        cmocka_unit_test(bad_recordings_are_told_and_the_others_judged),
        cmocka_unit_test(recordings_are_known_by_their_first_view),
        cmocka_unit_test(unsuitable_settings_are_told),
        cmocka_unit_test(runs_are_compared),
        cmocka_unit_test(shards_are_checked),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_folder_without_rights_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
