/* The chain of cernita.h: a file, maps, defects; on the processor and on a simulated device. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/backend.h"
#include "stages/cernita.h"
#include "stages/library/library.h"
#include "stages/chain/chain.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/daemon.h"
#include "tests/support/random.h"

enum { CLASSES = 3, HEIGHT = 24, WIDTH = 32, VALUES = CLASSES * HEIGHT * WIDTH };

static const char yaml[] = "classes: [{name: background}, {name: rot, level: 0.5},\n"
                           "          {name: rust, level: 0.25}]\n"
                           "chain:\n"
                           "  - convolve: {kernel: gaussian, size: 3}\n"
                           "  - contours\n"
                           "  - ranklet: {windows: [4, 8x4]}\n";

static char folder[] = "/tmp/cernita-library-XXXXXX", path[128];
static crn_context *context;
static float maps[VALUES];
static uint8_t photograph[HEIGHT * WIDTH];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    daemon_write_config(folder, "line.yaml", yaml, path);
    crn_random random = {11};
    for (int i = 0; i < VALUES; i++)
        maps[i] = (float)crn_random_unit(&random);
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        photograph[i] = (uint8_t)crn_random_below(&random, 256);
    return crn_context_open(NULL, &context);
}

static int tear_down(void **state)
{
    (void)state;
    crn_context_free(&context);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static crn_image maps_of(void *data, crn_type type)
{
    return crn_image_dense(data, type, CRN_HWC, CLASSES, HEIGHT, WIDTH);
}

static crn_image intensity_of(void)
{
    return crn_image_dense(photograph, CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH);
}

static crn_chain *open_chain(crn_context *in, const char *file)
{
    crn_chain *chain = NULL;
    if (crn_chain_open(in, file, &chain) != 0)
        fail_msg("%s", crn_context_error(in));
    return chain;
}

static void assert_says(const char *part)
{
    if (!strstr(crn_context_error(context), part))
        fail_msg("'%s' is not in '%s'", part, crn_context_error(context));
}

/* Values, not memory: structs have padding. */
static void assert_same_defects(const crn_defects *a, const crn_defects *b)
{
    assert_int_equal(a->defect_count, b->defect_count);
    assert_int_equal(a->point_count, b->point_count);
    assert_int_equal(a->texture_count, b->texture_count);
    assert_int_equal(a->truncated, b->truncated);
    assert_memory_equal(a->xy, b->xy, 2 * a->point_count * sizeof *a->xy);
    assert_memory_equal(a->textures, b->textures, a->texture_count * sizeof *a->textures);
    for (uint32_t i = 0; i < a->defect_count; i++) {
        const crn_defect *p = &a->defects[i], *q = &b->defects[i];
        assert_true(p->channel == q->channel && p->parent == q->parent && p->hole == q->hole);
        assert_true(p->first_point == q->first_point && p->point_count == q->point_count);
        assert_true(p->area_px == q->area_px && p->perimeter_px == q->perimeter_px);
        assert_true(p->mean_probability == q->mean_probability && p->x0 == q->x0);
    }
}

static void a_square_is_one_defect(void **state)
{
    (void)state;
    char simple[128];
    daemon_write_config(folder, "simple.yaml",
                        "classes: [{name: background}, {name: rot, level: 0.5}, {name: rust}]\n"
                        "chain: [contours]\n",
                        simple);
    crn_chain *chain = open_chain(context, simple);
    assert_int_equal(crn_chain_class_count(chain), 3);
    assert_string_equal(crn_chain_class_name(chain, 1), "rot");
    assert_null(crn_chain_class_name(chain, 3));
    assert_null(crn_chain_class_name(chain, -1));
    uint8_t square[VALUES] = {0};
    for (int y = 5; y < 9; y++)
        for (int x = 10; x < 14; x++)
            square[(y * WIDTH + x) * CLASSES + 1] = 255;
    crn_image in = maps_of(square, CRN_U8);
    const crn_defects *found;
    assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), 0);
    assert_int_equal(found->defect_count, 1);
    assert_int_equal(found->defects[0].channel, 1);
    assert_true(found->defects[0].area_px == 15.5 && found->defects[0].mean_probability == 1);
    assert_true(found->defects[0].x0 == 9.5 && found->defects[0].y1 == 8.5);
    assert_false(found->truncated);
    crn_chain_free(&chain);
    assert_null(chain);
    crn_chain_free(&chain);
    crn_chain_free(NULL);
}

