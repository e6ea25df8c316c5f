/* The contours operators against scikit-image (contours.bin, by make_contours.py). */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/contours_buffer.h"
#include "tests/support/operators/golden_file.h"

#define PLANES_MAX 64

/* One case of the file; owns copies of the arrays that need alignment. */
typedef struct contours_golden_case {
    char name[33];
    crn_image image;
    crn_contours_params params;
    double levels[PLANES_MAX];
    bool segments_only;
    int32_t result;
    crn_contours wanted;
} contours_golden_case;

static void read_wanted(golden_file *file, contours_golden_case *c, uint32_t count)
{
    c->wanted.contours = calloc((size_t)count + 1, sizeof *c->wanted.contours);
    assert_non_null(c->wanted.contours);
    for (uint32_t i = 0; i < count; i++) {
        int32_t fields[3];
        golden_read(file, fields, sizeof fields);
        c->wanted.contours[i] =
            (crn_contour){fields[0], fields[1] != 0, c->wanted.point_count, (uint32_t)fields[2]};
        c->wanted.point_count += (uint32_t)fields[2];
    }
    c->wanted.contour_count = count;
    c->wanted.points = golden_copy(file, c->wanted.point_count * sizeof(crn_point));
}

static void read_case(golden_file *file, contours_golden_case *ret_case)
{
    contours_golden_case c = {.result = 0};
    golden_read(file, c.name, 32);
    int32_t fields[12];
    golden_read(file, fields, sizeof fields);
    int32_t height = fields[0], width = fields[1], planes = fields[2];
    assert_true(planes >= 1 && planes <= PLANES_MAX);
    golden_read(file, c.levels, (size_t)planes * 8);
    size_t pixels = (size_t)height * (size_t)width;
    c.image = golden_image(file, (crn_type)fields[3], (crn_layout)fields[4], planes, height, width);
    c.params.connectivity = (crn_connectivity)fields[5];
    c.params.orientation = (crn_orientation)fields[6];
    c.params.border = (crn_border)fields[7];
    c.params.mask = fields[8] ? golden_copy(file, pixels) : NULL;
    c.segments_only = fields[9];
    c.result = fields[10];
    read_wanted(file, &c, (uint32_t)fields[11]);
    *ret_case = c;
}

static void free_case(contours_golden_case *c)
{
    free(c->image.data);
    free((void *)(uintptr_t)c->params.mask);
    crn_contours_buffer_free(&c->wanted);
}

static void run_case(const golden_backend *backend, contours_golden_case *c)
{
    c->params.levels = c->levels;
    crn_contours out =
        crn_contours_buffer(c->wanted.point_count + 1000, c->wanted.contour_count + 1000);
    out.point_count = out.contour_count = 7;
    out.truncated = true;
    char what[80];
    snprintf(what, sizeof what, "%s (%s)", c->name, backend->name);
    int r = backend->ops->contours(backend->context, &c->params, &c->image, &out);
    if (r != c->result)
        fail_msg("%s: returned %d, wanted %d", what, r, c->result);
    if (r < 0)
        assert_true(out.point_count == 7 && out.contour_count == 7 && out.truncated);
    else if (c->segments_only)
        crn_assert_segments_equal(&out, &c->wanted, what);
    else
        crn_assert_contours_equal(&out, &c->wanted, what);
    crn_contours_buffer_free(&out);
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    (void)number;
    contours_golden_case c;
    read_case(file, &c);
    run_case(backend, &c);
    free_case(&c);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/contours.bin", "CRNG", 100, try_case};

static void test_serial_finds_what_skimage_finds(void **state)
{
    (void)state;
    golden_try_serial(&cases);
}

static void test_openmp_finds_what_skimage_finds(void **state)
{
    (void)state;
    golden_try_openmp(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_finds_what_skimage_finds),
        cmocka_unit_test(test_openmp_finds_what_skimage_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
