#include "stages/serial/diamond_square.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "stages/philox.h"

int crn_diamond_square_check(const crn_diamond_square_params *params, const crn_image *out)
{
    if (!params || !out || params->exponent < 0 ||
        params->exponent > CRN_DIAMOND_SQUARE_EXPONENT_MAX)
        return -EINVAL;
    if (!(params->roughness >= 0 && params->roughness <= 1))
        return -EINVAL;
    if (!out->data || (out->type != CRN_U8 && out->type != CRN_F32))
        return -EINVAL;
    if (out->planes != 1 || out->height < 1 || out->width < 1)
        return -EINVAL;
    int32_t side = (1 << params->exponent) + 1;
    if (params->x < 0 || params->x > side - 1 || out->width > side - params->x)
        return -EINVAL;
    if (params->y < 0 || params->y > side - 1 || out->height > side - params->y)
        return -EINVAL;
    return 0;
}

float crn_diamond_square_amplitude(double roughness, int32_t level)
{
    double amplitude = CRN_DIAMOND_SQUARE_MIDDLE;
    for (int32_t i = 0; i < level; i++)
        amplitude *= roughness;
    return (float)amplitude;
}

float crn_diamond_square_noise(uint64_t seed, int32_t level, crn_diamond_square_phase phase,
                               int32_t i, int32_t j, float amplitude)
{
    uint32_t words[4];
    uint32_t counter[4] = {(uint32_t)i / 4, (uint32_t)j, (uint32_t)level, (uint32_t)phase};
    crn_philox(counter, seed, words);
    return amplitude * ((float)(int32_t)words[i & 3] * 0x1p-31f);
}

float crn_diamond_square_corner(uint64_t seed, int32_t i, int32_t j)
{
    float amplitude = crn_diamond_square_amplitude(1, 0);
    return CRN_DIAMOND_SQUARE_MIDDLE +
           crn_diamond_square_noise(seed, 0, CRN_PHASE_CORNERS, i, j, amplitude);
}

void crn_diamond_square_put(const crn_image *out, int32_t y, int32_t x, float value)
{
    ptrdiff_t index = crn_image_index(out, 0, y, x);
    if (out->type == CRN_F32) {
        ((float *)out->data)[index] = value;
        return;
    }
    long whole = lrintf(value); /* rounds half to even: the rounding mode is never changed */
    ((uint8_t *)out->data)[index] = (uint8_t)(whole < 0           ? 0
                                              : whole > UINT8_MAX ? UINT8_MAX
                                                                  : whole);
}

/* The whole field, dense, and the parameters of its noise. */
typedef struct diamond_square_field {
    float *value;
    int32_t side;
    uint64_t seed;
} diamond_square_field;

/* Diamond step: the centre of each square of side `step`. */
static void diamonds(const diamond_square_field *f, int32_t level, int32_t step, float amplitude)
{
    int32_t half = step / 2;
    for (int32_t y = half, j = 0; y < f->side; y += step, j++)
        for (int32_t x = half, i = 0; x < f->side; x += step, i++) {
            const float *above = f->value + (size_t)(y - half) * (size_t)f->side + x;
            const float *below = f->value + (size_t)(y + half) * (size_t)f->side + x;
            float mean = (((above[-half] + above[half]) + below[-half]) + below[half]) * 0.25f;
            f->value[(size_t)y * (size_t)f->side + (size_t)x] =
                mean + crn_diamond_square_noise(f->seed, level, CRN_PHASE_DIAMOND, i, j, amplitude);
        }
}

/* The mean of the neighbours at distance `half` of the midpoint of a side. */
static float mean_around(const diamond_square_field *f, int32_t y, int32_t x, int32_t half)
{
    const float *at = f->value + (size_t)y * (size_t)f->side + x;
    ptrdiff_t row = (ptrdiff_t)half * f->side;
    if (y == 0)
        return ((at[-half] + at[half]) + at[row]) * (1.0f / 3.0f);
    if (x == 0)
        return ((at[-row] + at[half]) + at[row]) * (1.0f / 3.0f);
    if (x == f->side - 1)
        return ((at[-row] + at[-half]) + at[row]) * (1.0f / 3.0f);
    if (y == f->side - 1)
        return ((at[-row] + at[-half]) + at[half]) * (1.0f / 3.0f);
    return (((at[-row] + at[-half]) + at[half]) + at[row]) * 0.25f;
}

/* Square step: the midpoints of the sides of those squares. */
static void squares(const diamond_square_field *f, int32_t level, int32_t step, float amplitude)
{
    int32_t half = step / 2;
    for (int32_t y = 0, j = 0; y < f->side; y += half, j++)
        for (int32_t x = j & 1 ? 0 : half, i = 0; x < f->side; x += step, i++)
            f->value[(size_t)y * (size_t)f->side + (size_t)x] =
                mean_around(f, y, x, half) +
                crn_diamond_square_noise(f->seed, level, CRN_PHASE_SQUARE, i, j, amplitude);
}

int crn_diamond_square_serial(crn_context *context, const crn_diamond_square_params *params,
                              crn_image *out)
{
    int r = crn_diamond_square_check(params, out);
    if (r < 0)
        return r;
    diamond_square_field f = {.side = (1 << params->exponent) + 1, .seed = params->seed};
    size_t bytes = (size_t)f.side * (size_t)f.side * sizeof *f.value;
    /* Scratch memory only reserves addresses, so more than the physical memory would be granted. */
    if (bytes / (size_t)sysconf(_SC_PAGESIZE) > (size_t)sysconf(_SC_PHYS_PAGES))
        return -ENOMEM;
    f.value = crn_context_scratch(context, 0, bytes);
    if (!f.value)
        return -ENOMEM;
    size_t last = (size_t)f.side - 1, row = (size_t)f.side;
    for (int32_t j = 0; j < 2; j++)
        for (int32_t i = 0; i < 2; i++)
            f.value[(size_t)j * last * row + (size_t)i * last] =
                crn_diamond_square_corner(params->seed, i, j);
    for (int32_t level = 0; level < params->exponent; level++) {
        float amplitude = crn_diamond_square_amplitude(params->roughness, level);
        diamonds(&f, level, 1 << (params->exponent - level), amplitude);
        squares(&f, level, 1 << (params->exponent - level), amplitude);
    }
    for (int32_t y = 0; y < out->height; y++)
        for (int32_t x = 0; x < out->width; x++)
            crn_diamond_square_put(
                out, y, x, f.value[(size_t)(y + params->y) * row + (size_t)(x + params->x)]);
    return 0;
}
