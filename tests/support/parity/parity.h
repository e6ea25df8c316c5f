/*
 * The parity harness: every variant of an openmp operator, and its CUDA operator, against the
 * serial one.
 *
 * A test program describes its operator (crn_parity_operator): how random parameters are chosen,
 * which variants there are, and the tolerance if results are not byte for byte those of serial.
 * Shapes, strides, values, guarded memory, seeds, threads, scratch memory and views are the
 * harness's. Every run writes into new guarded memory with other strides.
 */
#ifndef CRN_TESTS_SUPPORT_PARITY_H
#define CRN_TESTS_SUPPORT_PARITY_H

#include "stages/openmp/contours/contours.h"
#include "stages/openmp/convolve/convolve.h"
#include "stages/openmp/diamond_square/diamond_square.h"
#include "stages/openmp/haar/haar.h"
#include "stages/openmp/morphology/morphology.h"
#include "stages/openmp/ranklet/ranklet.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/guarded.h"
#include "tests/support/operators/operator_tests.h"

typedef enum crn_parity_kind {
    CRN_PARITY_CONTOURS,
    CRN_PARITY_MORPHOLOGY,
    CRN_PARITY_CONVOLVE,
    CRN_PARITY_HAAR,
    CRN_PARITY_RANKLET,
    CRN_PARITY_DIAMOND_SQUARE,
} crn_parity_kind;

typedef union crn_parity_params {
    crn_contours_params contours;
    crn_morphology_params morphology;
    crn_convolve_params convolve;
    crn_haar_params haar;
    crn_ranklet_params ranklet;
    crn_diamond_square_params diamond_square;
} crn_parity_params;

typedef struct crn_parity_variant {
    union {
        crn_contours_variant contours;
        crn_morphology_variant morphology;
        crn_convolve_variant convolve;
        crn_haar_variant haar;
        crn_ranklet_variant ranklet;
        crn_diamond_square_variant diamond_square;
    };
    crn_target target;
    bool is_split;
    char text[96]; /* for messages */
} crn_parity_variant;

/* Distribution of random values: from `low` (inclusive) to `high`. */
typedef struct crn_parity_values {
    double low, high;         /* both 0: the range of an integer type, 0 to 1 of floats */
    uint32_t steps;           /* number of distinct values; 0: continuous */
    uint32_t wavelength;      /* in pixels, of a wave with little noise; 0: noise alone */
    bool checkered;           /* neighbours differ by half the range */
    bool rising, capped;      /* with steps: rises along rows; has the row as its maximum */
    uint32_t nan_once_in;     /* f16, f32; 0: never */
    uint32_t special_once_in; /* ends of integer types; infinities, NaN, subnormals, -0 */
    bool without_huge;        /* no special values near the type's maximum */
} crn_parity_values;

typedef struct crn_parity_shape {
    int32_t planes, height, width;
} crn_parity_shape;

typedef struct crn_parity_operator crn_parity_operator;

/* One image, or shape of image, with parameters; and the expected result. */
typedef struct crn_parity_case {
    const crn_parity_operator *op;
    uint64_t seed;
    crn_random random;
    crn_parity_params params;
    crn_parity_values values;
    int32_t layout;       /* a crn_layout: dense images; 0: any strides */
    int32_t row_multiple; /* with a layout: rows start at multiples of so many elements; or 0 */
    int32_t views;        /* on a device at once */
    bool square_sizes;    /* shapes with sides up to 150, as scratch memory is best tested with */
    crn_image in;         /* planes 0: the operator has no input */
    crn_image out;        /* type and size are given; memory and strides are those of a run */
    crn_image expected;   /* dense; owns its memory, as does the result of the last even variant: */
    crn_image whole;
    crn_contours contours, expected_contours; /* instead of `out` and `expected` */
    crn_guarded in_memory, out_memory[2], arrays[2];
    void *in_copy;
    void *extra; /* the operator's, freed with the case */
    char what[OPERATOR_CASE_BYTES];
} crn_parity_case;

struct crn_parity_operator {
    crn_parity_kind kind;
    uint32_t cases, cuda_cases, scratch_cases;

    /* Makes a case from c->random: parameters, crn_parity_make_in, crn_parity_set_out,
     * crn_parity_describe. */
    void (*make)(crn_parity_case *c);

    /* Picks variant `number` for an instruction set. Even numbers: all work at once; odd ones: the
     * preceding one split at random, which must not change a byte. */
    int32_t variants;
    void (*pick_variant)(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant);

