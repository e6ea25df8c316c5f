/* The operators of cernita.h: those of the context's backend, with a text where they fail. */
#include <errno.h>

#include "stages/library/library.h"

/* The operators that the context's backend has; NULL without a context. */
static const crn_ops *ops_of(crn_context *context)
{
    return context ? crn_context_choice_of(context)->ops : NULL;
}

/* Checks the images and runs `call`; if it refuses its arguments, `explain` puts into `text` which.
 */
#define RUN(what, in, out, call, explain)                                                          \
    const crn_ops *ops = ops_of(context);                                                          \
    if (!ops)                                                                                      \
        return -EINVAL;                                                                            \
    int r = crn_context_begin(context);                                                            \
    if (r < 0)                                                                                     \
        return r;                                                                                  \
    crn_error text;                                                                                \
    r = crn_library_check_images(in, out, &text);                                                  \
    if (r < 0)                                                                                     \
        return crn_error_set(crn_context_error_of(context), r, what ": %s", text.text);            \
    r = ops->call;                                                                                 \
    if (r != -EINVAL)                                                                              \
        return crn_context_end(context, r, what);                                                  \
    crn_explain_##explain;                                                                         \
    return crn_error_set(crn_context_error_of(context), r, what ": %s", text.text)

int crn_find_contours(crn_context *context, const crn_contours_params *params, const crn_image *in,
                      crn_contours *out)
{
    crn_image from;
    in = crn_library_usable(in, &from);
    RUN("contours", in, NULL, contours(context, params, in, out), contours(params, in, out, &text));
}

int crn_morphology(crn_context *context, const crn_morphology_params *params, const crn_image *in,
                   crn_image *out)
{
    crn_image from, to;
    in = crn_library_usable(in, &from);
    out = crn_library_usable(out, &to);
    RUN("morphology", in, out, morphology(context, params, in, out),
        morphology(params, in, out, &text));
}

int crn_convolve(crn_context *context, const crn_convolve_params *params, const crn_image *in,
                 crn_image *out)
{
    crn_image from, to;
    in = crn_library_usable(in, &from);
    out = crn_library_usable(out, &to);
    RUN("convolve", in, out, convolve(context, params, in, out), convolve(params, in, out, &text));
}

int crn_haar(crn_context *context, const crn_haar_params *params, const crn_image *in,
             crn_image *out)
{
    crn_image from, to;
    in = crn_library_usable(in, &from);
    out = crn_library_usable(out, &to);
    RUN("haar", in, out, haar(context, params, in, out), haar(params, in, out, &text));
}

int crn_ranklet(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                crn_image *out)
{
    crn_image from, to;
    in = crn_library_usable(in, &from);
    out = crn_library_usable(out, &to);
    RUN("ranklet", in, out, ranklet(context, params, in, out), ranklet(params, in, out, &text));
}

int crn_diamond_square(crn_context *context, const crn_diamond_square_params *params,
                       crn_image *out)
{
    crn_image to;
    out = crn_library_usable(out, &to);
    RUN("diamond_square", NULL, out, diamond_square(context, params, out),
        diamond_square(params, out, &text));
}
