/* Why an operator refuses its arguments, in words: asked only once it has refused them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "stages/kernel/element.h"
#include "stages/library/library.h"

/* True, with a text, if an image is none that any operator takes. */
static bool is_no_image(const char *name, const crn_image *image, crn_error *text)
{
    if (!image)
        crn_error_set(text, 0, "%s is NULL", name);
    else if (!image->data)
        crn_error_set(text, 0, "%s.data is NULL", name);
    else if (!crn_type_bytes(image->type))
        crn_error_set(text, 0, "%s.type is %d; see crn_type", name, (int)image->type);
    else if (image->planes < 1 || image->height < 1 || image->width < 1)
        crn_error_set(text, 0, "%s has %d planes of %d x %d pixels (height x width); none may be 0",
                      name, (int)image->planes, (int)image->height, (int)image->width);
    else
        return false;
    return true;
}

/* True, with a text, if the parameters are NULL or an image is none. */
static bool is_unusable(const void *params, const crn_image *in, const crn_image *out,
                        crn_error *text)
{
    if (!params) {
        crn_error_set(text, 0, "params is NULL");
        return true;
    }
    return is_no_image("in", in, text) || is_no_image("out", out, text);
}

static bool has_other_type(const char *name, const crn_image *image, crn_type a, crn_type b,
                           crn_error *text)
{
    if (image->type == a || image->type == b)
        return false;
    crn_error_set(text, 0, "%s is of %s; it must be of %s%s%s", name, crn_type_name(image->type),
                  crn_type_name(a), a == b ? "" : " or ", a == b ? "" : crn_type_name(b));
    return true;
}

static bool has_other_size(const crn_image *in, const crn_image *out, crn_error *text)
{
    if (crn_image_same_size(in, out))
        return false;
    crn_error_set(text, 0, "out is %d x %d x %d (planes x height x width); it must be %d x %d x %d",
                  (int)out->planes, (int)out->height, (int)out->width, (int)in->planes,
                  (int)in->height, (int)in->width);
    return true;
}

static bool is_out_of_range(const char *name, unsigned value, unsigned last, crn_error *text)
{
    if (value <= last)
        return false;
    crn_error_set(text, 0, "params.%s is %d; it must be 0 to %u", name, (int)value, last);
    return true;
}

void crn_explain_contours(const crn_contours_params *params, const crn_image *in,
                          const crn_contours *out, crn_error *ret_text)
{
    if (!params || !params->levels || !out) {
        crn_error_set(ret_text, 0, "%s is NULL",
                      !params           ? "params"
                      : !params->levels ? "params.levels"
                                        : "out");
        return;
    }
    if (is_no_image("in", in, ret_text))
        return;
    if ((out->point_capacity && !out->points) || (out->contour_capacity && !out->contours)) {
        crn_error_set(ret_text, 0, "out has a capacity, and its array is NULL");
        return;
    }
    if (is_out_of_range("connectivity", params->connectivity, CRN_CONNECT_HIGH, ret_text) ||
        is_out_of_range("orientation", params->orientation, CRN_ORIENT_HIGH, ret_text) ||
        is_out_of_range("border", params->border, CRN_BORDER_CLOSED, ret_text))
        return;
    bool closed = params->border == CRN_BORDER_CLOSED;
    for (int32_t plane = 0; closed && plane < in->planes; plane++)
        if (params->levels[plane] < 0) {
            crn_error_set(ret_text, 0,
                          "params.levels[%d] is %g; with a closed border it must be 0 or more",
                          (int)plane, params->levels[plane]);
            return;
        }
    if (crn_library_check_contours_size("in", params->border, in, ret_text) == 0)
        crn_error_set(ret_text, 0, "in is of f64, which only the CPU's backends take");
}

void crn_explain_morphology(const crn_morphology_params *params, const crn_image *in,
                            const crn_image *out, crn_error *ret_text)
{
    if (is_unusable(params, in, out, ret_text) ||
        is_out_of_range("operation", params->operation, CRN_BLACKHAT, ret_text) ||
        has_other_type("in", in, CRN_U8, CRN_F32, ret_text) ||
        has_other_type("out", out, in->type, in->type, ret_text) ||
        has_other_size(in, out, ret_text) ||
        is_out_of_range("element.shape", params->element.shape, CRN_ELEMENT_PICTURE, ret_text))
        return;
    const crn_element *element = &params->element;
    if (element->width < 1 || element->height < 1 || element->width > CRN_ELEMENT_MAX ||
        element->height > CRN_ELEMENT_MAX)
        crn_error_set(ret_text, 0, "params.element is %d x %d; both must be 1 to %d",
                      (int)element->width, (int)element->height, CRN_ELEMENT_MAX);
    else if (element->shape == CRN_ELEMENT_PICTURE && !element->members)
        crn_error_set(ret_text, 0, "params.element.members is NULL; a picture needs them");
    else if (element->shape != CRN_ELEMENT_PICTURE && element->members)
        crn_error_set(ret_text, 0, "params.element.members must be NULL but for a picture");
    else if (element->heights)
        crn_error_set(ret_text, 0,
                      "params.element has no member, or a height that is not finite, or for u8 not "
                      "a whole number from -255 to 255");
    else
        crn_error_set(ret_text, 0, "params.element has no member");
}

