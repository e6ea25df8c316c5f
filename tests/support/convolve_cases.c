#include "tests/support/convolve_cases.h"

#include <math.h>
#include <stdlib.h>

#include "stages/serial/convolve.h"
#include "tests/support/cmocka_prelude.h"

static void pick_shape(crn_random *random, int32_t *ret_planes, int32_t *ret_height,
                       int32_t *ret_width)
{
    *ret_planes = crn_random_once_in(random, 2) ? 1 : crn_random_between(random, 2, 5);
    *ret_height = crn_random_between(random, 1, 12);
    *ret_width = crn_random_between(random, 1, 40);
    switch (crn_random_below(random, 8)) {
    case 0:
        *ret_width = crn_random_between(random, 60, 150);
        break;
    case 1:
        *ret_planes = crn_random_between(random, 6, 20);
        break;
    case 2:
        *ret_width = 1;
        break;
    case 3:
        *ret_height = crn_random_between(random, 1, 40);
        *ret_width = crn_random_between(random, 1, 6);
        break;
    default:
        break;
    }
}

void crn_convolve_pick_kernel(crn_random *random, int32_t width, int32_t height,
                              crn_convolve_case *c)
{
    bool whole = crn_random_once_in(random, 3), product = crn_random_once_in(random, 2);
    bool sparse = crn_random_once_in(random, 4), halves = whole && crn_random_once_in(random, 4);
    float row[20], column[20];
    for (int32_t i = 0; i < 20; i++) {
        double a = crn_random_unit(random) * 2 - 0.7, b = crn_random_unit(random) * 2 - 0.7;
        row[i] = (float)(whole ? floor(a * 9) : a / width);
        column[i] = (float)(whole ? floor(b * 4) : b / height);
        if (sparse && crn_random_once_in(random, 3))
            row[i] = column[19 - i] = 0;
    }
    for (int32_t i = 0; i < width * height; i++) {
        double v = crn_random_unit(random) * 2 - 0.7;
        float alone = (float)(whole ? floor(v * 9) : v * 2 / (width * height));
        if (sparse && crn_random_once_in(random, 3))
            alone = 0;
        c->weights[i] = product ? row[i % width] * column[i / width] : alone;
        c->weights[i] *= halves ? 0.5f : 1;
    }
    c->exact = whole;
    c->params = (crn_convolve_params){c->weights, width, height,
                                      (crn_convolve_border)crn_random_below(random, 4)};
}

void crn_convolve_fill(crn_random *random, crn_image *image, bool *ret_whole)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN, -0.0f, 1e-30f, -1e-42f};
    uint32_t odd_once_in = crn_random_once_in(random, 6) ? 20 : 0;
    *ret_whole = image->type == CRN_U8 || crn_random_once_in(random, 4);
    double scale = crn_random_once_in(random, 6) ? 1e30 : crn_random_once_in(random, 5) ? 1e-30 : 1;
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                ptrdiff_t index = crn_image_index(image, plane, y, x);
                double v = crn_random_unit(random);
                if (image->type == CRN_U8)
                    ((uint8_t *)image->data)[index] = (uint8_t)(v * 256);
                else if (odd_once_in && crn_random_once_in(random, odd_once_in))
                    ((float *)image->data)[index] = odd[crn_random_below(random, 6)];
                else
                    ((float *)image->data)[index] =
                        (float)(*ret_whole ? floor(v * 200) : (v - 0.3) * scale);
            }
    *ret_whole = *ret_whole && !odd_once_in;
}

void crn_convolve_make_case(uint64_t seed, crn_convolve_case *c)
{
    crn_random random = {seed};
    int32_t planes, height, width;
    pick_shape(&random, &planes, &height, &width);
    int32_t most = crn_random_once_in(&random, 8) ? 20 : 7;
    int32_t kernel_width = crn_random_between(&random, 1, most);
    crn_convolve_pick_kernel(&random, kernel_width, crn_random_between(&random, 1, most), c);
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    c->image = crn_guarded_image(&random, type, planes, height, width, &c->memory);
    bool whole;
    crn_convolve_fill(&random, &c->image, &whole);
    c->exact = c->exact && whole;
    operators_describe(c->what, seed, &c->image, "kernel %d x %d border %d", c->params.height,
                       c->params.width, c->params.border);
}

