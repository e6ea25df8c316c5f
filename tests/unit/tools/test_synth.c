/* The synthesiser: the same seed gives the same bytes, and the maps resemble a CNN's. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/stage/classes.h"
#include "stages/image.h"
#include "tests/support/cleanup.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/programs/shell.h"
#include "tools/common/scene/scene.h"

/* Runs cernita-synth; returns its exit status. */
static int synth(const char *file, const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, CRN_BIN "/cernita-synth %s %s 2>/dev/null", file, arguments);
    int status = system(command);
    return status < 0 ? status : status >> 8;
}

#define FILE_BYTES (4 << 20)

static void same_file(const char *a, const char *b, bool same)
{
    unsigned char *one = malloc(FILE_BYTES), *two = malloc(FILE_BYTES);
    size_t size = recorded_load(a, one, FILE_BYTES);
    assert_in_range(size, 1000, FILE_BYTES - 1);
    assert_int_equal(size == recorded_load(b, two, FILE_BYTES) && !memcmp(one, two, size), same);
    free(one);
    free(two);
}

static void the_seed_decides_every_byte(void **state)
{
    (void)state;
    char other[80];
    snprintf(other, sizeof other, "%s.2", recorded_path);
    const char *small = "--size 61x33 --fruits 3 --lanes 2";
    char with_seed[100];
    assert_int_equal(synth(recorded_path, small), 0);
    assert_int_equal(synth(other, small), 0);
    same_file(recorded_path, other, true);
    snprintf(with_seed, sizeof with_seed, "%s --seed 2", small);
    assert_int_equal(synth(other, with_seed), 0);
    same_file(recorded_path, other, false);
    unlink(other);
}

static void headers_tell_fruits_views_lanes_and_times(void **state)
{
    (void)state;
    crn_classes classes = {.count = CRN_SCENE_CLASSES};
    for (int i = 0; i < CRN_SCENE_CLASSES; i++)
        strcpy(classes.name[i], crn_scene_class_names[i]);
    assert_int_equal(synth(recorded_path, "--size 40x20 --fruits 5 --views 3 --lanes 2 --rate 5"),
                     0);
    crn_recording_reader *reader = recorded_open(recorded_path);
    crn_recorded_view view;
    crn_error error;
    uint64_t sequence[2] = {0, 0}, first_ns = 0;
    int count = 0;
    for (; crn_recording_next(reader, &view, &error) > 0; count++) {
        const crn_view_header *h = &view.header;
        first_ns = count ? first_ns : view.arrived_ns;
        /* Two lanes in turn while both have fruits; the fifth fruit is alone. */
        uint32_t lane = count < 12 ? (uint32_t)count % 2 : 0;
        uint32_t number = count < 12 ? (uint32_t)count / 2 : (uint32_t)(count - 12) + 6;
        assert_int_equal(h->lane, lane);
        assert_int_equal(h->sequence, sequence[lane]++);
        assert_int_equal(h->view, number % 3);
        assert_int_equal(h->views, 3);
        assert_int_equal(h->fruit, number / 3 * 2 + lane);
        uint64_t due_ns = number * 66666666u + lane * 33333333u;
        assert_in_range(view.arrived_ns - first_ns, due_ns, due_ns + 10);
        assert_int_equal(view.arrived_ns - h->captured_ns, 8000000);
        assert_true(h->class_set == crn_classes_hash(&classes));
        assert_int_equal(h->width, 40);
        assert_int_equal(h->height, 20);
        assert_int_equal(h->channels, 12);
        assert_non_null(view.intensity);
    }
    assert_int_equal(count, 15);
    crn_recording_end(&reader);
}

static void maps_are_probabilities(void **state)
{
    (void)state;
    assert_int_equal(synth(recorded_path, "--size 97x51 --fruits 4"), 0);
    crn_recording_reader *reader = recorded_open(recorded_path);
    crn_recorded_view view;
    crn_error error;
    while (crn_recording_next(reader, &view, &error) > 0) {
        const float *p = (const float *)view.maps;
        size_t pixels = (size_t)97 * 51, background = 0;
        for (size_t i = 0; i < pixels; i++, p += 12) {
            double sum = 0;
            for (int c = 0; c < 12; c++) {
                assert_true(p[c] > 0 && p[c] < 1);
                sum += p[c];
            }
            assert_true(fabs(sum - 1) < 12 * 0x1p-24);
            background += p[0] > 0.5f;
        }
        assert_in_range(background, pixels * 3 / 4, pixels - 1);
    }
    crn_recording_end(&reader);
}

