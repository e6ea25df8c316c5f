#include "stages/ops.h"
int crn_contours_openmp(crn_context *context, const crn_contours_params *params,
                        const crn_image *in, crn_contours *out)
{
    return crn_contours_serial(context, params, in, out);
}
