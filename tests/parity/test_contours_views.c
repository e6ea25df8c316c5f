/* Contours of several views at once, launched directly
 * and as a captured graph, against serial for each view. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/contours_room.h"
#include "tests/support/cuda.h"
#include "tests/support/operator_tests.h"

#define PLANES_MAX   140
#define POINTS_MAX   (1u << 20)
#define CONTOURS_MAX (1u << 18)

static crn_contours wanted;

/* Dense device memory for several views, and serial's contours of all of them. */
typedef struct views_case {
    int32_t views;
    crn_image image; /* the first, on the host */
    size_t elements; /* of one view */
    double levels[PLANES_MAX];
    crn_contours_params params;
} views_case;

static void define_views(const views_case *v, crn_contours *together, crn_contours *one)
{
    together->point_count = together->contour_count = 0;
    together->truncated = false;
    for (int32_t view = 0; view < v->views; view++) {
        crn_image image = v->image;
        image.data = (float *)v->image.data + (size_t)view * v->elements;
        assert_int_equal(crn_contours_serial(operator_contexts[1], &v->params, &image, one), 0);
        for (uint32_t i = 0; i < one->contour_count; i++) {
            crn_contour contour = one->contours[i];
            contour.plane += view * v->image.planes;
            contour.first += together->point_count;
            together->contours[together->contour_count++] = contour;
        }
        memcpy(together->points + together->point_count, one->points,
               one->point_count * sizeof *one->points);
        together->point_count += one->point_count;
    }
}

static void draw_views(crn_random *random, const views_case *v)
{
    for (size_t i = 0; i < v->elements * (size_t)v->views; i++) {
        float value = (float)crn_random_unit(random);
        ((float *)v->image.data)[i] = crn_random_once_in(random, 200) ? NAN : value;
    }
}

/* Several views in one launch, captured once and launched again on other pictures. */
static void try_views(crn_random *random, views_case *v)
{
    const crn_gpu *gpu = crn_test_cuda();
    size_t bytes = v->elements * (size_t)v->views * sizeof(float);
    crn_context *device = NULL;
    assert_int_equal(gpu->context_create(0, v->views, &device), 0);
    crn_image placed = v->image;
    placed.data = crn_context_scratch(device, 16, v->elements * sizeof(float));
    crn_contours *out = gpu->pinned_create(sizeof *out);
    *out = (crn_contours){.points = gpu->pinned_create(POINTS_MAX * sizeof(crn_point)),
                          .contours = gpu->pinned_create(CONTOURS_MAX * sizeof(crn_contour)),
                          .point_capacity = POINTS_MAX,
                          .contour_capacity = CONTOURS_MAX};
    crn_contours one = crn_contours_room(POINTS_MAX, CONTOURS_MAX);
    crn_gpu_graph *graph = NULL;
    char what[OPERATOR_CASE_BYTES];
    for (int turn = 0; turn < 4; turn++) {
        snprintf(what, sizeof what, "%d views of %d x %d x %d, turn %d", v->views, v->image.planes,
                 v->image.height, v->image.width, turn);
        draw_views(random, v);
        define_views(v, &wanted, &one);
        assert_int_equal(gpu->upload(device, placed.data, v->image.data, bytes), 0);
        if (turn == 0) {
            assert_int_equal(gpu->ops->contours(device, &v->params, &placed, out), 0);
        } else {
            if (turn == 1) {
                assert_int_equal(gpu->record(device), 0);
                int asked = gpu->ops->contours(device, &v->params, &placed, out);
                assert_int_equal(gpu->recorded(device, &graph), 0);
                assert_int_equal(asked, 0);
            }
            assert_int_equal(gpu->launch(device, graph), 0);
        }
        assert_int_equal(crn_test_gpu_wait(gpu, device), 0);
        crn_assert_contours_equal(out, &wanted, what);
    }
    gpu->graph_free(&graph);
    gpu->pinned_free(out->points);
    gpu->pinned_free(out->contours);
    gpu->pinned_free(out);
    crn_contours_room_free(&one);
    crn_context_free(&device);
}

static void test_cuda_on_several_views(void **state)
{
    (void)state;
    crn_test_cuda();
    static const int32_t shapes[][4] = {
        {2, 12, 30, 61}, {5, 3, 7, 40}, {8, 60, 9, 5}, {3, 1, 64, 200}, {2, 2, 300, 500}};
    crn_random random = {crn_random_seed()};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        views_case v = {.views = shapes[i][0]};
        v.elements = (size_t)shapes[i][1] * (size_t)shapes[i][2] * (size_t)shapes[i][3];
        float *data = malloc(v.elements * (size_t)v.views * sizeof *data);
        v.image = crn_image_dense(data, CRN_F32, i & 1 ? CRN_CHW : CRN_HWC, shapes[i][1],
                                  shapes[i][2], shapes[i][3]);
        v.params = (crn_contours_params){.levels = v.levels, .border = CRN_BORDER_CLOSED};
        for (int32_t plane = 0; plane < v.image.planes; plane++)
            v.levels[plane] = plane % 5 == 3 ? NAN : 0.9;
        try_views(&random, &v);
        free(data);
    }
}

static int set_up(void **state)
{
    wanted = crn_contours_room(POINTS_MAX, CONTOURS_MAX);
    return operators_set_up(state);
}

static int tear_down(void **state)
{
    crn_contours_room_free(&wanted);
    return operators_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_on_several_views),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
