#include "tests/support/parity/parity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/backend.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/contours_buffer.h"
#include "tests/support/operators/images.h"

enum { TEXT_BYTES = OPERATOR_CASE_BYTES + 150 };

const crn_ops *crn_parity_serial(void)
{
    return crn_backend_ops(CRN_BACKEND_SERIAL, NULL);
}

const crn_ops *crn_parity_openmp(void)
{
    return crn_backend_ops(CRN_BACKEND_OPENMP, NULL);
}

int crn_parity_call(const crn_ops *ops, crn_context *context, crn_parity_case *c)
{
    const crn_parity_params *p = &c->params;
    switch (c->op->kind) {
    case CRN_PARITY_CONTOURS:
        return ops->contours(context, &p->contours, &c->in, &c->contours);
    case CRN_PARITY_MORPHOLOGY:
        return ops->morphology(context, &p->morphology, &c->in, &c->out);
    case CRN_PARITY_CONVOLVE:
        return ops->convolve(context, &p->convolve, &c->in, &c->out);
    case CRN_PARITY_HAAR:
        return ops->haar(context, &p->haar, &c->in, &c->out);
    case CRN_PARITY_RANKLET:
        return ops->ranklet(context, &p->ranklet, &c->in, &c->out);
    case CRN_PARITY_DIAMOND_SQUARE:
        return ops->diamond_square(context, &p->diamond_square, &c->out);
    }
    return -EINVAL;
}

static int call_with(const crn_parity_variant *v, crn_context *context, crn_parity_case *c)
{
    const crn_parity_params *p = &c->params;
    crn_image *out = &c->out;
    switch (c->op->kind) {
    case CRN_PARITY_CONTOURS:
        return crn_contours_openmp_with(&v->contours, context, &p->contours, &c->in, &c->contours);
    case CRN_PARITY_MORPHOLOGY:
        return crn_morphology_openmp_with(&v->morphology, context, &p->morphology, &c->in, out);
    case CRN_PARITY_CONVOLVE:
        return crn_convolve_openmp_with(&v->convolve, context, &p->convolve, &c->in, out);
    case CRN_PARITY_HAAR:
        return crn_haar_openmp_with(&v->haar, context, &p->haar, &c->in, out);
    case CRN_PARITY_RANKLET:
        return crn_ranklet_openmp_with(&v->ranklet, context, &p->ranklet, &c->in, out);
    case CRN_PARITY_DIAMOND_SQUARE:
        return crn_diamond_square_openmp_with(&v->diamond_square, context, &p->diamond_square, out);
    }
    return -EINVAL;
}

static bool same_strides(const crn_image *a, const crn_image *b)
{
    return a->plane_stride == b->plane_stride && a->row_stride == b->row_stride &&
           a->step == b->step;
}

static void free_output(crn_parity_case *c)
{
    crn_guarded_free(&c->out_memory[0]);
    crn_guarded_free(&c->out_memory[1]);
}

static void make_out_image(crn_parity_case *c)
{
    crn_parity_shape shape = {c->out.planes, c->out.height, c->out.width};
    c->out = crn_parity_make_image(c, c->out.type, shape, &c->out_memory[0]);
    /* Prefers equal strides of input and output, which use other code paths. */
    for (int i = 0; i < 2 && !same_strides(&c->in, &c->out); i++) {
        if (!crn_image_same_size(&c->in, &c->out))
            break;
        crn_guarded_free(&c->out_memory[0]);
        c->out = crn_parity_make_image(c, c->out.type, shape, &c->out_memory[0]);
    }
    crn_guarded_fill(&c->out_memory[0]);
}

/* New guarded memory for a run. */
static void make_output(crn_parity_case *c)
{
    if (!c->in_copy && c->in_memory.map)
        c->in_copy = crn_guarded_copy(&c->in_memory);
    free_output(c);
    if (c->op->kind != CRN_PARITY_CONTOURS) {
        make_out_image(c);
        return;
    }
    uint32_t points = c->expected_contours.point_capacity;
    uint32_t contours = c->expected_contours.contour_capacity;
    c->out_memory[0] = crn_guarded_create(points * sizeof(crn_point), true);
    c->out_memory[1] = crn_guarded_create(contours * sizeof(crn_contour), true);
    c->contours =
        (crn_contours){c->out_memory[0].data, c->out_memory[1].data, points, contours, 9, 9, true};
}

static void check_memory(crn_parity_case *c, const char *what)
{
    const crn_guarded *all[] = {&c->in_memory, &c->out_memory[0], &c->out_memory[1], &c->arrays[0],
                                &c->arrays[1]};
    if (c->op->kind != CRN_PARITY_CONTOURS)
        crn_guarded_check_gaps(&c->out_memory[0], &c->out, what);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->map)
            crn_guarded_check(all[i], what);
}

