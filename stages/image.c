#include "stages/image.h"

#include <string.h>

const char *crn_type_name(crn_type type)
{
    return type == CRN_U8    ? "u8"
           : type == CRN_U16 ? "u16"
           : type == CRN_F16 ? "f16"
           : type == CRN_F32 ? "f32"
           : type == CRN_F64 ? "f64"
                             : "no type";
}

float crn_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t fraction = half & 0x3ffu;
    uint32_t bits;
    if (exponent == 0x1f) {
        bits = sign | 0x7f800000u | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        float magnitude =
            (float)fraction * 0x1p-24f; /* a subnormal half is exact as a normal float */
        memcpy(&bits, &magnitude, sizeof bits);
        bits |= sign;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float crn_image_at(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    ptrdiff_t index = crn_image_index(image, plane, y, x);
    switch (image->type) {
    case CRN_U8:
        return ((const uint8_t *)image->data)[index];
    case CRN_U16:
        return ((const uint16_t *)image->data)[index];
    case CRN_F16:
        return crn_f16_to_f32(((const uint16_t *)image->data)[index]);
    case CRN_F32:
        break;
    case CRN_F64:
        return (float)((const double *)image->data)[index];
    }
    return ((const float *)image->data)[index];
}

double crn_image_value(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    if (image->type == CRN_F64)
        return ((const double *)image->data)[crn_image_index(image, plane, y, x)];
    return (double)crn_image_at(image, plane, y, x);
}
