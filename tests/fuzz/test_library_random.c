/*
 * Random calls of cernita.h, most of them wrong in some way: each is done, or refused with a text.
 * Pictures lie in memory of exactly their size, so that the address sanitizer sees what is read or
 * written beside them. CRN_CASES is the number of calls (20000 by default), CRN_SEED the seed.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/cernita.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

#define LINE_FILE CRN_TEST_DATA "/../config/line-full.yaml"
#define SIDE_MAX  64
#define CLASSES   12

static const float odd_values[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e38f, 1e-45f,
                                   -1,  0,        0.5f,      1,     2,     255};
static const int32_t sides[] = {-1, 0, 1, 1, 2, 2, 3, 5, 8, 16, 17, 31, 33, SIDE_MAX};

#define PICK(random, table) (table)[crn_random_below(random, sizeof(table) / sizeof *(table))]

/* What one call gets. */
typedef struct call {
    crn_random random;
    crn_context *context;
    crn_chain *chain;
    crn_image in, out;
    bool usable; /* `in` is an image */
} call;

static size_t bytes_of(const crn_image *image)
{
    size_t each = image->type == CRN_U8    ? 1
                  : image->type == CRN_F32 ? 4
                  : image->type == CRN_F64 ? 8
                                           : 2;
    return (size_t)image->planes * (size_t)image->height * (size_t)image->width * each;
}

/* Memory of exactly the image's size, with odd values in it. */
static void fill(call *it, crn_image *image)
{
    size_t bytes = bytes_of(image);
    unsigned char *data = image->data = malloc(bytes ? bytes : 1);
    assert_non_null(data);
    for (size_t i = 0; i + 3 < bytes; i += 4) {
        float value = PICK(&it->random, odd_values);
        memcpy(data + i, &value, sizeof value);
    }
    for (size_t i = bytes / 4 * 4; i < bytes; i++)
        data[i] = (unsigned char)crn_random_next(&it->random);
    for (size_t i = 0; image->type != CRN_F32 && i < bytes; i++)
        data[i] = (unsigned char)crn_random_next(&it->random);
}

/* An image that may be none; upside down at times. */
static void make_in(call *it)
{
    crn_random *random = &it->random;
    crn_type type = crn_random_once_in(random, 8) ? (crn_type)crn_random_between(random, -1, 6)
                                                  : (crn_type)crn_random_between(random, 1, 5);
    crn_layout layout = (crn_layout)crn_random_between(random, 1, 2);
    int32_t planes = crn_random_between(random, 0, 3), height = PICK(random, sides);
    int32_t width = PICK(random, sides);
    it->usable = planes > 0 && height > 0 && width > 0;
    if (!it->usable) {
        it->in = (crn_image){malloc(1), type, planes, height, width, 1, 1, 1};
        return;
    }
    it->in = crn_image_dense(NULL, type, layout, planes, height, width);
    fill(it, &it->in);
}

static void make_out(call *it, crn_type type, int32_t planes, int32_t height, int32_t width)
{
    crn_layout layout = (crn_layout)crn_random_between(&it->random, 1, 2);
    if (planes < 1 || height < 1 || width < 1) {
        it->out = (crn_image){malloc(1), type, planes, height, width, 1, 1, 1};
        return;
    }
    it->out = crn_image_dense(NULL, type, layout, planes, height, width);
    fill(it, &it->out);
    if (crn_random_once_in(&it->random, 8)) { /* from the last row up */
        size_t last = (size_t)(height - 1) * (size_t)it->out.row_stride;
        it->out.data = (char *)it->out.data + last * (bytes_of(&it->out) / (size_t)planes /
                                                      (size_t)height / (size_t)width);
        it->out.row_stride = -it->out.row_stride;
    }
}

static void free_out(crn_image *out)
{
    char *data = out->data;
    if (out->row_stride < 0)
        data += (out->height - 1) * out->row_stride *
                (ptrdiff_t)(bytes_of(out) / (size_t)out->planes / (size_t)out->height /
                            (size_t)out->width);
    free(data);
}

/* --- calls --- */

static int find_contours(call *it)
{
    crn_random *random = &it->random;
    double levels[3];
    crn_point points[64];
    crn_contour contours[16];
    crn_contours found = {.points = points, .contours = contours};
    found.point_capacity = crn_random_below(random, 65);
    found.contour_capacity = crn_random_below(random, 17);
    for (int i = 0; i < 3; i++)
        levels[i] = (double)PICK(random, odd_values);
    crn_contours_params params = {levels, NULL, (crn_connectivity)crn_random_between(random, 0, 1),
                                  (crn_orientation)crn_random_between(random, 0, 1),
                                  (crn_border)crn_random_between(random, 0, 2)};
    int r = crn_find_contours(it->context, &params, &it->in, &found);
    if (r == 0)
        assert_true(found.point_count <= found.point_capacity &&
                    found.contour_count <= found.contour_capacity);
    return r;
}