void crn_explain_convolve(const crn_convolve_params *params, const crn_image *in,
                          const crn_image *out, crn_error *ret_text)
{
    if (is_unusable(params, in, out, ret_text) ||
        has_other_type("in", in, CRN_U8, CRN_F32, ret_text) ||
        has_other_type("out", out, in->type, in->type, ret_text) ||
        has_other_size(in, out, ret_text) ||
        is_out_of_range("border", params->border, CRN_CONVOLVE_ZERO, ret_text))
        return;
    if (!params->weights)
        crn_error_set(ret_text, 0, "params.weights is NULL");
    else if (params->width < 1 || params->height < 1 ||
             (int64_t)params->width * params->height > CRN_KERNEL_TAPS_MAX)
        crn_error_set(ret_text, 0, "the kernel is %d x %d; it must have 1 to %d weights",
                      (int)params->width, (int)params->height, CRN_KERNEL_TAPS_MAX);
    else
        crn_error_set(ret_text, 0, "params.weights has one that is not finite");
}

void crn_explain_haar(const crn_haar_params *params, const crn_image *in, const crn_image *out,
                      crn_error *ret_text)
{
    if (is_unusable(params, in, out, ret_text) ||
        has_other_type("in", in, CRN_U8, CRN_F32, ret_text) ||
        has_other_type("out", out, CRN_F32, CRN_F32, ret_text) ||
        has_other_size(in, out, ret_text) ||
        is_out_of_range("direction", params->direction, CRN_HAAR_DENOISE, ret_text))
        return;
    int32_t max = crn_haar_levels_max(in->height, in->width);
    if (params->levels < 0 || params->levels > max)
        crn_error_set(ret_text, 0, "params.levels is %d; for this size it must be 0 to %d",
                      (int)params->levels, (int)max);
    else
        crn_error_set(ret_text, 0, "params.threshold is %g; it must be 0 or more",
                      (double)params->threshold);
}

void crn_explain_ranklet(const crn_ranklet_params *params, const crn_image *in,
                         const crn_image *out, crn_error *ret_text)
{
    if (is_unusable(params, in, out, ret_text) ||
        has_other_type("in", in, CRN_U8, CRN_U16, ret_text) ||
        has_other_type("out", out, CRN_F32, CRN_F32, ret_text))
        return;
    if (params->width < 2 || params->width % 2 || params->width > in->width || params->height < 2 ||
        params->height % 2 || params->height > in->height)
        crn_error_set(ret_text, 0,
                      "the window is %d x %d (width x height); both must be even, and at most %d "
                      "x %d",
                      (int)params->width, (int)params->height, (int)in->width, (int)in->height);
    else if ((int64_t)params->width * params->height / 2 > CRN_RANKLET_HALF_MAX)
        crn_error_set(ret_text, 0, "half a window has more than %" PRId64 " pixels",
                      CRN_RANKLET_HALF_MAX);
    else
        crn_error_set(ret_text, 0, "out is %d x %d x %d; it must be %" PRId64 " x %d x %d",
                      (int)out->planes, (int)out->height, (int)out->width, 3 * (int64_t)in->planes,
                      (int)(in->height - params->height + 1), (int)(in->width - params->width + 1));
}

void crn_explain_diamond_square(const crn_diamond_square_params *params, const crn_image *out,
                                crn_error *ret_text)
{
    if (!params) {
        crn_error_set(ret_text, 0, "params is NULL");
        return;
    }
    if (is_no_image("out", out, ret_text) || has_other_type("out", out, CRN_U8, CRN_F32, ret_text))
        return;
    if (out->planes != 1)
        crn_error_set(ret_text, 0, "out has %d planes; it must have one", (int)out->planes);
    else if (params->exponent < 0 || params->exponent > CRN_DIAMOND_SQUARE_EXPONENT_MAX)
        crn_error_set(ret_text, 0, "params.exponent is %d; it must be 0 to %d",
                      (int)params->exponent, CRN_DIAMOND_SQUARE_EXPONENT_MAX);
    else if (!(params->roughness >= 0 && params->roughness <= 1))
        crn_error_set(ret_text, 0, "params.roughness is %g; it must be 0 to 1", params->roughness);
    else
        crn_error_set(ret_text, 0, "out, %d x %d from (%d, %d), is not within the field of side %d",
                      (int)out->width, (int)out->height, (int)params->x, (int)params->y,
                      (1 << params->exponent) + 1);
}