void crn_convolve_make_wide_case(uint64_t seed, crn_convolve_case *c)
{
    static const int32_t sides[] = {3, 5, 7, 9, 11, 13, 15, 8};
    static const int32_t lanes[] = {1, 3, 3, 4, 12, 2, 1, 7};
    crn_random random = {seed};
    int32_t kernel_width = sides[crn_random_below(&random, 8)], kernel_height = kernel_width;
    if (crn_random_once_in(&random, 3))
        kernel_height = crn_random_between(&random, 1, 16);
    int32_t planes = lanes[crn_random_below(&random, 8)];
    int32_t width = crn_random_between(&random, 1, 600 / planes);
    int32_t height = crn_random_between(&random, 1, 24);
    if (crn_random_once_in(&random, 2))
        width = (width + 15) / 16 * 16;
    crn_convolve_pick_kernel(&random, kernel_width, kernel_height, c);
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    c->image = crn_guarded_image(&random, type, planes, height, width, &c->memory);
    bool whole;
    crn_convolve_fill(&random, &c->image, &whole);
    c->exact = c->exact && whole;
    operators_describe(c->what, seed, &c->image, "wide, kernel %d x %d border %d", kernel_height,
                       kernel_width, c->params.border);
}

crn_convolve_wanted crn_convolve_compute(const crn_convolve_case *c, int32_t plane, int32_t y,
                                         int32_t x)
{
    const crn_convolve_params *p = &c->params;
    crn_convolve_wanted w = {.finite = true};
    double size = 0;
    for (int32_t i = 0; i < p->width * p->height; i++) {
        int32_t sy =
            crn_convolve_source(p->border, y + i / p->width - p->height / 2, c->image.height);
        int32_t sx =
            crn_convolve_source(p->border, x + i % p->width - p->width / 2, c->image.width);
        if (sy < 0 || sx < 0)
            continue;
        double weight = (double)p->weights[i], v = (double)crn_image_at(&c->image, plane, sy, sx);
        w.sum += weight * v;
        size += fabs(weight * v);
        w.finite = w.finite && isfinite(v);
        w.spoilt = w.spoilt || (!isfinite(v) && weight != 0);
    }
    /* Results below f32's normal range have an absolute error of their own. */
    w.bound = c->exact ? 0 : p->width * p->height * (2 * 0x1p-24 * size + 2 * 0x1p-149);
    return w;
}

bool crn_convolve_is_right_u8(const crn_convolve_wanted *w, int got)
{
    double nearest = fmin(fmax(rint(w->sum), 0), 255);
    if (got == nearest)
        return true;
    double tie = floor(w->sum) + 0.5;
    return fabs(got - nearest) == 1 && fabs(w->sum - tie) <= w->bound;
}

static bool is_right_f32(const crn_convolve_wanted *w, float got)
{
    if (w->finite)
        return fabs((double)got - w->sum) <= w->bound;
    return !w->spoilt || !isfinite(got);
}

void crn_convolve_check_result(const crn_image *out, const crn_convolve_wanted *all,
                               const char *what)
{
    for (int32_t plane = 0; plane < out->planes; plane++)
        for (int32_t y = 0; y < out->height; y++)
            for (int32_t x = 0; x < out->width; x++, all++) {
                float got = crn_image_at(out, plane, y, x);
                if (out->type == CRN_U8 ? !crn_convolve_is_right_u8(all, (int)got)
                                        : !is_right_f32(all, got))
                    fail_msg("%s: plane %d (%d, %d) is %.9g, wanted %.17g within %.3g", what, plane,
                             x, y, (double)got, all->sum, all->bound);
            }
}

crn_convolve_wanted *crn_convolve_compute_all(const crn_convolve_case *c)
{
    crn_convolve_wanted *all = malloc(crn_image_elements(&c->image) * sizeof *all), *w = all;
    assert_non_null(all);
    for (int32_t plane = 0; plane < c->image.planes; plane++)
        for (int32_t y = 0; y < c->image.height; y++)
            for (int32_t x = 0; x < c->image.width; x++)
                *w++ = crn_convolve_compute(c, plane, y, x);
    return all;
}
