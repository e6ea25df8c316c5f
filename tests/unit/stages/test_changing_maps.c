/*
 * Maps that another process changes while the chain reads them, as a program can do with views that
 * it left in slots: no read or write beyond what there is (for the address sanitizer), and every
 * outline possible. CRN_CASES is the number of views of each kind.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stages/backend.h"
#include "stages/chain/chain.h"
#include "stages/config/config.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED
#define HEIGHT 41
#define WIDTH  67
#define VIEWS  2
#else
#define HEIGHT 61
#define WIDTH  97
#define VIEWS  8
#endif
#define CLASSES 3
#define PIXELS  (HEIGHT * WIDTH)
#define BYTES   (PIXELS * CLASSES * sizeof(float))
#define DEFECTS 4096
#define POINTS  262144

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.4}, {name: rust, level: 0.6}]\n"
    "chain:\n%s"
    "  - contours: {border: %s}\n"
    "  - ranklet: {windows: [4, 8x6, 16, 32]}\n"
    "run: {workers: 1, threads: 1}\n";

static unsigned char *shared; /* maps, then a photograph */
static pid_t writer;

/* Values that a map may hold, and others. */
static float any_value(crn_random *random)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0, 1};
    uint32_t kind = crn_random_below(random, 16);
    return kind < 7 ? odd[kind] : (float)crn_random_unit(random);
}

/* Writes until it is killed: a value at a time, in one order and then in another. */
static void write_for_ever(bool floats)
{
    crn_random random = {1};
    for (;;) {
        size_t at = crn_random_below(&random, floats ? PIXELS * CLASSES : BYTES + PIXELS);
        for (size_t i = 0; i < 64; i++) {
            size_t next = at + i * (1 + at % 3);
            if (floats && next < PIXELS * CLASSES) {
                float value = any_value(&random);
                memcpy(shared + next * sizeof value, &value, sizeof value);
            } else if (!floats && next < BYTES + PIXELS) {
                shared[next] = (unsigned char)crn_random_next(&random);
            }
        }
    }
}

static void start_writer(bool floats)
{
    writer = crn_cleanup_fork();
    if (writer > 0)
        return;
    write_for_ever(floats);
    _exit(0);
}

static void stop_writer(void)
{
    kill(writer, SIGKILL);
    crn_cleanup_wait(writer, NULL);
}

static void expect_possible(const crn_defects *found)
{
    assert_true(found->defect_count <= DEFECTS && found->point_count <= POINTS);
    for (uint32_t i = 0; i < found->defect_count; i++) {
        const crn_defect *defect = &found->defects[i];
        assert_true(defect->x0 >= -1 && defect->y0 >= -1);
        assert_true(defect->x1 <= WIDTH && defect->y1 <= HEIGHT);
        assert_true(isfinite(defect->area_px) && isfinite(defect->perimeter_px));
        assert_true(defect->parent >= -1 && defect->parent < (int32_t)found->defect_count);
        for (uint32_t p = 0; p < defect->point_count; p++) {
            const float *xy = found->xy + 2 * (size_t)(defect->first_point + p);
            assert_true(xy[0] >= -1 && xy[0] <= WIDTH && xy[1] >= -1 && xy[1] <= HEIGHT);
        }
        for (uint32_t t = 0; t < defect->texture_count; t++) {
            const crn_texture *texture = &found->textures[defect->first_texture + t];
            assert_true(fabs((double)texture->vertical) <= 1 && isfinite(texture->diagonal));
        }
    }
}

typedef struct changing_case {
    crn_backend backend;
    crn_type type;
    crn_layout layout;
    bool photograph;
    const char *before, *border; /* steps before the contours; of these */
} changing_case;

static uint64_t judge(const changing_case *of)
{
    static crn_config config;
    static crn_defect defects[DEFECTS];
    static float xy[2 * POINTS];
    static crn_texture textures[DEFECTS * 4];
    char text[1024];
    const char *why;
    crn_chain *chain;
    uint64_t outlines = 0;
    snprintf(text, sizeof text, yaml, of->before, of->border);
    assert_int_equal(crn_config_parse("f", text, strlen(text), stderr, &config), 0);
    crn_config_resolve(&config, 1);
    assert_int_equal(crn_chain_create(&config, crn_backend_ops(of->backend, &why), &chain), 0);
    start_writer(of->type != CRN_U8);
    for (uint32_t i = crn_random_cases(VIEWS); i-- > 0;) {
        crn_defects found = {.defects = defects,
                             .xy = xy,
                             .textures = textures,
                             .defect_capacity = DEFECTS,
                             .point_capacity = POINTS,
                             .texture_capacity = DEFECTS * 4};
        crn_judgement judgement;
        crn_chain_input input = {
            .maps = crn_image_dense(shared, of->type, of->layout, CLASSES, HEIGHT, WIDTH),
            .received_ns = 0,
            .deadline_ns = INT64_MAX};
        if (of->photograph)
            input.intensity = crn_image_dense(shared + BYTES, CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH);
        assert_int_equal(crn_chain_run(chain, &input, &found, &judgement), 0);
        expect_possible(&found);
        outlines += found.defect_count;
    }
    stop_writer();
    crn_chain_free(&chain);
    crn_config_done(&config);
    return outlines;
}

static void judge_all(crn_backend backend)
{
    static const char steps[] = "  - morphology: {operation: open, element: disk, size: 3}\n"
                                "  - haar: {levels: 2, threshold: 0.02}\n";
    static const struct {
        crn_type type;
        crn_layout layout;
    } maps[] = {{CRN_F32, CRN_HWC},
                {CRN_F32, CRN_CHW},
                {CRN_U8, CRN_HWC},
                {CRN_U8, CRN_CHW},
                {CRN_F16, CRN_HWC}};
    uint64_t outlines = 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (int more = 0; more < 2; more++)
            outlines += judge(&(changing_case){backend, maps[i].type, maps[i].layout,
                                               maps[i].type == CRN_U8 && more, more ? steps : "",
                                               more ? "closed" : "open"});
    assert_true(outlines > 0);
}

static void serial_bears_maps_that_change(void **state)
{
    (void)state;
    judge_all(CRN_BACKEND_SERIAL);
}

static void openmp_bears_maps_that_change(void **state)
{
    (void)state;
    judge_all(CRN_BACKEND_OPENMP);
}

static int set_up(void **state)
{
    (void)state;
    shared = mmap(NULL, BYTES + PIXELS + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    return shared == MAP_FAILED;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_bears_maps_that_change),
        cmocka_unit_test(openmp_bears_maps_that_change),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
