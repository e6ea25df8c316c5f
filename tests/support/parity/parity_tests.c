#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/context.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/operators/images.h"
#include "tests/support/parity/parity.h"

static const crn_ops *reference(const crn_parity_operator *op)
{
    return op->slow_serial ? crn_parity_openmp() : crn_parity_serial();
}

static void for_cases(const crn_parity_operator *op, uint32_t cases, bool square_sizes,
                      void (*check)(crn_parity_case *c))
{
    uint64_t seed = crn_random_seed();
    cases = crn_random_cases(cases);
    for (uint32_t i = 0; i < cases; i++) {
        crn_parity_case c = crn_parity_start(op, seed + i);
        c.square_sizes = square_sizes;
        op->make(&c);
        check(&c);
        crn_parity_end(&c);
    }
}

/* Leaves less capacity than there are points or contours. */
static bool truncate_at_random(crn_parity_case *c)
{
    uint32_t points = c->expected_contours.point_count;
    uint32_t contours = c->expected_contours.contour_count;
    if (!contours)
        return false;
    bool fewer_points = crn_random_once_in(&c->random, 2);
    crn_parity_truncate(c, crn_random_below(&c->random, fewer_points ? points : points + 1),
                        crn_random_below(&c->random, fewer_points ? contours + 1 : contours));
    assert_true(c->expected_contours.truncated);
    crn_parity_check(c, crn_parity_serial(), 1);
    return true;
}

static void check_openmp(crn_parity_case *c)
{
    crn_parity_expect(c, reference(c->op), 1);
    int32_t threads = crn_random_between(&c->random, 1, OPERATOR_THREADS_MAX);
    crn_parity_check(c, crn_parity_openmp(), threads);
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++)
        for (int32_t number = 0; number < c->op->variants; number++) {
            crn_parity_variant variant = crn_parity_pick_variant(c, target, number);
            crn_parity_check_with(c, &variant);
        }
    if (c->op->kind == CRN_PARITY_CONTOURS && truncate_at_random(c)) {
        uint32_t target = crn_random_below(&c->random, (uint32_t)crn_target_best() + 1);
        crn_parity_variant variant = crn_parity_pick_variant(
            c, (crn_target)target, crn_random_between(&c->random, 0, c->op->variants - 1));
        crn_parity_check_with(c, &variant);
    }
}

void test_openmp_is_serial(void **state)
{
    const crn_parity_operator *op = *state;
    for_cases(op, op->cases, false, check_openmp);
}

static void check_cuda(crn_parity_case *c)
{
    crn_parity_expect(c, reference(c->op), 1);
    crn_parity_check(c, crn_test_cuda_ops(), 1);
    if (c->op->kind == CRN_PARITY_CONTOURS && truncate_at_random(c))
        crn_parity_check(c, crn_test_cuda_ops(), 1);
}

void test_cuda_is_serial(void **state)
{
    const crn_parity_operator *op = *state;
    crn_test_cuda_ops();
    for_cases(op, op->cuda_cases, false, check_cuda);
}

void test_large_images_are_serial(void **state)
{
    const crn_parity_operator *op = *state;
    uint64_t seed = crn_random_seed();
    for (uint32_t number = 0;; number++) {
        crn_parity_case c = crn_parity_start(op, seed);
        c.random.state += number;
        if (!op->make_large(&c, number))
            return;
        crn_parity_expect(&c, op->compare ? crn_parity_openmp() : crn_parity_serial(), 1);
        crn_parity_check_threads(&c);
        crn_parity_end(&c);
    }
}

void test_cuda_is_openmp_on_large_images(void **state)
{
    const crn_parity_operator *op = *state;
    const crn_ops *cuda = crn_test_cuda_ops();
    uint64_t seed = crn_random_seed();
    for (uint32_t number = 0;; number++) {
        crn_parity_case c = crn_parity_start(op, seed);
        c.random.state += number;
        if (!op->make_cuda_large(&c, number))
            return;
        crn_parity_expect(&c, crn_parity_openmp(), OPERATOR_THREADS_MAX);
        crn_parity_check(&c, cuda, 1);
        uint32_t contours = c.expected_contours.contour_count / 2;
        if (contours > 2) {
            crn_parity_truncate(&c, c.expected_contours.contours[contours].first + 1, 2 * contours);
            crn_parity_check(&c, cuda, 1);
        }
        crn_parity_end(&c);
    }
}

/* --- contents of scratch memory: undefined (ops.h) --- */

/* Initial contents of memory before an operator runs; the last: random bytes. */
enum { ZEROS, PATTERN_A5, ONES, LOWEST, HIGHEST, RANDOM, FILLINGS };

static const uint8_t filling_bytes[] = {0x00, 0xa5, 0xff, 0x80, 0x7f};

enum { BLOCKS_MAX = 64 };

/* An allocator that fills its blocks. */
typedef struct filler {
    int filling;
    crn_random random;
} filler;

static void *take(void *owner, size_t bytes)
{
    filler *f = owner;
    uint8_t *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    if (f->filling != RANDOM)
        return memset(memory, filling_bytes[f->filling], bytes);
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++, word >>= 8) {
        if (i % 8 == 0)
            word = crn_random_next(&f->random);
        memory[i] = (uint8_t)word;
    }
    return memory;
}

static void give(void *owner, void *memory, size_t bytes)
{
    (void)owner;
    (void)bytes;
    free(memory);
}

/* Runs one variant with every filling; results of an operator with a tolerance are compared with
 * those of the first. */
static void check_scratch(crn_parity_case *c)
{
    static const crn_context_allocator allocator = {.take = take, .give = give};
    crn_parity_expect(c, crn_parity_openmp(), 1);
    int32_t number = crn_random_between(&c->random, 0, c->op->variants - 1);
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        crn_parity_variant variant = crn_parity_pick_variant(c, target, number);
        for (int filling = ZEROS; filling < FILLINGS; filling++) {
            char what[OPERATOR_CASE_BYTES + 150];
            snprintf(what, sizeof what, "%s | %s, %s, scratch memory filled by number %d", c->what,
                     operator_target_names[target], variant.text, filling);
            filler f = {filling, {target + UINT64_C(77)}};
            crn_context *context = NULL;
            assert_int_equal(crn_context_create_at(&allocator, &f, 1, &context), 0);
            crn_parity_run(c, NULL, &variant, context, what);
            if (c->op->compare && filling == ZEROS) {
                free(c->expected.data);
                c->expected = crn_image_copy(&c->out);
            }
            crn_parity_compare_bytes(c, what);
            crn_context_free(&context);
        }
    }
}

void test_scratch_contents_do_not_matter(void **state)
{
    const crn_parity_operator *op = *state;
    for_cases(op, op->scratch_cases, true, check_scratch);
}
