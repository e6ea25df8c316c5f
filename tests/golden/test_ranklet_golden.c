/* The ranklet operators against counting all pairs (ranklet.bin, by make_ranklet.py). */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/golden_file.h"

/* One case of the file; owns copies of the arrays. */
typedef struct ranklet_golden_case {
    char name[33];
    crn_image image, wanted;
    crn_ranklet_params params;
} ranklet_golden_case;

static ranklet_golden_case read_case(golden_file *file)
{
    ranklet_golden_case c = {.name = ""};
    golden_read(file, c.name, 32);
    int32_t fields[7]; /* planes, height, width, type, layout, window's width and height */
    golden_read(file, fields, sizeof fields);
    int32_t height = fields[1], width = fields[2];
    c.params = (crn_ranklet_params){fields[5], fields[6]};
    c.image =
        golden_image(file, (crn_type)fields[3], (crn_layout)fields[4], fields[0], height, width);
    c.wanted = golden_image(file, CRN_F32, CRN_CHW, 3 * fields[0], height - fields[6] + 1,
                            width - fields[5] + 1);
    return c;
}

static void try_case(golden_file *file, const golden_backend *backend, uint32_t number)
{
    ranklet_golden_case c = read_case(file);
    char what[100];
    snprintf(what, sizeof what, "%s (%s), case %u", c.name, backend->name, number);
    crn_image out = golden_result(&c.wanted);
    assert_int_equal(backend->ops->ranklet(backend->context, &c.params, &c.image, &out), 0);
    crn_assert_images_equal(&out, &c.wanted, what);
    free(out.data);
    free(c.image.data);
    free(c.wanted.data);
}

static const golden_cases cases = {CRN_TEST_DATA "/golden/ranklet.bin", "CRNR", 50, try_case};

static void test_serial_counts_all_pairs(void **state)
{
    (void)state;
    golden_try_serial(&cases);
}

static void test_openmp_counts_all_pairs(void **state)
{
    (void)state;
    golden_try_openmp(&cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_counts_all_pairs),
        cmocka_unit_test(test_openmp_counts_all_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