/* What the engine's chain finds on the same maps. */
static void it_finds_what_the_line_finds(void **state)
{
    (void)state;
    static crn_defect defects[4096];
    static float xy[2 * 65536];
    static crn_texture textures[2 * 4096];
    crn_defects expected = {defects, xy, textures, 4096, 65536, 2 * 4096, 0, 0, 0, false};
    const char *why;
    crn_config config;
    assert_int_equal(crn_config_load(path, NULL, &config), 0);
    crn_config_resolve(&config, 2);
    crn_chain *engine;
    assert_int_equal(crn_chain_create(&config, crn_backend_ops(CRN_BACKEND_OPENMP, &why), &engine),
                     0);
    crn_image photo = intensity_of();
    crn_chain_input input = {
        .maps = maps_of(maps, CRN_F32), .intensity = photo, .deadline_ns = CRN_NEVER_NS};
    crn_judgement judgement;
    assert_int_equal(crn_chain_run(engine, &input, &expected, &judgement), 0);
    assert_true(expected.defect_count > 10 && expected.texture_count > 10);

    crn_chain *chain = open_chain(context, path);
    const crn_defects *found;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(crn_chain_judge(chain, &input.maps, &photo, &found), 0);
        assert_same_defects(found, &expected);
    }
    crn_chain_free(&chain);
    crn_chain_free(&engine);
    crn_config_done(&config);
}

static void faults_of_a_file_are_all_told(void **state)
{
    (void)state;
    char bad[128];
    daemon_write_config(folder, "bad.yaml",
                        "classes: [{name: rot, level: 7}]\nchain: [contour]\nspeed: 3\n", bad);
    crn_chain *chain = NULL;
    assert_int_equal(crn_chain_open(context, bad, &chain), -EINVAL);
    assert_null(chain);
    assert_says("bad.yaml:1:");
    assert_says("bad.yaml:2:");
    assert_says("bad.yaml:3:");
    assert_int_equal(crn_chain_open(context, "/nowhere/line.yaml", &chain), -ENOENT);
    assert_says("/nowhere/line.yaml");
    assert_int_equal(crn_chain_open(context, NULL, &chain), -EINVAL);
    assert_says("path is NULL");
    assert_int_equal(crn_chain_open(context, path, NULL), -EINVAL);
    assert_says("ret_chain is NULL");
}

/* In the locale of a program that has one with a decimal comma; skipped where none can be made. */
static void numbers_of_a_file_have_a_point_in_every_locale(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    setenv("LOCPATH", folder, 1);
    if (system(command) != 0 || !setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip();
    crn_chain *chain = NULL;
    int r = crn_chain_open(context, path, &chain);
    char number[16];
    snprintf(number, sizeof number, "%.1f", 0.5);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(number, "0,5"); /* the thread's locale is as before */
    assert_int_equal(r, 0);
    crn_chain *other = open_chain(context, path);
    crn_image in = maps_of(maps, CRN_F32);
    const crn_defects *found, *expected; /* at the levels of the file, not at 0 */
    assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), 0);
    assert_int_equal(crn_chain_judge(other, &in, NULL, &expected), 0);
    assert_same_defects(found, expected);
    crn_chain_free(&other);
    crn_chain_free(&chain);
}

