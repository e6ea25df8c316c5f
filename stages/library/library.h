/**
 * @file
 * What the functions of cernita.h share: how they begin, and how they say what was wrong.
 */
#ifndef CRN_STAGES_LIBRARY_LIBRARY_H
#define CRN_STAGES_LIBRARY_LIBRARY_H

#include "gpu/gpu.h"
#include "stages/context.h"

/**
 * crn_context_open() with MEMORY_DEVICE on this table, for tests of what needs no device.
 *
 * @param settings device and stream of it are used
 */
int crn_context_open_on(const crn_gpu *gpu, const crn_context_settings *settings,
                        crn_context **ret_context);

/** Clears the text of the last error; on a device makes it current in this thread. 0, -ENODEV or
 * -EIO with a text. */
int crn_context_begin(crn_context *context);

/** Sets the text to `what`: and the reason of r, unless r is 0 or a text is there. Returns r. */
int crn_context_end(crn_context *context, int r, const char *what);

/** Checks an image that an operator would take: sizes, strides, alignment; one that it refuses by
 * itself passes. 0, or -EINVAL with a clause that names it. */
int crn_library_check_image(const char *name, const crn_image *image, crn_error *error);

/** The same for both, and that they share no memory, as far as that is easily told. */
int crn_library_check_images(const crn_image *in, const crn_image *out, crn_error *error);

/** The size that crn_find_contours() takes with that border. 0, or -EINVAL with a text. */
int crn_library_check_contours_size(const char *name, crn_border border, const crn_image *image,
                                    crn_error *error);

/**
 * The image for an operator: a stride that leads nowhere, as its side has one element, may be any
 * number; where it is so large that a product with it might overflow it becomes 0.
 *
 * @return `ret_usable`, a copy of it; NULL for NULL
 */
crn_image *crn_library_usable(const crn_image *image, crn_image *ret_usable);

/**
 * How many threads a parallel region of this thread may have, at most `wanted`. libgomp ends the
 * process if it cannot start them, and hangs in the child of a fork: so they are tried here before,
 * and a child gets one.
 */
int32_t crn_library_team(int32_t wanted);

/**
 * Why an operator refuses these arguments: a clause that names the argument, in `ret_text`. They
 * say no more than crn_<operator>_check() refuses, and its order.
 */
void crn_explain_contours(const crn_contours_params *params, const crn_image *in,
                          const crn_contours *out, crn_error *ret_text);
void crn_explain_morphology(const crn_morphology_params *params, const crn_image *in,
                            const crn_image *out, crn_error *ret_text);
void crn_explain_convolve(const crn_convolve_params *params, const crn_image *in,
                          const crn_image *out, crn_error *ret_text);
void crn_explain_haar(const crn_haar_params *params, const crn_image *in, const crn_image *out,
                      crn_error *ret_text);
void crn_explain_ranklet(const crn_ranklet_params *params, const crn_image *in,
                         const crn_image *out, crn_error *ret_text);
void crn_explain_diamond_square(const crn_diamond_square_params *params, const crn_image *out,
                                crn_error *ret_text);

#endif
