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

static void a_chain_on_device_maps_finds_the_same(void **state)
{
    (void)state;
    char folder[] = "/tmp/cernita-library-XXXXXX", path[128];
    device_memory memory = place_maps();
    assert_non_null(mkdtemp(folder));
    daemon_write_config(folder, "line.yaml",
                        "classes: [{name: rot, level: 0.5}, {name: rust, level: 0.7}]\n"
                        "chain: [morphology: {operation: close, element: disk, size: 3}, contours, "
                        "ranklet: {windows: 4}]\n",
                        path);
    crn_context *library = open_context(CRN_BACKEND_CUDA, CRN_MEMORY_DEVICE);
    crn_context *processor = open_context(CRN_BACKEND_AUTO, CRN_MEMORY_HOST);
    crn_chain *there, *here;
    assert_int_equal(crn_chain_open(library, path, &there), 0);
    assert_int_equal(crn_chain_open(processor, path, &here), 0);
    crn_image in = memory.in;
    in.data = maps;
    const crn_defects *a, *b;
    assert_int_equal(crn_chain_judge(here, &in, NULL, &a), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(crn_chain_judge(there, &memory.in, NULL, &b), 0);
        assert_int_equal(a->defect_count, b->defect_count);
        assert_int_equal(a->point_count, b->point_count);
        assert_memory_equal(a->xy, b->xy, 2 * a->point_count * sizeof *a->xy);
        assert_int_equal(a->texture_count, b->texture_count);
        assert_memory_equal(a->textures, b->textures, a->texture_count * sizeof *a->textures);
    }
    crn_chain_free(&there);
    crn_chain_free(&here);
    crn_context_free(&processor);
    crn_context_free(&library);
    crn_context_free(&memory.context);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_on_device_memory_give_the_same_bytes),
        cmocka_unit_test(host_images_are_uploaded_and_downloaded),
        cmocka_unit_test(a_chain_on_device_maps_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