static void refused_maps_name_the_argument(void **state)
{
    (void)state;
    crn_chain *chain = open_chain(context, path);
    const crn_defects *found = NULL;
    crn_image in = maps_of(maps, CRN_F32), photo = intensity_of(), bad = in;
    assert_int_equal(crn_chain_judge(NULL, &in, NULL, &found), -EINVAL);
    assert_int_equal(crn_chain_judge(chain, NULL, NULL, &found), -EINVAL);
    assert_says("maps is NULL");
    assert_int_equal(crn_chain_judge(chain, &in, NULL, NULL), -EINVAL);
    assert_says("ret_defects is NULL");
    bad.planes = 2;
    assert_int_equal(crn_chain_judge(chain, &bad, NULL, &found), -EINVAL);
    assert_says("maps has 2 planes; the file has 3 classes");
    bad = in;
    bad.type = CRN_U16;
    assert_int_equal(crn_chain_judge(chain, &bad, NULL, &found), -EINVAL);
    assert_says("of u16");
    bad = in;
    bad.height = 0;
    assert_int_equal(crn_chain_judge(chain, &bad, NULL, &found), -EINVAL);
    assert_says("maps is 0 x 32");
    bad = in;
    bad.width--;
    assert_int_equal(crn_chain_judge(chain, &bad, NULL, &found), -EINVAL);
    assert_says("gaps");
    photo.width = 3;
    assert_int_equal(crn_chain_judge(chain, &in, &photo, &found), -EINVAL);
    assert_says("intensity");
    assert_null(found);
    assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), 0);
    assert_string_equal(crn_context_error(context), "");
    crn_chain_free(&chain);
}

/* The limits of contours are those of its border. */
static void maps_have_the_size_that_contours_need(void **state)
{
    (void)state;
    static const struct {
        const char *border;
        int32_t height, width;
        const char *said; /* NULL: they are judged */
    } cases[] = {
        {"open", 1, WIDTH, "maps is 1 x 32; with an open border it must be at least 2 x 2"},
        {"open", HEIGHT, 1, "maps is 24 x 1; with an open border it must be at least 2 x 2"},
        {"open", 2, 2, NULL},
        {"closed", 1, 1, NULL},
        {"open", 32769, 32769, "maps is 32769 x 32769; with an open border (height - 1) x "},
        {"closed", 32767, 32767, "maps is 32767 x 32767; with a closed border (height + 1) x "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], file[128];
        snprintf(text, sizeof text,
                 "classes: [{name: rot, level: 0.5}]\nchain: [contours: {border: %s}]\n",
                 cases[i].border);
        daemon_write_config(folder, "border.yaml", text, file);
        crn_chain *chain = open_chain(context, file);
        crn_image in = crn_image_dense(maps, CRN_F32, CRN_CHW, 1, cases[i].height, cases[i].width);
        const crn_defects *found = NULL;
        assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), cases[i].said ? -EINVAL : 0);
        assert_says(cases[i].said ? cases[i].said : "");
        crn_chain_free(&chain);
    }
}

