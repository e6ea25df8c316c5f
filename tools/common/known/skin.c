/* The skin of a real photograph, as the texture of known fruits. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/picture/picture.h"
#include "tools/common/known/known.h"

#define MIDDLE   0.55 /* of a picture's shorter side is taken: within the fruit */
#define RADII    1.4  /* of a fruit, which that side spans */
#define SMOOTHED 8    /* a place's surroundings reach this part of the side */
#define MOST     0.6  /* deviation from them: more are highlights of the photograph */
#define SIDE_MIN 32
#define SIDE_MAX 4096

/* The middle of a picture, grey; in new memory, NULL without any. */
static float *take_middle(const crn_image *image, int32_t side)
{
    int32_t x0 = (image->width - side) / 2, y0 = (image->height - side) / 2;
    float *grey = malloc((size_t)side * (size_t)side * sizeof *grey);
    for (int32_t i = 0; grey && i < side * side; i++) {
        float sum = 0;
        for (int32_t plane = 0; plane < image->planes; plane++)
            sum += crn_image_at(image, plane, y0 + i / side, x0 + i % side);
        grey[i] = sum;
    }
    return grey;
}

/* The mean over a square around a place, as far as there is something, by every fourth value. */
static double mean_around(const float *grey, int32_t side, int32_t x, int32_t y)
{
    int32_t reach = side / SMOOTHED;
    double sum = 0, count = 0;
    for (int32_t v = y - reach; v <= y + reach; v += 4)
        for (int32_t u = x - reach; u <= x + reach; u += 4)
            if (v >= 0 && u >= 0 && v < side && u < side) {
                sum += (double)grey[v * side + u];
                count++;
            }
    return sum / count;
}

int crn_known_skin_read(const char *path, crn_known_skin *ret_skin, crn_error *error)
{
    crn_picture picture;
    int r = crn_picture_read(path, &picture, error);
    if (r < 0)
        return r;
    const crn_image *image = &picture.image;
    int32_t side = (int32_t)(MIDDLE * fmin(SIDE_MAX, fmin(image->height, image->width)));
    crn_known_skin skin = {side, NULL};
    float *grey = side < SIDE_MIN ? NULL : take_middle(image, side);
    if (grey)
        skin.value = malloc((size_t)side * (size_t)side * sizeof *skin.value);
    for (int32_t i = 0; skin.value && i < side * side; i++) {
        double mean = fmax(1e-6, mean_around(grey, side, i % side, i / side));
        skin.value[i] = (float)fmax(-MOST, fmin(MOST, (double)grey[i] / mean - 1));
    }
    if (side < SIDE_MIN)
        r = crn_error_set(error, -EINVAL, "'%s' is %d x %d; a skin is of at least %d pixels", path,
                          (int)image->width, (int)image->height, (int)ceil(SIDE_MIN / MIDDLE));
    else if (!skin.value)
        r = crn_error_set(error, -ENOMEM, "no memory for the skin of '%s'", path);
    free(grey);
    crn_picture_free(&picture);
    if (r == 0)
        *ret_skin = skin;
    return r;
}

void crn_known_skin_free(crn_known_skin *skin)
{
    free(skin->value);
    *skin = (crn_known_skin){0, NULL};
}

/* Between four values; beyond the picture's border it is mirrored. */
static double value_at(const crn_known_skin *skin, double u, double v)
{
    double at[2] = {u, v}, part[2];
    int32_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        double period = 2.0 * (skin->side - 1);
        double place = fabs(remainder((at[i] / RADII + 0.5) * (skin->side - 1), period));
        low[i] = (int32_t)fmin(place, skin->side - 1);
        high[i] = low[i] + (low[i] + 1 < skin->side);
        part[i] = place - low[i];
    }
    const float *above = skin->value + (size_t)low[1] * (size_t)skin->side;
    const float *below = skin->value + (size_t)high[1] * (size_t)skin->side;
    return (1 - part[1]) *
               ((1 - part[0]) * (double)above[low[0]] + part[0] * (double)above[high[0]]) +
           part[1] * ((1 - part[0]) * (double)below[low[0]] + part[0] * (double)below[high[0]]);
}

double crn_known_skin_at(const crn_known_skin *skin, crn_known_vector p)
{
    /* Steep weights, so that few places are a mixture, which has less contrast. */
    double x = pow(p.x, 8), y = pow(p.y, 8), z = pow(p.z, 8), sum = 0;
    if (x > 0.01 * (y + z))
        sum += x * value_at(skin, p.y, p.z + (p.x < 0 ? 3 : 0));
    if (y > 0.01 * (z + x))
        sum += y * value_at(skin, p.z + 1, p.x + (p.y < 0 ? 3 : 0));
    if (z > 0.01 * (x + y))
        sum += z * value_at(skin, p.x + 2, p.y + (p.z < 0 ? 3 : 0));
    return sum / (x + y + z);
}
