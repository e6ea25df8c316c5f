/* cernita.h on a real device, on the default stream: results as on the processor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/cernita.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/random.h"

enum { HEIGHT = 61, WIDTH = 83, CLASSES = 2, VALUES = CLASSES * HEIGHT * WIDTH };
enum { SLOT_IN = 21, SLOT_OUT };

static float maps[VALUES], result[VALUES], expected[VALUES];

/* Device memory and transfers, on a stream of their own. */
typedef struct device_memory {
    const crn_gpu *gpu;
    crn_context *context;
    crn_image in, out;
} device_memory;

static device_memory place_maps(void)
{
    device_memory it = {.gpu = crn_test_cuda()};
    crn_random random = {.state = 3};
    for (int i = 0; i < VALUES; i++)
        maps[i] = (float)crn_random_unit(&random);
    assert_int_equal(it.gpu->context_create(0, 1, &it.context), 0);
    it.in = it.out = crn_image_dense(NULL, CRN_F32, CRN_HWC, CLASSES, HEIGHT, WIDTH);
    it.in.data = crn_context_scratch(it.context, SLOT_IN, sizeof maps);
    it.out.data = crn_context_scratch(it.context, SLOT_OUT, sizeof maps);
    assert_true(it.in.data && it.out.data);
    assert_int_equal(it.gpu->upload(it.context, it.in.data, maps, sizeof maps), 0);
    assert_int_equal(crn_test_gpu_wait(it.gpu, it.context), 0);
    return it;
}

/* The output, once the library's stream has come so far. */
static void fetch(const device_memory *memory, crn_context *library)
{
    assert_int_equal(crn_test_gpu_wait(memory->gpu, library), 0);
    assert_int_equal(
        memory->gpu->download(memory->context, result, memory->out.data, sizeof result), 0);
    assert_int_equal(crn_test_gpu_wait(memory->gpu, memory->context), 0);
}

static crn_context *open_context(crn_backend backend, crn_memory memory)
{
    crn_context_settings settings = {.backend = backend, .memory = memory};
    crn_context *context;
    assert_int_equal(crn_context_open(&settings, &context), 0);
    return context;
}

static void operators_on_device_memory_give_the_same_bytes(void **state)
{
    (void)state;
    device_memory memory = place_maps();
    crn_context *library = open_context(CRN_BACKEND_CUDA, CRN_MEMORY_DEVICE);
    crn_context *processor = open_context(CRN_BACKEND_AUTO, CRN_MEMORY_HOST);
    crn_image in = memory.in, out = memory.out;
    in.data = maps;
    out.data = expected;
    crn_morphology_params opening = {CRN_OPEN, {CRN_ELEMENT_DISK, 5, 5, NULL, NULL}};
    assert_int_equal(crn_morphology(processor, &opening, &in, &out), 0);
    assert_int_equal(crn_morphology(library, &opening, &memory.in, &memory.out), 0);
    fetch(&memory, library);
    assert_memory_equal(result, expected, sizeof result);
    crn_haar_params haar = {.direction = CRN_HAAR_FORWARD, .levels = 4};
    assert_int_equal(crn_haar(processor, &haar, &in, &out), 0);
    assert_int_equal(crn_haar(library, &haar, &memory.in, &memory.out), 0);
    fetch(&memory, library);
    assert_memory_equal(result, expected, sizeof result);
    haar.levels = 99;
    assert_true(crn_haar(library, &haar, &memory.in, &memory.out) < 0);
    assert_non_null(strstr(crn_context_error(library), "params.levels is 99"));
    crn_context_free(&processor);
    crn_context_free(&library);
    crn_context_free(&memory.context);
}

static void host_images_are_uploaded_and_downloaded(void **state)
{
    (void)state;
    crn_test_cuda();
    crn_context *library = open_context(CRN_BACKEND_CUDA, CRN_MEMORY_HOST);
    crn_context *processor = open_context(CRN_BACKEND_AUTO, CRN_MEMORY_HOST);
    crn_image in = crn_image_dense(maps, CRN_F32, CRN_CHW, CLASSES, HEIGHT, WIDTH), out = in;
    crn_haar_params haar = {.direction = CRN_HAAR_DENOISE, .levels = 2, .threshold = 0.1f};
    out.data = expected;
    assert_int_equal(crn_haar(processor, &haar, &in, &out), 0);
    out.data = result;
    assert_int_equal(crn_haar(library, &haar, &in, &out), 0);
    assert_memory_equal(result, expected, sizeof result);
    crn_context_free(&processor);
    crn_context_free(&library);
}

