#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/images.h"
#include "tests/support/parity/parity.h"

enum { ELEMENTS_MAX = 20000 };

/* A size with any remainder modulo any vector length. */
static int32_t pick_side(crn_random *random, int32_t least)
{
    return crn_random_between(random, least, crn_random_once_in(random, 3) ? 150 : 40);
}

static int32_t pick_planes(crn_random *random)
{
    static const int32_t usual[] = {6, 7, 8, 9, 12, 15, 16, 17, 20, 31, 33, 40};
    if (crn_random_once_in(random, 2))
        return 1;
    return crn_random_once_in(random, 3) ? usual[crn_random_below(random, 12)]
                                         : crn_random_between(random, 2, 5);
}

static crn_parity_shape pick_kind_of_shape(crn_random *random, int32_t least)
{
    static const int32_t widths[] = {63, 64, 65, 127, 128, 129, 192, 511, 513};
    int32_t planes = pick_planes(random), height = crn_random_between(random, least, 16);
    int32_t width = crn_random_between(random, least, 24);
    switch (crn_random_below(random, 12)) {
    case 0:
        return (crn_parity_shape){planes, height, widths[crn_random_below(random, 9)]};
    case 1:
        height = crn_random_between(random, least, 90);
        return (crn_parity_shape){planes, height, crn_random_between(random, least, 90)};
    case 2: /* many channels: the neighbour lies in another vector */
        return (crn_parity_shape){crn_random_between(random, 12, 140),
                                  crn_random_between(random, least, 6),
                                  crn_random_between(random, least, 9)};
    case 3:
        return (crn_parity_shape){planes, height, least};
    case 4:
        return (crn_parity_shape){planes, least, width};
    case 5:
        return (crn_parity_shape){planes, height, crn_random_between(random, 60, 300)};
    case 6:
        return (crn_parity_shape){planes, crn_random_between(random, 20, 60), width};
    case 7:
        height = crn_random_between(random, least, 200);
        return (crn_parity_shape){planes, height, crn_random_between(random, least, 6)};
    default:
        return (crn_parity_shape){planes, height, width};
    }
}

crn_parity_shape crn_parity_pick_shape(crn_parity_case *c, int32_t least)
{
    if (c->square_sizes) {
        int32_t planes = crn_random_between(&c->random, 1, 4);
        int32_t height = pick_side(&c->random, least);
        return (crn_parity_shape){planes, height, pick_side(&c->random, least)};
    }
    crn_parity_shape shape = pick_kind_of_shape(&c->random, least);
    if ((int64_t)shape.planes * shape.height * shape.width > ELEMENTS_MAX)
        shape.planes = 1;
    return shape;
}

crn_parity_values crn_parity_pick_values(crn_random *random)
{
    crn_parity_values v = {.checkered = crn_random_once_in(random, 12)};
    if (crn_random_once_in(random, 2))
        v.wavelength = (uint32_t)crn_random_between(random, 2, 9);
    if (crn_random_once_in(random, 2))
        v.steps = (uint32_t)crn_random_between(random, v.wavelength ? 3 : 1, v.wavelength ? 30 : 6);
    if (crn_random_once_in(random, 4))
        v.nan_once_in = (uint32_t)crn_random_between(random, 2, 100);
    if (crn_random_once_in(random, 4))
        v.special_once_in = (uint32_t)crn_random_between(random, 2, 60);
    return v;
}

static double pick_value(crn_random *random, const crn_parity_values *t, int32_t y, int32_t x)
{
    double v = crn_random_unit(random);
    if (t->wavelength)
        v = 0.5 + 0.3 * sin((double)x / t->wavelength) * cos((double)y / t->wavelength) +
            0.1 * (v - 0.5);
    if (t->checkered)
        v = ((x + y) & 1) * 0.5 + v * 0.5;
    if (!t->steps)
        return t->low + v * (t->high - t->low);
    uint32_t step = (uint32_t)(v * t->steps);
    if (t->rising)
        step = (step + (uint32_t)x * 3) % t->steps;
    if (t->capped && step > (uint32_t)y % t->steps)
        step = (uint32_t)y % t->steps;
    return t->low + step * ((t->high - t->low) / t->steps);
}

/* Truncates; too small values become 0. */
static uint16_t half_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 112;
    return exponent <= 0 ? 0 : (uint16_t)((uint32_t)exponent << 10 | (bits >> 13 & 0x3ff));
}