/* The other types and layouts hold the same picture, rounded. */
static void types_and_layouts_hold_the_same_picture(void **state)
{
    (void)state;
    enum { W = 31, H = 17, PIXELS = W * H, COUNT = PIXELS * 12 };
    static float p[COUNT];
    crn_recorded_view view;
    crn_error error;
    assert_int_equal(synth(recorded_path, "--size 31x17 --fruits 1 --views 1"), 0);
    crn_recording_reader *reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next(reader, &view, &error), 1);
    memcpy(p, view.maps, sizeof p);
    crn_recording_end(&reader);

    assert_int_equal(synth(recorded_path, "--size 31x17 --fruits 1 --views 1 --dtype u8"), 0);
    reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next(reader, &view, &error), 1);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(view.maps[i], lrintf(p[i] * 255));
    crn_recording_end(&reader);

    assert_int_equal(
        synth(recorded_path, "--size 31x17 --fruits 1 --views 1 --dtype f16 --layout CHW"), 0);
    reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next(reader, &view, &error), 1);
    assert_int_equal(view.header.layout, CRN_CHW);
    for (int i = 0; i < COUNT; i++) {
        uint16_t half;
        memcpy(&half, view.maps + 2 * ((size_t)(i % 12) * PIXELS + (size_t)i / 12), sizeof half);
        /* Half a step of binary16 at this magnitude, with 10 bits below the leading one. */
        int exponent;
        frexpf(p[i], &exponent);
        float step = ldexpf(1, exponent - 12 > -25 ? exponent - 12 : -25);
        assert_true(fabsf(crn_f16_to_f32(half) - p[i]) <= step);
    }
    crn_recording_end(&reader);
}

/* Over a hundred fruits every class occurs, and most fruits show few. */
static void every_class_comes_and_most_maps_are_empty(void **state)
{
    (void)state;
    enum { W = 160, H = 60, VIEWS = 3, FRUITS = 100 };
    static float maps[W * H * CRN_SCENE_CLASSES];
    static unsigned char photograph[W * H];
    crn_scene scene;
    assert_int_equal(crn_scene_create(7, H, W, CRN_SCENE_CLASSES, VIEWS, &scene), 0);
    int seen[CRN_SCENE_CLASSES] = {0};
    for (int i = 0; i < FRUITS * VIEWS; i++) {
        crn_scene_render(&scene, (uint64_t)i / VIEWS, i % VIEWS, maps, photograph);
        for (int c = 0; c < CRN_SCENE_CLASSES; c++) {
            bool any = false;
            for (int k = 0; k < W * H; k++)
                any |= maps[k * CRN_SCENE_CLASSES + c] > 0.5f;
            seen[c] += any;
        }
    }
    for (int c = 1; c < CRN_SCENE_CLASSES - 1; c++)
        assert_in_range(seen[c], 5, FRUITS * VIEWS / 2);
    crn_scene_free(&scene);
}

static void what_is_asked_wrongly_ends_with_2(void **state)
{
    (void)state;
    assert_int_equal(synth(recorded_path, ""), 2);
    assert_int_equal(synth(recorded_path, "--fruits 0"), 2);
    assert_int_equal(synth(recorded_path, "--fruits 1 --size 5x5"), 2);
    assert_int_equal(synth(recorded_path, "--fruits 1 --dtype f64"), 2);
    assert_int_equal(synth(recorded_path, "--fruits 1 --fruit 2 --x"), 2);
    assert_int_equal(synth("/nonexistent/r.tif", "--fruits 1"), 1);
    assert_int_equal(synth("", "--help >/dev/null"), 0);
}

/* Terminated by a signal it leaves no file, and its status names the signal. */
static void a_stopped_one_leaves_nothing(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        unlink(recorded_path);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stderr))
                _exit(126);
            execl(CRN_BIN "/cernita-synth", "cernita-synth", recorded_path, "--size", "16x16",
                  "--fruits", "100000000", (char *)NULL);
            _exit(127);
        }
        crn_cleanup_add_process(pid);
        crn_test_await_file(pid, recorded_part);
        assert_int_equal(kill(pid, signals[i]), 0);
        int status;
        assert_int_equal(crn_cleanup_wait(pid, &status), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(access(recorded_part, F_OK), -1);
        assert_int_equal(access(recorded_path, F_OK), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_decides_every_byte),
        cmocka_unit_test(headers_tell_fruits_views_lanes_and_times),
        cmocka_unit_test(maps_are_probabilities),
        cmocka_unit_test(types_and_layouts_hold_the_same_picture),
        cmocka_unit_test(every_class_comes_and_most_maps_are_empty),
        cmocka_unit_test(what_is_asked_wrongly_ends_with_2),
        cmocka_unit_test(a_stopped_one_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
