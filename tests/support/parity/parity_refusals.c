#include <errno.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

/* Serial and openmp must refuse the arguments, and leave the result as it was. */
static void check_refused(crn_parity_case *c)
{
    const crn_ops *const all[] = {crn_parity_serial(), crn_parity_openmp()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        c->contours = (crn_contours){.point_count = 3, .contour_count = 4, .truncated = true};
        void *before = c->out_memory[0].map ? crn_guarded_copy(&c->out_memory[0]) : NULL;
        int r = crn_parity_call(all[i], operator_contexts[2], c);
        if (r != -EINVAL)
            fail_msg("%s, %s: %d instead of -EINVAL", all[i]->name, c->what, r);
        assert_true(c->contours.point_count == 3 && c->contours.contour_count == 4);
        assert_true(c->contours.truncated);
        if (before)
            crn_guarded_check_same(&c->out_memory[0], before, c->what);
        free(before);
    }
}

/* False if there are no more faults. */
static bool spoil_images(crn_parity_case *c, int number, crn_type unsupported)
{
    switch (number) {
    case 0:
        c->out.type = c->out.type == c->in.type ? unsupported : c->out.type;
        c->in.type = unsupported;
        return true;
    case 1:
        c->in.data = NULL;
        return true;
    case 2:
        c->in.planes = c->out.planes = 0;
        return true;
    case 3:
        c->in.height = c->out.height = 0;
        return true;
    case 4:
        c->in.width = c->out.width = -1;
        return true;
    case 5:
        c->out.type = c->out.type == CRN_F32 ? CRN_U8 : CRN_F32;
        break;
    case 6:
        c->out.data = NULL;
        break;
    case 7:
        c->out.planes++;
        break;
    case 8:
        c->out.height--;
        break;
    case 9:
        c->out.width++;
        break;
    default:
        return false;
    }
    return c->op->kind != CRN_PARITY_CONTOURS;
}

void crn_parity_check_refusals(const crn_parity_refusals *r)
{
    const crn_parity_operator op = {.kind = r->kind};
    crn_parity_case c = crn_parity_start(&op, 1);
    c.params = r->valid;
    crn_parity_make_in(&c, r->in_type, r->in_shape);
    if (r->kind != CRN_PARITY_CONTOURS)
        c.out = crn_parity_make_image(&c, r->out_type, r->out_shape, &c.out_memory[0]);
    assert_int_equal(crn_parity_call(crn_parity_serial(), operator_contexts[2], &c), 0);
    assert_int_equal(crn_parity_call(crn_parity_openmp(), operator_contexts[2], &c), 0);
    crn_parity_case spoilt = c;
    for (int i = 0; spoil_images(&spoilt, i, r->unsupported); i++, spoilt = c) {
        crn_parity_describe(&spoilt, "image fault %d", i);
        check_refused(&spoilt);
    }
    for (size_t i = 0; i < r->count; i++, spoilt = c) {
        spoilt.params = r->invalid[i];
        if (r->kind == CRN_PARITY_RANKLET) { /* so that only the window is wrong */
            spoilt.out.height = c.in.height - spoilt.params.ranklet.height + 1;
            spoilt.out.width = c.in.width - spoilt.params.ranklet.width + 1;
        }
        crn_parity_describe(&spoilt, "parameters %zu", i);
        check_refused(&spoilt);
    }
    for (size_t i = 0; i < r->shape_count; i++, spoilt = c) {
        spoilt.in.height = spoilt.out.height = r->invalid_shapes[i].height;
        spoilt.in.width = spoilt.out.width = r->invalid_shapes[i].width;
        crn_parity_describe(&spoilt, "shape %zu", i);
        check_refused(&spoilt);
    }
    crn_parity_end(&c);
}