static void set_element(crn_random *random, crn_type type, const crn_parity_values *t, double value,
                        void *element)
{
    enum { HUGE_FLOATS = 2 };
    static const float floats[] = {INFINITY,  -INFINITY,   NAN,   -NAN, 0x1p-149f, -0x1p-140f,
                                   0x1p-126f, 0x1.8p-126f, -0.0f, 0.0f, 3e38f,     -3e38f};
    static const double doubles[] = {INFINITY,  -INFINITY,   NAN,  -NAN, 0x1p-1074, -0x1p-1060,
                                     0x1p-1022, 0x1.8p-1022, -0.0, 0.0,  1.7e308,   -1.7e308};
    static const uint16_t halves[] = {0x7c00, 0xfc00, 1, 0x8001, 0x8000, 0x7bff};
    bool nan = t->nan_once_in && crn_random_once_in(random, t->nan_once_in);
    bool special = t->special_once_in && crn_random_once_in(random, t->special_once_in);
    uint32_t which = nan || special ? crn_random_below(random, 12) : 0;
    if (type == CRN_U8) {
        *(uint8_t *)element = special ? which & 1 ? UINT8_MAX : 0 : (uint8_t)value;
    } else if (type == CRN_U16) {
        *(uint16_t *)element = special ? which & 1 ? UINT16_MAX : 0 : (uint16_t)value;
    } else if (type == CRN_F16) {
        *(uint16_t *)element = nan       ? (which & 1 ? 0x7e01 : 0xfc01)
                               : special ? halves[which / 2]
                                         : half_of((float)value);
    } else if (type == CRN_F64) {
        *(double *)element = nan       ? (which & 1 ? (double)NAN : -(double)NAN)
                             : special ? doubles[which]
                                       : value;
    } else {
        if (t->without_huge)
            which %= 12 - HUGE_FLOATS;
        *(float *)element = nan ? (which & 1 ? NAN : -NAN) : special ? floats[which] : (float)value;
    }
}

void crn_parity_fill(crn_parity_case *c)
{
    crn_parity_values values = c->values;
    crn_type type = c->in.type;
    if (values.low == 0 && values.high == 0)
        values.high = type == CRN_U8 ? 256 : type == CRN_U16 ? 65536 : 1;
    for (int32_t plane = 0; plane < c->in.planes; plane++)
        for (int32_t y = 0; y < c->in.height; y++)
            for (int32_t x = 0; x < c->in.width; x++)
                set_element(&c->random, type, &values, pick_value(&c->random, &values, y, x),
                            crn_image_element(&c->in, plane, y, x));
}

crn_image crn_parity_make_image(crn_parity_case *c, crn_type type, crn_parity_shape shape,
                                crn_guarded *ret_memory)
{
    if (!c->layout)
        return crn_guarded_image(&c->random, type, shape.planes, shape.height, shape.width,
                                 ret_memory);
    crn_image image =
        crn_image_dense(NULL, type, (crn_layout)c->layout, shape.planes, shape.height, shape.width);
    if (c->row_multiple) {
        image.row_stride = (image.row_stride + c->row_multiple - 1) / c->row_multiple;
        image.row_stride *= c->row_multiple;
        image.plane_stride = c->layout == CRN_CHW ? image.row_stride * shape.height : 1;
    }
    ptrdiff_t rows = (ptrdiff_t)shape.height * (c->layout == CRN_CHW ? shape.planes : 1);
    *ret_memory = crn_guarded_create((size_t)(image.row_stride * rows) * crn_type_bytes(type),
                                     c->row_multiple || crn_random_once_in(&c->random, 2));
    image.data = ret_memory->data;
    return image;
}

void crn_parity_make_in(crn_parity_case *c, crn_type type, crn_parity_shape shape)
{
    c->in = crn_parity_make_image(c, type, shape, &c->in_memory);
    crn_parity_fill(c);
}

void crn_parity_set_out(crn_parity_case *c, crn_type type, crn_parity_shape shape)
{
    c->out = crn_image_dense(NULL, type, CRN_CHW, shape.planes, shape.height, shape.width);
}

void *crn_parity_array(crn_parity_case *c, size_t bytes)
{
    crn_guarded *array = &c->arrays[c->arrays[0].map ? 1 : 0];
    assert_null(array->map);
    *array = crn_guarded_create(bytes, true);
    return array->data;
}

void crn_parity_describe(crn_parity_case *c, const char *format, ...)
{
    char text[OPERATOR_CASE_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    operators_describe(c->what, c->seed, c->in.planes ? &c->in : &c->out, "%s", text);
}

crn_parity_case crn_parity_start(const crn_parity_operator *op, uint64_t seed)
{
    return (crn_parity_case){.op = op, .seed = seed, .random = {seed}, .views = 3};
}
