/*
 * cernita.h in C++17, against the shared library: it compiles without warnings, and what it exports
 * suffices.
 */
#include <cernita.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static void contours_are_found(void **)
{
    crn_context *context = nullptr;
    assert_int_equal(crn_context_open(nullptr, &context), 0);
    std::vector<float> picture(5 * 5, 0.0F);
    picture[12] = 1;
    const double level = 0.5;
    crn_contours_params params = {};
    params.levels = &level;
    std::vector<crn_point> points(16);
    std::vector<crn_contour> contours(4);
    crn_contours found = {};
    found.points = points.data();
    found.contours = contours.data();
    found.point_capacity = 16;
    found.contour_capacity = 4;
    crn_image image = crn_image_dense(picture.data(), CRN_F32, CRN_CHW, 1, 5, 5);
    assert_int_equal(crn_find_contours(context, &params, &image, &found), 0);
    assert_int_equal(found.contour_count, 1);
    assert_int_equal(found.point_count, 5);
    crn_context_free(&context);
    assert_null(context);
}

static void errors_have_a_text(void **)
{
    crn_context *context = nullptr;
    crn_chain *chain = nullptr;
    assert_int_equal(crn_context_open(nullptr, &context), 0);
    assert_true(crn_chain_open(context, "/nowhere.yaml", &chain) < 0);
    assert_non_null(std::strstr(crn_context_error(context), "/nowhere.yaml"));
    assert_null(crn_backend_missing(CRN_BACKEND_OPENMP));
    crn_chain_free(&chain);
    crn_context_free(&context);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(contours_are_found),
        cmocka_unit_test(errors_have_a_text),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
