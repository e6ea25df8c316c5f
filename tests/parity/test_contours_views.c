/* Contours of several views at once, called directly and as a captured graph, against openmp for
 * each view. */
#include <math.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

static bool make_views(crn_parity_case *c, uint32_t i)
{
    static const struct {
        int32_t views;
        crn_parity_shape shape;
    } cases[] = {
        {2, {12, 30, 61}}, {5, {3, 7, 40}}, {8, {60, 9, 5}}, {3, {1, 64, 200}}, {2, {2, 300, 500}}};
    if (i == sizeof cases / sizeof *cases)
        return false;
    crn_parity_shape shape = cases[i].shape;
    c->views = cases[i].views;
    c->layout = i & 1 ? CRN_CHW : CRN_HWC;
    c->values = (crn_parity_values){.nan_once_in = 200};
    crn_parity_make_in(c, CRN_F32, shape);
    double *levels = crn_parity_array(c, (size_t)shape.planes * sizeof *levels);
    for (int32_t plane = 0; plane < shape.planes; plane++)
        levels[plane] = plane % 5 == 3 ? (double)NAN : 0.9;
    c->params.contours = (crn_contours_params){.levels = levels, .border = CRN_BORDER_CLOSED};
    crn_parity_describe(c, "%d views", c->views);
    return true;
}

static crn_parity_operator contours = {.kind = CRN_PARITY_CONTOURS, .make_views = make_views};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &contours),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}