/* As a window of a larger image has them: the strides of sides of one element lead nowhere. */
static void strides_of_sides_of_one_element_are_no_gaps(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1, WIDTH}, {HEIGHT, 1}, {1, 1}, {HEIGHT, WIDTH}};
    enum { FAR = 12345 };
    char single[128];
    daemon_write_config(folder, "single.yaml",
                        "classes: [{name: rot, level: 0.5}]\n"
                        "chain: [{contours: {border: closed}}, ranklet: {windows: [4]}]\n",
                        single);
    for (int i = 0; i < 16; i++) {
        const int32_t *size = sizes[i / 4], planes = i % 4 < 2 ? 1 : CLASSES;
        crn_chain *chain = open_chain(context, planes == 1 ? single : path);
        crn_image in =
            crn_image_dense(maps, CRN_F32, i % 2 ? CRN_HWC : CRN_CHW, planes, size[0], size[1]);
        crn_image photo = crn_image_dense(photograph, CRN_U8, CRN_CHW, 1, size[0], size[1]);
        const crn_defects *found = NULL;
        assert_int_equal(crn_chain_judge(chain, &in, &photo, &found), 0);
        uint32_t points = found->point_count;
        float *xy = malloc(2 * (points + 1) * sizeof *xy);
        memcpy(xy, found->xy, 2 * points * sizeof *xy);
        in.plane_stride = planes == 1 ? FAR : in.plane_stride;
        in.row_stride = size[0] == 1 ? FAR : in.row_stride;
        in.step = size[1] == 1 ? FAR : in.step;
        photo.row_stride = size[0] == 1 ? FAR : photo.row_stride;
        photo.step = size[1] == 1 ? FAR : photo.step;
        photo.plane_stride = FAR;
        if (crn_chain_judge(chain, &in, &photo, &found) != 0)
            fail_msg("%d x %d x %d: %s", planes, size[0], size[1], crn_context_error(context));
        assert_int_equal(found->point_count, points);
        assert_memory_equal(found->xy, xy, 2 * points * sizeof *xy);
        free(xy);
        crn_chain_free(&chain);
    }
}

static void what_exceeds_the_limits_is_cut(void **state)
{
    (void)state;
    char small[128], text[512];
    snprintf(text, sizeof text, "%slimits: {points: 64, defects: 5}\n", yaml);
    daemon_write_config(folder, "small.yaml", text, small);
    const crn_defects *here, *there;
    crn_image in = maps_of(maps, CRN_F32);
    crn_chain *chain = open_chain(context, small);
    assert_int_equal(crn_chain_judge(chain, &in, NULL, &here), 0);
    assert_true(here->truncated);
    assert_true(here->defect_count > 0 && here->defect_count <= 5);

    crn_context *on_device;
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    assert_int_equal(crn_context_open_on(crn_fake_gpu(1, false), &settings, &on_device), 0);
    crn_chain *other = open_chain(on_device, small);
    assert_int_equal(crn_chain_judge(other, &in, NULL, &there), 0);
    assert_same_defects(here, there);
    crn_chain_free(&other);
    crn_context_free(&on_device);
    crn_chain_free(&chain);
}

/* Memory that the host cannot read but while the device works. */
static void *device_copy(const void *from, size_t bytes)
{
    size_t pages = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, pages);
    memcpy(memory, from, bytes);
    crn_fake_gpu_hide(memory, pages);
    return memory;
}

static void device_free(void *memory)
{
    crn_fake_gpu_hide(NULL, 0);
    free(memory);
}

static crn_context *open_fake_device(void)
{
    crn_context *on_device;
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    assert_int_equal(crn_context_open_on(crn_fake_gpu(1, false), &settings, &on_device), 0);
    return on_device;
}

static void a_device_finds_the_same(void **state)
{
    (void)state;
    static uint8_t bytes[VALUES];
    static uint16_t halves[VALUES];
    for (int i = 0; i < VALUES; i++) {
        bytes[i] = (uint8_t)(maps[i] * 255);
        halves[i] = (uint16_t)(maps[i] * 0x3c00); /* up to 1 */
    }
    struct {
        void *data;
        crn_type type;
    } const views[] = {{maps, CRN_F32}, {bytes, CRN_U8}, {halves, CRN_F16}};
    crn_context *on_device = open_fake_device();
    crn_chain *here = open_chain(context, path), *there = open_chain(on_device, path);
    crn_image photo = intensity_of();
    const crn_defects *a, *b;
    for (int i = 0; i < 12; i++) {
        crn_layout layout = i % 2 ? CRN_CHW : CRN_HWC;
        const crn_image *intensity = i < 6 ? NULL : &photo;
        crn_image in =
            crn_image_dense(views[i % 3].data, views[i % 3].type, layout, CLASSES, HEIGHT, WIDTH);
        assert_int_equal(crn_chain_judge(here, &in, intensity, &a), 0);
        in.data = device_copy(in.data, VALUES * crn_type_bytes(in.type));
        assert_int_equal(crn_chain_judge(there, &in, intensity, &b), 0);
        device_free(in.data);
        assert_true(a->defect_count > 10 && a->texture_count == 2 * a->defect_count);
        assert_same_defects(a, b);
    }
    crn_image in = maps_of(maps, CRN_F32);
    assert_int_equal(crn_chain_judge(here, &in, &photo, &a), 0);
    photo.data = device_copy(photograph, sizeof photograph);
    assert_int_equal(crn_chain_judge(there, &in, &photo, &b), 0);
    device_free(photo.data);
    assert_same_defects(a, b);
    crn_chain_free(&there);
    crn_context_free(&on_device);
    crn_chain_free(&here);
    assert_int_equal(crn_fake_gpu_used.contexts, 0);
    assert_int_equal(crn_fake_gpu_used.pinned, 0);
}

