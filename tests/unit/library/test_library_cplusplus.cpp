/*
 * The public headers in C++17, against the shared library: it compiles without warnings, and what it exports
 * suffices.
 */
#include <cernita.h>
#include <cernita_surface.h>

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

static void views_become_a_surface(void **)
{
    crn_context *context = nullptr;
    crn_surface *surface = nullptr;
    const crn_surface_fruit *fruit = nullptr;
    const crn_defects nothing = {};
    crn_surface_settings settings = {};
    settings.classes = settings.views = 1;
    settings.defects = settings.points = 16;
    crn_surface_view view = {};
    view.pose.rx = view.pose.ry = 10;
    view.mm_per_px = 2;
    view.defects = &nothing;
    assert_int_equal(crn_context_open(nullptr, &context), 0);
    assert_int_equal(crn_surface_open(context, &settings, &surface), 0);
    assert_int_equal(crn_surface_measure(surface, &view, 1, &fruit), 0);
    assert_true(fruit->diameter_mm == 40);
    crn_surface_free(&surface);
    crn_context_free(&context);
    assert_null(surface);
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
        cmocka_unit_test(views_become_a_surface),
        cmocka_unit_test(errors_have_a_text),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
