/* Several views on a device, directly and as a captured graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/context.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/parity/parity.h"

enum { LAUNCHES = 3, SLOT_IN = 16, SLOT_OUT };
enum { POINTS_MAX = 1 << 20, CONTOURS_MAX = 1 << 18 };

typedef struct device_views {
    const crn_gpu *gpu;
    crn_context *context;
    crn_gpu_graph *graph;
    crn_parity_case *on_device; /* pinned, and so are: */
    uint8_t *in, *out;          /* all views */
    crn_contour *contours;      /* of one view */
    size_t views, in_bytes, out_bytes;
} device_views;

static void *pinned(const device_views *v, size_t bytes)
{
    void *memory = v->gpu->pinned_create(bytes + 1);
    assert_non_null(memory);
    return memory;
}

/* Device memory, not always aligned for rows of 16 bytes; sums with a tolerance depend on that. */
static void *device_memory(device_views *v, crn_parity_case *c, int32_t slot,
                           const crn_image *image)
{
    size_t size = crn_type_bytes(image->type);
    size_t shift = c->op->compare ? 0 : crn_random_below(&c->random, 3) * size;
    uint8_t *memory =
        crn_context_scratch(v->context, slot, crn_image_elements(image) * size + shift);
    assert_non_null(memory);
    return memory + shift;
}

static device_views create_views(crn_parity_case *c)
{
    device_views v = {.gpu = crn_test_cuda(), .views = (size_t)c->views};
    assert_int_equal(v.gpu->context_create(0, c->views, &v.context), 0);
    v.in_bytes = crn_image_elements(&c->in) * crn_type_bytes(c->in.type);
    v.out_bytes = crn_image_elements(&c->out) * crn_type_bytes(c->out.type);
    v.in = pinned(&v, v.views * v.in_bytes);
    v.out = pinned(&v, v.views * v.out_bytes);
    v.contours = pinned(&v, CONTOURS_MAX * sizeof(crn_contour));
    v.on_device = pinned(&v, sizeof *v.on_device);
    *v.on_device = *c;
    crn_parity_case *d = v.on_device;
    d->in.data = v.in_bytes ? device_memory(&v, c, SLOT_IN, &c->in) : NULL;
    if (c->op->kind == CRN_PARITY_CONTOURS) {
        d->contours = (crn_contours){.points = pinned(&v, POINTS_MAX * sizeof(crn_point)),
                                     .contours = pinned(&v, CONTOURS_MAX * sizeof(crn_contour)),
                                     .point_capacity = POINTS_MAX,
                                     .contour_capacity = CONTOURS_MAX};
    } else {
        d->out = crn_image_dense(NULL, c->out.type, (crn_layout)c->layout, c->out.planes,
                                 c->out.height, c->out.width);
        d->out.data = device_memory(&v, c, SLOT_OUT, &d->out);
    }
    return v;
}

static void free_views(device_views *v)
{
    v->gpu->graph_free(&v->graph);
    v->gpu->pinned_free(v->in);
    v->gpu->pinned_free(v->out);
    v->gpu->pinned_free(v->contours);
    v->gpu->pinned_free(v->on_device->contours.points);
    v->gpu->pinned_free(v->on_device->contours.contours);
    v->gpu->pinned_free(v->on_device);
    crn_context_free(&v->context);
}

/* Launch 0 is a direct call; the next one is captured and launched, all others launch the graph. */
static void launch(device_views *v, int number)
{
    crn_parity_case *d = v->on_device;
    int r = 0;
    memset(v->out, 1, v->views * v->out_bytes);
    assert_int_equal(v->gpu->upload(v->context, d->out.data, v->out, v->views * v->out_bytes), 0);
    assert_int_equal(v->gpu->upload(v->context, d->in.data, v->in, v->views * v->in_bytes), 0);
    if (number == 1)
        assert_int_equal(v->gpu->begin_capture(v->context), 0);
    if (number <= 1)
        r = crn_parity_call(v->gpu->ops, v->context, d);
    if (number == 1)
        assert_int_equal(v->gpu->end_capture(v->context, &v->graph), 0);
    operators_check_result(r, d->what);
    if (number >= 1)
        assert_int_equal(v->gpu->launch(v->context, v->graph), 0);
    assert_int_equal(v->gpu->download(v->context, v->out, d->out.data, v->views * v->out_bytes), 0);
    operators_check_result(crn_test_gpu_wait(v->gpu, v->context), d->what);
}

/* The contours of one view, which follow those of the preceding views. */
static crn_contours contours_of(const device_views *v, int32_t view)
{
    const crn_contours *all = &v->on_device->contours;
    int32_t planes = v->on_device->in.planes;
    crn_contours one = {.contours = v->contours, .truncated = all->truncated};
    uint32_t first = 0;
    for (uint32_t i = 0; i < all->contour_count; i++) {
        crn_contour contour = all->contours[i];
        if (contour.plane / planes < view)
            first += contour.count;
        if (contour.plane / planes != view)
            continue;
        contour.plane -= view * planes;
        contour.first -= first;
        one.contours[one.contour_count++] = contour;
        one.point_count += contour.count;
    }
    one.points = all->points + first;
    return one;
}

static void compare_views(device_views *v, crn_parity_case *c, int number)
{
    char what[OPERATOR_CASE_BYTES + 50];
    uint32_t contours = 0;
    for (size_t view = 0; view < v->views; view++) {
        snprintf(what, sizeof what, "%s | view %zu, launch %d", c->what, view, number);
        c->in.data = v->in + view * v->in_bytes;
        crn_parity_expect(c, c->op->compare ? crn_test_cuda_ops() : crn_parity_openmp(), 1);
        c->out = v->on_device->out;
        c->out.data = v->out + view * v->out_bytes;
        if (c->op->kind == CRN_PARITY_CONTOURS)
            c->contours = contours_of(v, (int32_t)view);
        contours += c->contours.contour_count;
        crn_parity_compare_bytes(c, what);
    }
    assert_int_equal(v->on_device->contours.contour_count, contours);
}

void test_cuda_views_in_a_graph(void **state)
{
    const crn_parity_operator *op = *state;
    crn_test_cuda_ops();
    uint64_t seed = crn_random_seed();
    for (uint32_t number = 0;; number++) {
        crn_parity_case c = crn_parity_start(op, seed);
        c.random.state += number;
        if (!op->make_views(&c, number))
            return;
        device_views v = create_views(&c);
        for (int k = 0; k <= LAUNCHES; k++) {
            for (size_t view = 0; view < v.views; view++) {
                c.in.data = v.in + view * v.in_bytes;
                crn_parity_fill(&c);
            }
            launch(&v, k);
            compare_views(&v, &c, k);
        }
        free_views(&v);
        crn_parity_end(&c);
    }
}