static void assert_same_defects(const crn_defects *a, const crn_defects *b)
{
    assert_int_equal(a->defect_count, b->defect_count);
    assert_int_equal(a->point_count, b->point_count);
    assert_int_equal(a->truncated, b->truncated);
    assert_memory_equal(a->xy, b->xy, 2 * a->point_count * sizeof *a->xy);
    for (uint32_t i = 0; i < a->defect_count; i++)
        assert_memory_equal(&a->defects[i].mean_probability, &b->defects[i].mean_probability,
                            sizeof(double));
    assert_int_equal(a->texture_count, b->texture_count);
    assert_memory_equal(a->textures, b->textures, a->texture_count * sizeof *a->textures);
}

/* A chain of that text on the CPU and on the device, on views of every type and layout, with and
 * without a photograph. */
static void compare_chains(const char *text)
{
    char folder[] = "/tmp/cernita-library-XXXXXX", path[128], command[128];
    device_memory memory = place_maps();
    assert_non_null(mkdtemp(folder));
    daemon_write_config(folder, "line.yaml", text, path);
    crn_context *library = open_context(CRN_BACKEND_CUDA, CRN_MEMORY_DEVICE);
    crn_context *processor = open_context(CRN_BACKEND_AUTO, CRN_MEMORY_HOST);
    crn_chain *there, *here;
    assert_int_equal(crn_chain_open(library, path, &there), 0);
    assert_int_equal(crn_chain_open(processor, path, &here), 0);
    static const crn_type types[] = {CRN_F32, CRN_U8, CRN_F16};
    for (int i = 0; i < 12; i++) {
        crn_type type = types[i % 3];
        for (int at = 0; type == CRN_F16 && at < VALUES; at++)
            ((uint16_t *)result)[at] = (uint16_t)(maps[at] * 0x3c00); /* up to 1 */
        for (int at = 0; type == CRN_U8 && at < VALUES; at++)
            ((uint8_t *)result)[at] = (uint8_t)(maps[at] * 255);
        void *view = type == CRN_F32 ? (void *)maps : result;
        crn_image in =
            crn_image_dense(view, type, i % 2 ? CRN_CHW : CRN_HWC, CLASSES, HEIGHT, WIDTH);
        crn_image in_there = in;
        in_there.data = memory.out.data;
        assert_int_equal(memory.gpu->upload(memory.context, memory.out.data, view, sizeof maps), 0);
        assert_int_equal(crn_test_gpu_wait(memory.gpu, memory.context), 0);
        /* Its bytes are as good a photograph as any. */
        crn_image photo = crn_image_dense(maps, CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH);
        crn_image photo_there = photo;
        photo_there.data = memory.in.data;
        const crn_defects *a, *b;
        assert_int_equal(crn_chain_judge(here, &in, i < 6 ? NULL : &photo, &a), 0);
        assert_int_equal(crn_chain_judge(there, &in_there, i < 6 ? NULL : &photo_there, &b), 0);
        assert_true(a->defect_count > 0);
        assert_same_defects(a, b);
    }
    crn_chain_free(&there);
    crn_chain_free(&here);
    crn_context_free(&processor);
    crn_context_free(&library);
    crn_context_free(&memory.context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_chain_on_device_maps_finds_the_same(void **state)
{
    (void)state;
    compare_chains("classes: [{name: rot, level: 0.5}, {name: rust, level: 0.7}]\n"
                   "chain: [morphology: {operation: close, element: disk, size: 3}, contours, "
                   "ranklet: {windows: [4, 16, 6x10]}]\n");
}

/* Windows of which so many lie around a defect that the order of additions matters. */
static void textures_of_large_defects_have_the_same_bytes(void **state)
{
    (void)state;
    compare_chains("classes: [{name: rot, level: 0.01}, {name: rust, level: 0.02}]\n"
                   "chain: [contours, ranklet: {windows: [52x60, 30, 42x36]}]\n");
}

static void a_chain_on_a_device_cuts_at_the_same_limit(void **state)
{
    (void)state;
    compare_chains("classes: [{name: rot, level: 0.5}, {name: rust, level: 0.7}]\n"
                   "chain: [contours, ranklet: {windows: 8}]\n"
                   "limits: {points: 300, defects: 40}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_on_device_memory_give_the_same_bytes),
        cmocka_unit_test(host_images_are_uploaded_and_downloaded),
        cmocka_unit_test(a_chain_on_device_maps_finds_the_same),
        cmocka_unit_test(textures_of_large_defects_have_the_same_bytes),
        cmocka_unit_test(a_chain_on_a_device_cuts_at_the_same_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
