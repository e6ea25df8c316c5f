/*
 * Shared by the files of the morphology operator.
 *
 *   morphology.cu           the entry: selects the kernel
 *   tile.cuh                tiles: how images are split, loaded and stored
 *   words.cuh               a tile's layout between passes
 *   rect.cu                 rectangles, in one launch
 *   chords.cu               other elements, in one launch (with plan.cu)
 *   general.cu              any strides, any element, pass by pass over dense copies
 *
 * All kernels compute minima: a dilation is the erosion of the complement (of v: 255 - v, or -v) by
 * the reflected element, complemented. So the neutral value, which stands for pixels outside the
 * image and for NaN, is 255 or +inf everywhere. The sign of a zero affects nothing but itself, so
 * -0 becomes +0 where results are stored, and only there.
 */
#ifndef CRN_GPU_MORPHOLOGY_MORPHOLOGY_CUH
#define CRN_GPU_MORPHOLOGY_MORPHOLOGY_CUH

#include "gpu/device.cuh"

/* How an operation is composed of erosions and dilations. */
typedef struct crn_morphology_recipe {
    bool dilates[2];  /* per step: a dilation, or an erosion? */
    int32_t steps;    /* 1, or 2: one after the other, or both on the input (parallel) */
    bool parallel;    /* the result is the second step minus the first */
    int32_t original; /* 1: the result minus the input; -1: the input minus the result; or 0 */
} crn_morphology_recipe;

static inline crn_morphology_recipe crn_morphology_recipe_of(crn_morphology_operation operation)
{
    crn_morphology_recipe recipe = {{false, false}, 1, false, 0};
    switch (operation) {
    case CRN_ERODE:
    case CRN_DILATE:
        recipe.dilates[0] = operation == CRN_DILATE;
        break;
    case CRN_OPEN:
    case CRN_TOPHAT:
        recipe.steps = 2;
        recipe.dilates[1] = true;
        recipe.original = operation == CRN_TOPHAT ? -1 : 0;
        break;
    case CRN_CLOSE:
    case CRN_BLACKHAT:
        recipe.steps = 2;
        recipe.dilates[0] = true;
        recipe.original = operation == CRN_BLACKHAT ? 1 : 0;
        break;
    case CRN_GRADIENT:
        recipe.steps = 2;
        recipe.dilates[1] = true;
        recipe.parallel = true;
        break;
    }
    return recipe;
}

/* The subtraction of the difference operations, and the final value as it is stored. */
static inline __device__ float crn_morphology_less(float a, float b)
{
    float d = a - b;
    return d == d ? d + 0.0f : __uint_as_float(0x7fc00000u);
}

static inline __device__ uint8_t crn_morphology_less(uint8_t a, uint8_t b)
{
    return a > b ? (uint8_t)(a - b) : (uint8_t)0;
}

static inline __device__ float crn_morphology_result(float v)
{
    return v + 0.0f;
}

static inline __device__ uint8_t crn_morphology_result(uint8_t v)
{
    return v;
}

static inline __device__ float crn_morphology_complement(float v)
{
    return -v;
}

static inline __device__ uint8_t crn_morphology_complement(uint8_t v)
{
    return (uint8_t)~v;
}

/* A pixel as minima read it: NaN is neutral. */
static inline __device__ float crn_morphology_clean(float v, bool complement)
{
    return v != v ? __uint_as_float(0x7f800000u) : complement ? -v : v;
}

static inline __device__ uint8_t crn_morphology_clean(uint8_t v, bool complement)
{
    return complement ? (uint8_t)~v : v;
}

int crn_morphology_general(crn_context *context, const crn_morphology_params *params,
                           const crn_image *in, crn_image *out);

#endif
