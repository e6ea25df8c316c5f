#include "tools/common/scene/noise.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "stages/serial/diamond_square.h"

float crn_draws_between(crn_draws *random, float low, float high)
{
    uint32_t words[4];
    uint32_t counter[4] = {(uint32_t)(random->drawn >> 2), (uint32_t)random->stream,
                           (uint32_t)(random->stream >> 32), 0x52414e44};
    crn_philox(counter, random->key, words);
    /* 24 bits, so that rounding to float stays below 1 */
    float unit = (float)(words[random->drawn++ & 3] >> 8) * 0x1p-24f;
    return low + (high - low) * unit;
}

/* Centres of the squares of side `step`. */
static void diamond_phase(crn_noise *noise, uint64_t seed, int level, int32_t step, float scale)
{
    int32_t side = noise->side, half = step / 2;
    float *v = noise->value;
    for (int32_t y = half, j = 0; y < side; y += step, j++)
        for (int32_t x = half, i = 0; x < side; x += step, i++) {
            const float *above = v + (size_t)(y - half) * side + x;
            const float *below = v + (size_t)(y + half) * side + x;
            float mean = (((above[-half] + above[half]) + below[-half]) + below[half]) * 0.25f;
            v[(size_t)y * side + x] =
                mean + crn_diamond_square_noise(seed, level, CRN_PHASE_DIAMOND, i, j, scale);
        }
}

/* Midpoints of the edges; at the border the mean of three neighbours. */
static void square_phase(crn_noise *noise, uint64_t seed, int level, int32_t step, float scale)
{
    int32_t side = noise->side, half = step / 2;
    float *v = noise->value;
    for (int32_t y = 0, j = 0; y < side; y += half, j++)
        for (int32_t x = j & 1 ? 0 : half, i = 0; x < side; x += step, i++) {
            float *at = v + (size_t)y * side + x, sum = 0;
            ptrdiff_t row = (ptrdiff_t)half * side;
            int neighbours = 0;
            if (y > 0)
                sum += at[-row], neighbours++;
            if (x > 0)
                sum += at[-half], neighbours++;
            if (x < side - 1)
                sum += at[half], neighbours++;
            if (y < side - 1)
                sum += at[row], neighbours++;
            float mean = sum * (neighbours == 4 ? 0.25f : 1.0f / 3.0f);
            *at = mean + crn_diamond_square_noise(seed, level, CRN_PHASE_SQUARE, i, j, scale);
        }
}

static void normalise(crn_noise *noise)
{
    size_t count = (size_t)noise->side * noise->side;
    float low = noise->value[0], high = low;
    for (size_t i = 0; i < count; i++) {
        low = fminf(low, noise->value[i]);
        high = fmaxf(high, noise->value[i]);
    }
    float middle = (low + high) * 0.5f, scale = high > low ? 2.0f / (high - low) : 0;
    for (size_t i = 0; i < count; i++)
        noise->value[i] = (noise->value[i] - middle) * scale;
}

int crn_noise_create(int exponent, uint64_t seed, int level, float roughness, crn_noise *ret_noise)
{
    crn_noise noise = {(1 << exponent) + 1, NULL};
    int32_t last = noise.side - 1;
    noise.value = calloc((size_t)noise.side * noise.side, sizeof *noise.value);
    if (!noise.value)
        return -ENOMEM;
    for (int32_t j = 0; j < 2 && level == 0; j++)
        for (int32_t i = 0; i < 2; i++)
            noise.value[(size_t)j * last * noise.side + (size_t)i * last] =
                crn_diamond_square_noise(seed, 0, CRN_PHASE_CORNERS, i, j, 1);
    float scale = 1;
    for (int at = level; at < exponent; at++, scale *= roughness) {
        int32_t step = last >> at;
        diamond_phase(&noise, seed, at, step, scale);
        square_phase(&noise, seed, at, step, scale);
    }
    normalise(&noise);
    *ret_noise = noise;
    return 0;
}

void crn_noise_free(crn_noise *noise)
{
    free(noise->value);
    *noise = (crn_noise){0};
}

int32_t crn_noise_mirror(const crn_noise *noise, int32_t index)
{
    int32_t period = 2 * (noise->side - 1);
    int32_t at = index % period;
    at = at < 0 ? at + period : at;
    return at < noise->side ? at : period - at;
}

float crn_noise_at(const crn_noise *noise, float x, float y)
{
    int32_t x0 = (int32_t)floorf(x), y0 = (int32_t)floorf(y);
    float u = x - (float)x0, v = y - (float)y0;
    int32_t xa = crn_noise_mirror(noise, x0), xb = crn_noise_mirror(noise, x0 + 1);
    const float *a = noise->value + (size_t)crn_noise_mirror(noise, y0) * noise->side;
    const float *b = noise->value + (size_t)crn_noise_mirror(noise, y0 + 1) * noise->side;
    float top = a[xa] + (a[xb] - a[xa]) * u, bottom = b[xa] + (b[xb] - b[xa]) * u;
    return top + (bottom - top) * v;
}
