/* The morphology operators against what scipy.ndimage found (morphology.bin, by
 * make_morphology.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stages/element.h"

typedef struct reader {
    const uint8_t *bytes;
    size_t left;
} reader;

/* One case as the file holds it; arrays are copied, and the case owns them. */
typedef struct golden_case {
    crn_image image, wanted;
    crn_morphology_params params;
    uint8_t *members;
    float *heights;
} golden_case;

static const uint8_t *read_bytes(reader *r, size_t count)
{
    assert_true(count <= r->left);
    const uint8_t *bytes = r->bytes;
    r->bytes += count;
    r->left -= count;
    return bytes;
}

static void *read_copy(reader *r, size_t count)
{
    void *copy = malloc(count + 1);
    assert_non_null(copy);
    return memcpy(copy, read_bytes(r, count), count);
}

static crn_image read_image(reader *r, const int32_t *fields)
{
    crn_type type = (crn_type)fields[3];
    size_t elements = (size_t)fields[0] * (size_t)fields[1] * (size_t)fields[2];
    return crn_image_dense(read_copy(r, elements * crn_type_bytes(type)), type,
                           (crn_layout)fields[4], fields[2], fields[0], fields[1]);
}

/* Little-endian, as every machine that this runs on. The members stand there for every shape. */
static golden_case read_case(reader *r)
{
    int32_t fields[10];
    memcpy(fields, read_bytes(r, sizeof fields), sizeof fields);
    size_t pixels = (size_t)fields[7] * (size_t)fields[8];
    golden_case c = {.members = read_copy(r, pixels)};
    if (fields[9])
        c.heights = read_copy(r, pixels * sizeof *c.heights);
    c.image = read_image(r, fields);
    c.wanted = read_image(r, fields);
    c.params.operation = (crn_morphology_operation)fields[5];
    c.params.element = (crn_element){.shape = (crn_element_shape)fields[6],
                                     .width = fields[7],
                                     .height = fields[8],
                                     .heights = c.heights};
    if (c.params.element.shape == CRN_ELEMENT_PICTURE)
        c.params.element.members = c.members;
    return c;
}

static void free_case(golden_case *c)
{
    free(c->image.data);
    free(c->wanted.data);
    free(c->members);
    free(c->heights);
}

static void run_case(crn_morphology_fn *morph, crn_context *context, const golden_case *c,
                     uint32_t number)
{
    const crn_element *element = &c->params.element;
    for (int32_t y = 0; y < element->height; y++)
        for (int32_t x = 0; x < element->width; x++)
            assert_int_equal(crn_element_has(element, x, y), c->members[y * element->width + x]);
    size_t elements = (size_t)c->image.planes * (size_t)c->image.height * (size_t)c->image.width;
    size_t bytes = elements * crn_type_bytes(c->image.type);
    crn_image out = c->image;
    out.data = malloc(bytes);
    assert_non_null(out.data);
    assert_int_equal(morph(context, &c->params, &c->image, &out), 0);
    if (memcmp(out.data, c->wanted.data, bytes) != 0)
        fail_msg("case %u: type %d operation %d shape %d %d x %d%s differs", number, c->image.type,
                 c->params.operation, element->shape, element->width, element->height,
                 element->heights ? " non-flat" : "");
    free(out.data);
}

static void run_all(crn_morphology_fn *morph, int32_t threads)
{
    FILE *file = fopen(CRN_TEST_DATA "/golden/morphology.bin", "rb");
    assert_non_null(file);
    static uint8_t bytes[1 << 20];
    reader r = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_memory_equal(read_bytes(&r, 4), "CRNM", 4);
    uint32_t count;
    memcpy(&count, read_bytes(&r, 4), 4);
    assert_true(count > 200);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(threads, &context), 0);
    for (uint32_t i = 0; i < count; i++) {
        golden_case c = read_case(&r);
        run_case(morph, context, &c, i);
        free_case(&c);
    }
    assert_int_equal(r.left, 0);
    crn_context_free(&context);
}

static void test_serial_finds_what_scipy_finds(void **state)
{
    (void)state;
    run_all(crn_morphology_serial, 1);
}

static void test_openmp_finds_what_scipy_finds(void **state)
{
    (void)state;
    run_all(crn_morphology_openmp, 1);
    run_all(crn_morphology_openmp, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_finds_what_scipy_finds),
        cmocka_unit_test(test_openmp_finds_what_scipy_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
