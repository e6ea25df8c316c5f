/* The morphology operators against scipy.ndimage (morphology.bin, by make_morphology.py). */
#include <stdio.h>
#include <stdlib.h>

#include "stages/kernel/element.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/golden_file.h"

/* One case of the file; owns copies of the arrays. */
typedef struct morphology_golden_case {
    crn_image image, wanted;
    crn_morphology_params params;
    uint8_t *members;
    float *heights;
} morphology_golden_case;

static crn_image read_image(golden_file *file, const int32_t *fields)
{
    return golden_image(file, (crn_type)fields[3], (crn_layout)fields[4], fields[2], fields[0],
                        fields[1]);
}

/* The file lists the members for every shape. */
static morphology_golden_case read_case(golden_file *file)
{
    int32_t fields[10];
    golden_read(file, fields, sizeof fields);
    size_t pixels = (size_t)fields[7] * (size_t)fields[8];
    morphology_golden_case c = {.members = golden_copy(file, pixels)};
    if (fields[9])
        c.heights = golden_copy(file, pixels * sizeof *c.heights);
    c.image = read_image(file, fields);
    c.wanted = read_image(file, fields);
    c.params.operation = (crn_morphology_operation)fields[5];
    c.params.element = (crn_element){.shape = (crn_element_shape)fields[6],
                                     .width = fields[7],
                                     .height = fields[8],
                                     .heights = c.heights};
    if (c.params.element.shape == CRN_ELEMENT_PICTURE)
        c.params.element.members = c.members;
    return c;
}

static void free_case(morphology_golden_case *c)
{
    free(c->image.data);
    free(c->wanted.data);
    free(c->members);
    free(c->heights);
}

static void run_case(const golden_backend *backend, const morphology_golden_case *c,
                     uint32_t number)
{
    const crn_element *element = &c->params.element;
    for (int32_t y = 0; y < element->height; y++)
        for (int32_t x = 0; x < element->width; x++)
            assert_int_equal(crn_element_has(element, x, y), c->members[y * element->width + x]);
    char what[120];
    snprintf(what, sizeof what, "%s, case %u: operation %d shape %d %d x %d%s", backend->name,
             number, c->params.operation, element->shape, element->width, element->height,
             element->heights ? " non-flat" : "");
    crn_image out = golden_result(&c->image);
    assert_int_equal(backend->ops->morphology(backend->context, &c->params, &c->image, &out), 0);
    crn_assert_images_equal(&out, &c->wanted, what);
    free(out.data);
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    morphology_golden_case c = read_case(file);
    run_case(backend, &c, number);
    free_case(&c);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/morphology.bin", "CRNM", 200, try_case};

static void test_serial_finds_what_scipy_finds(void **state)
{
    (void)state;
    golden_try_serial(&cases);
}

static void test_openmp_finds_what_scipy_finds(void **state)
{
    (void)state;
    golden_try_openmp(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_finds_what_scipy_finds),
        cmocka_unit_test(test_openmp_finds_what_scipy_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