    /* Fails the test unless c->out is within the tolerance of c->expected; NULL: equal bytes. */
    void (*compare)(const crn_parity_case *c, const char *what);
    bool any_nan; /* all NaNs are equal */

    bool (*make_large)(crn_parity_case *c, uint32_t number);      /* false: there is none */
    bool (*make_cuda_large)(crn_parity_case *c, uint32_t number); /* too large for serial */
    bool (*make_views)(crn_parity_case *c, uint32_t number);      /* dense */
    bool slow_serial; /* the expected results are those of openmp */
};

/* --- for `make` --- */

/* A shape of one of many kinds, with sides of at least `least`. */
crn_parity_shape crn_parity_pick_shape(crn_parity_case *c, int32_t least);

/* Values of any distribution, of the whole range. */
crn_parity_values crn_parity_pick_values(crn_random *random);

/* Sets c->in to an image in guarded memory, with values from c->values. */
void crn_parity_make_in(crn_parity_case *c, crn_type type, crn_parity_shape shape);

/* Draws other values of the same distribution into c->in. */
void crn_parity_fill(crn_parity_case *c);

/* An image of that shape in guarded memory, laid out as the case says. */
crn_image crn_parity_make_image(crn_parity_case *c, crn_type type, crn_parity_shape shape,
                                crn_guarded *ret_memory);

void crn_parity_set_out(crn_parity_case *c, crn_type type, crn_parity_shape shape);

/* Guarded memory for a parameter array, at most two; freed with the case. */
void *crn_parity_array(crn_parity_case *c, size_t bytes);

__attribute__((format(printf, 2, 3))) void crn_parity_describe(crn_parity_case *c,
                                                               const char *format, ...);

/* --- steps of a test --- */

crn_parity_case crn_parity_start(const crn_parity_operator *op, uint64_t seed);

/* Checks that the input did not change, and frees the case. */
void crn_parity_end(crn_parity_case *c);

/* Sets the expected result to that of a backend. */
void crn_parity_expect(crn_parity_case *c, const crn_ops *ops, int32_t threads);

/* Lowers the capacity of the following results, and cuts the expected contours to it. */
void crn_parity_truncate(crn_parity_case *c, uint32_t points, uint32_t contours);

/* Runs a backend's operator, or a variant of openmp's; compares, and checks the guards. */
void crn_parity_check(crn_parity_case *c, const crn_ops *ops, int32_t threads);
void crn_parity_check_with(crn_parity_case *c, const crn_parity_variant *variant);
crn_parity_variant crn_parity_pick_variant(crn_parity_case *c, crn_target target, int32_t number);

/* Runs openmp with every number of threads: the bytes must be those expected. */
void crn_parity_check_threads(crn_parity_case *c);

/* The single steps. variant NULL: ops' operator. crn_parity_call: without new memory. */
void crn_parity_run(crn_parity_case *c, const crn_ops *ops, const crn_parity_variant *variant,
                    crn_context *context, const char *what);
int crn_parity_call(const crn_ops *ops, crn_context *context, crn_parity_case *c);
void crn_parity_compare(const crn_parity_case *c, const char *what);
void crn_parity_compare_bytes(const crn_parity_case *c, const char *what);

const crn_ops *crn_parity_serial(void);
const crn_ops *crn_parity_openmp(void);

/* --- invalid arguments --- */

/* Valid arguments of an operator, and what makes them invalid. */
typedef struct crn_parity_refusals {
    crn_parity_kind kind;
    crn_type in_type, out_type, unsupported; /* unsupported: of the input */
    crn_parity_shape in_shape, out_shape;
    crn_parity_params valid;
    const crn_parity_params *invalid;
    size_t count;
    const crn_parity_shape *invalid_shapes; /* of the input */
    size_t shape_count;
} crn_parity_refusals;

/* Serial and openmp must refuse each invalid image, shape and set of parameters with -EINVAL, and
 * leave the result as it was. */
void crn_parity_check_refusals(const crn_parity_refusals *refusals);

/* --- tests: cmocka_unit_test_prestate with the operator --- */

void test_openmp_is_serial(void **state);
void test_large_images_are_serial(void **state); /* and do not depend on the threads */
void test_scratch_contents_do_not_matter(void **state);
void test_cuda_is_serial(void **state);
void test_cuda_is_openmp_on_large_images(void **state);
void test_cuda_views_in_a_graph(void **state);

#endif