/* Textures of so large maps that not all classes fit at once. */
static void a_device_takes_large_maps_in_turn(void **state)
{
    (void)state;
    enum { LARGE = 2000, ALL = CLASSES * LARGE * LARGE };
    uint8_t *large = calloc(ALL, 1);
    for (int i = 0; i < 400; i++) /* a patch in each class */
        for (int channel = 1; channel < CLASSES; channel++)
            large[(channel * LARGE + 90 * channel + i / 20) * LARGE + 1300 + i % 20] =
                (uint8_t)(200 + i % 50);
    crn_context *on_device = open_fake_device();
    crn_chain *here = open_chain(context, path), *there = open_chain(on_device, path);
    crn_image in = crn_image_dense(large, CRN_U8, CRN_CHW, CLASSES, LARGE, LARGE);
    const crn_defects *a, *b;
    assert_int_equal(crn_chain_judge(here, &in, NULL, &a), 0);
    assert_int_equal(crn_chain_judge(there, &in, NULL, &b), 0);
    assert_true(a->defect_count == 2 && a->defects[0].channel != a->defects[1].channel);
    assert_same_defects(a, b);
    crn_chain_free(&there);
    crn_context_free(&on_device);
    crn_chain_free(&here);
    free(large);
}

static void a_device_that_fails_is_an_error(void **state)
{
    (void)state;
    crn_context *on_device;
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(1, false));
    assert_int_equal(crn_context_open_on(gpu, &settings, &on_device), 0);
    crn_chain *chain = open_chain(on_device, path);
    crn_image in = maps_of(maps, CRN_F32);
    const crn_defects *found = NULL;
    for (int32_t after = 0; after < 16; after++) {
        crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, after);
        int r = crn_chain_judge(chain, &in, NULL, &found);
        if (crn_faulty_gpu_struck()) {
            assert_int_equal(r, -EIO);
            assert_true(strlen(crn_context_error(on_device)) > 5);
        }
        crn_faulty_gpu_set(CRN_GPU_SOUND, 0);
        while (gpu->poll(on_device) == -EAGAIN) /* what was enqueued before the failure */
            continue;
    }
    assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), 0);
    crn_chain_free(&chain);
    crn_context_free(&on_device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_square_is_one_defect),
        cmocka_unit_test(it_finds_what_the_line_finds),
        cmocka_unit_test(faults_of_a_file_are_all_told),
        cmocka_unit_test(numbers_of_a_file_have_a_point_in_every_locale),
        cmocka_unit_test(refused_maps_name_the_argument),
        cmocka_unit_test(maps_have_the_size_that_contours_need),
        cmocka_unit_test(strides_of_sides_of_one_element_are_no_gaps),
        cmocka_unit_test(what_exceeds_the_limits_is_cut),
        cmocka_unit_test(a_device_finds_the_same),
        cmocka_unit_test(a_device_takes_large_maps_in_turn),
        cmocka_unit_test(a_device_that_fails_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