static int morphology(call *it)
{
    crn_random *random = &it->random;
    uint8_t members[25];
    float heights[25];
    for (int i = 0; i < 25; i++) {
        members[i] = (uint8_t)crn_random_below(random, 2);
        heights[i] = crn_random_once_in(random, 40) ? PICK(random, odd_values) : (float)(i % 9);
    }
    crn_morphology_params params = {.operation =
                                        (crn_morphology_operation)crn_random_between(random, 0, 7)};
    params.element.shape = (crn_element_shape)crn_random_between(random, 0, 4);
    params.element.width = crn_random_between(random, 0, 5);
    params.element.height = crn_random_between(random, 0, 5);
    params.element.members = params.element.shape == CRN_ELEMENT_PICTURE ? members : NULL;
    params.element.heights = crn_random_once_in(random, 2) ? heights : NULL;
    make_out(it, it->in.type, it->in.planes, it->in.height, it->in.width);
    return crn_morphology(it->context, &params, &it->in, &it->out);
}

static int convolve(call *it)
{
    crn_random *random = &it->random;
    float weights[25];
    for (int i = 0; i < 25; i++)
        weights[i] = crn_random_once_in(random, 100) ? PICK(random, odd_values) : 1;
    crn_convolve_params params = {weights, crn_random_between(random, 0, 5),
                                  crn_random_between(random, 0, 5),
                                  (crn_convolve_border)crn_random_between(random, 0, 4)};
    make_out(it, it->in.type, it->in.planes, it->in.height, it->in.width);
    return crn_convolve(it->context, &params, &it->in, &it->out);
}

static int haar(call *it)
{
    crn_random *random = &it->random;
    crn_haar_params params = {(crn_haar_direction)crn_random_between(random, 0, 3),
                              crn_random_between(random, -1, 5), PICK(random, odd_values),
                              crn_random_once_in(random, 2)};
    make_out(it, CRN_F32, it->in.planes, it->in.height, it->in.width);
    return crn_haar(it->context, &params, &it->in, &it->out);
}

static int ranklet(call *it)
{
    crn_ranklet_params params = {crn_random_between(&it->random, 0, 9),
                                 crn_random_between(&it->random, 0, 9)};
    make_out(it, CRN_F32, 3 * it->in.planes, it->in.height - params.height + 1,
             it->in.width - params.width + 1);
    return crn_ranklet(it->context, &params, &it->in, &it->out);
}

static int diamond_square(call *it)
{
    crn_random *random = &it->random;
    crn_diamond_square_params params = {crn_random_between(random, -1, 7), crn_random_next(random),
                                        (double)PICK(random, odd_values),
                                        crn_random_between(random, -2, 6),
                                        crn_random_between(random, -2, 6)};
    make_out(it, crn_random_once_in(random, 2) ? CRN_F32 : it->in.type, 1, it->in.height,
             it->in.width);
    return crn_diamond_square(it->context, &params, &it->out);
}

static int judge(call *it)
{
    const crn_defects *found;
    make_out(it, CRN_U8, 1, it->in.height, it->in.width); /* the photograph */
    crn_image maps = it->in;
    if (it->usable) {
        maps = crn_image_dense(NULL, it->in.type, CRN_HWC, CLASSES, it->in.height, it->in.width);
        fill(it, &maps);
    }
    const crn_image *photograph = crn_random_once_in(&it->random, 2) ? &it->out : NULL;
    int r = crn_chain_judge(it->chain, &maps, photograph, &found);
    for (uint32_t i = 0; r == 0 && i < found->defect_count; i++)
        assert_in_range(found->defects[i].channel, 0, CLASSES - 1);
    if (it->usable)
        free(maps.data);
    return r;
}

static int (*const calls[])(call *) = {find_contours, morphology,     convolve, haar,
                                       ranklet,       diamond_square, judge};

static void open_context(call *it)
{
    crn_context_settings settings = {.backend = (crn_backend)crn_random_between(&it->random, 0, 2)};
    assert_int_equal(crn_context_open(&settings, &it->context), 0);
    if (crn_chain_open(it->context, LINE_FILE, &it->chain) != 0)
        fail_msg("%s", crn_context_error(it->context));
}

static void each_call_is_done_or_refused_with_a_text(void **state)
{
    (void)state;
    call it = {.random = {crn_random_seed()}};
    uint32_t cases = crn_random_cases(20000), done = 0;
    for (uint32_t i = 0; i < cases; i++) {
        if (i % 1000 == 0) {
            crn_chain_free(&it.chain);
            crn_context_free(&it.context);
            open_context(&it);
        }
        uint32_t which = crn_random_below(&it.random, sizeof calls / sizeof *calls);
        it.out = (crn_image){0};
        make_in(&it);
        int r = calls[which](&it);
        const char *text = crn_context_error(it.context);
        if ((r != 0 && r != -EINVAL) || (r == 0) != (text[0] == '\0') || strchr(text, '\n'))
            fail_msg("case %" PRIu32 ", call %" PRIu32 ": %d, '%s'", i, which, r, text);
        done += r == 0;
        free_out(&it.out);
        free(it.in.data);
    }
    crn_chain_free(&it.chain);
    crn_context_free(&it.context);
    assert_in_range(done, cases / 20, cases - cases / 20); /* neither all nor none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_is_done_or_refused_with_a_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