void crn_parity_run(crn_parity_case *c, const crn_ops *ops, const crn_parity_variant *variant,
                    crn_context *context, const char *what)
{
    make_output(c);
    int r = variant ? call_with(variant, context, c) : crn_parity_call(ops, context, c);
    operators_check_result(r, what);
}

void crn_parity_compare_bytes(const crn_parity_case *c, const char *what)
{
    if (c->op->kind == CRN_PARITY_CONTOURS)
        crn_assert_contours_equal(&c->contours, &c->expected_contours, what);
    else if (c->op->any_nan)
        crn_assert_images_equal_but_nans(&c->out, &c->expected, what);
    else
        crn_assert_images_equal(&c->out, &c->expected, what);
}

void crn_parity_compare(const crn_parity_case *c, const char *what)
{
    if (c->op->compare)
        c->op->compare(c, what);
    else
        crn_parity_compare_bytes(c, what);
}

void crn_parity_expect(crn_parity_case *c, const crn_ops *ops, int32_t threads)
{
    if (c->op->kind == CRN_PARITY_CONTOURS) {
        static crn_contours store;
        if (!store.points)
            store = crn_contours_buffer(1 << 22, 1 << 20);
        c->contours = store;
    } else {
        free(c->expected.data);
        crn_layout layout = c->layout ? (crn_layout)c->layout : CRN_CHW;
        c->out =
            crn_image_dense(NULL, c->out.type, layout, c->out.planes, c->out.height, c->out.width);
        c->out.data = malloc(crn_image_elements(&c->out) * crn_type_bytes(c->out.type));
        assert_non_null(c->out.data);
        c->expected = c->out;
    }
    operators_check_result(crn_parity_call(ops, operator_contexts[threads], c), c->what);
    assert_false(c->contours.truncated);
    c->expected_contours = c->contours;
    c->expected_contours.point_capacity = c->contours.point_count;
    c->expected_contours.contour_capacity = c->contours.contour_count;
}

void crn_parity_truncate(crn_parity_case *c, uint32_t points, uint32_t contours)
{
    crn_contours *e = &c->expected_contours;
    uint32_t count = 0, point_count = 0;
    while (count < e->contour_count && count < contours &&
           point_count + e->contours[count].count <= points)
        point_count += e->contours[count++].count;
    e->truncated = e->truncated || count < e->contour_count;
    e->contour_count = count;
    e->point_count = point_count;
    e->contour_capacity = contours;
    e->point_capacity = points;
}

void crn_parity_check(crn_parity_case *c, const crn_ops *ops, int32_t threads)
{
    char what[TEXT_BYTES];
    snprintf(what, sizeof what, "%s | %s, %d threads", c->what, ops->name, threads);
    crn_parity_run(c, ops, NULL, operator_contexts[threads], what);
    crn_parity_compare(c, what);
    check_memory(c, what);
}

void crn_parity_check_threads(crn_parity_case *c)
{
    char what[TEXT_BYTES];
    for (int32_t threads = 1; threads <= OPERATOR_THREADS_MAX; threads++) {
        snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
        crn_parity_run(c, crn_parity_openmp(), NULL, operator_contexts[threads], what);
        crn_parity_compare_bytes(c, what);
        check_memory(c, what);
    }
}

void crn_parity_check_with(crn_parity_case *c, const crn_parity_variant *variant)
{
    char what[TEXT_BYTES];
    snprintf(what, sizeof what, "%s | %s, %s", c->what, operator_target_names[variant->target],
             variant->text);
    crn_parity_run(c, NULL, variant, operator_contexts[1], what);
    crn_parity_compare(c, what);
    if (c->op->compare && variant->is_split)
        crn_assert_images_equal_but_nans(&c->out, &c->whole, what);
    if (c->op->compare && !variant->is_split) {
        free(c->whole.data);
        c->whole = crn_image_copy(&c->out);
    }
    check_memory(c, what);
}

crn_parity_variant crn_parity_pick_variant(crn_parity_case *c, crn_target target, int32_t number)
{
    crn_parity_variant variant = {.target = target, .is_split = number % 2};
    c->op->pick_variant(c, target, number, &variant);
    return variant;
}

void crn_parity_end(crn_parity_case *c)
{
    if (c->in_copy)
        crn_guarded_check_same(&c->in_memory, c->in_copy, c->what);
    free_output(c);
    crn_guarded_free(&c->in_memory);
    crn_guarded_free(&c->arrays[0]);
    crn_guarded_free(&c->arrays[1]);
    free(c->in_copy);
    free(c->expected.data);
    free(c->whole.data);
    free(c->extra);
}
