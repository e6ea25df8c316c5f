/* Interaction of several contexts on one device, and of contexts with graphs captured on them. */
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/operators/images.h"
#include "tests/support/random.h"

enum { SIDE = 300, SLOT_IN = 16, SLOT_OUT };

static crn_context *create(const crn_gpu *gpu)
{
    crn_context *context;
    assert_int_equal(gpu->context_create(0, 1, &context), 0);
    return context;
}

/* Uploads a picture of SIDE x SIDE, and allocates the output. */
static void place(const crn_gpu *gpu, crn_context *context, const crn_image *in, crn_image *ret_in,
                  crn_image *ret_out)
{
    size_t bytes = crn_image_elements(in) * crn_type_bytes(in->type);
    *ret_in = *ret_out = *in;
    ret_in->data = crn_context_scratch(context, SLOT_IN, bytes);
    ret_out->data = crn_context_scratch(context, SLOT_OUT, 3 * SIDE * SIDE * sizeof(float));
    assert_true(ret_in->data && ret_out->data);
    assert_int_equal(gpu->upload(context, ret_in->data, in->data, bytes), 0);
}

static void open_picture(const crn_gpu *gpu, crn_context *context, int32_t side)
{
    static uint8_t picture[SIDE * SIDE], got[SIDE * SIDE], wanted[SIDE * SIDE];
    crn_random random = {.state = (uint64_t)side};
    crn_image in = crn_image_dense(picture, CRN_U8, CRN_CHW, 1, SIDE, SIDE), out = in, result = in;
    crn_image_randomise(&in, &random);
    out.data = wanted;
    result.data = got;
    crn_morphology_params opening = {CRN_OPEN,
                                     {.shape = CRN_ELEMENT_RECT, .width = side, .height = side}};
    crn_context *processor;
    assert_int_equal(crn_context_create(1, &processor), 0);
    assert_int_equal(crn_morphology_openmp(processor, &opening, &in, &out), 0);
    crn_context_free(&processor);
    crn_image from, to;
    place(gpu, context, &in, &from, &to);
    assert_int_equal(gpu->ops->morphology(context, &opening, &from, &to), 0);
    assert_int_equal(gpu->download(context, got, to.data, sizeof got), 0);
    assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
    crn_assert_images_equal(&result, &out, "opening");
}

static void rank_picture(const crn_gpu *gpu, crn_context *context, int32_t side)
{
    static uint8_t picture[SIDE * SIDE];
    crn_image in = crn_image_dense(picture, CRN_U8, CRN_CHW, 1, SIDE, SIDE), from, to;
    place(gpu, context, &in, &from, &to);
    to = crn_image_dense(to.data, CRN_F32, CRN_CHW, 3, SIDE - side + 1, SIDE - side + 1);
    crn_ranklet_params window = {side, side};
    assert_int_equal(gpu->ops->ranklet(context, &window, &from, &to), 0);
    assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
}

/* A kernel's shared memory limit is a property of the device, not of a context: a context that
 * needs less must not lower it for another. */
static void contexts_leave_each_other_shared_memory(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    static const int32_t sides[] = {64, 48, 32, 20, 16, 12, 10, 6, 4};
    crn_context *large = create(gpu), *small = create(gpu);
    for (size_t most = 0; most < sizeof sides / sizeof *sides; most++) {
        open_picture(gpu, large, sides[most] - 1);
        rank_picture(gpu, large, sides[most]);
        for (size_t i = most; i < sizeof sides / sizeof *sides; i++) {
            open_picture(gpu, small, sides[i] - 1);
            rank_picture(gpu, small, sides[i]);
            open_picture(gpu, large, sides[most] - 1);
            rank_picture(gpu, large, sides[most]);
        }
    }
    crn_context_free(&large);
    crn_context_free(&small);
}

/* Kernels of even sides are uploaded as constants of
 * the caller; with this many, the oldest are evicted. */
static void a_graph_is_void_without_its_constants(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    enum { KERNELS = 80 };
    static float picture[SIDE * SIDE];
    crn_context *context = create(gpu);
    crn_image host = crn_image_dense(picture, CRN_F32, CRN_CHW, 1, SIDE, SIDE), in, out;
    place(gpu, context, &host, &in, &out);
    float weights[16] = {1};
    crn_convolve_params kernel = {weights, 4, 4, CRN_CONVOLVE_REPLICATE};
    assert_int_equal(gpu->ops->convolve(context, &kernel, &in, &out), 0);
    crn_gpu_graph *graph = NULL;
    assert_int_equal(gpu->begin_capture(context), 0);
    int r = gpu->ops->convolve(context, &kernel, &in, &out);
    assert_int_equal(gpu->end_capture(context, &graph), 0);
    assert_int_equal(r, 0);
    uint32_t moves = crn_context_generation(context);
    for (int i = 1; i <= KERNELS; i++) {
        weights[15] = (float)i;
        assert_int_equal(gpu->ops->convolve(context, &kernel, &in, &out), 0);
        if (i < KERNELS / 2)
            assert_int_equal(crn_context_generation(context), moves);
    }
    assert_true(crn_context_generation(context) > moves);
    assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
    gpu->graph_free(&graph);
    crn_context_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_leave_each_other_shared_memory),
        cmocka_unit_test(a_graph_is_void_without_its_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
