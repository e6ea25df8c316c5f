#include "stages/backend.h"

#include "gpu/gpu.h"

const char *const crn_backend_names[] = {"auto", "serial", "openmp", "cuda", NULL};

static const crn_ops serial_ops = {
    .name = "serial",
    .contours = crn_contours_serial,
    .morphology = crn_morphology_serial,
    .convolve = crn_convolve_serial,
    .haar = crn_haar_serial,
    .ranklet = crn_ranklet_serial,
    .diamond_square = crn_diamond_square_serial,
    .widen = crn_widen,
};
static const crn_ops openmp_ops = {
    .name = "openmp",
    .contours = crn_contours_openmp,
    .morphology = crn_morphology_openmp,
    .convolve = crn_convolve_openmp,
    .haar = crn_haar_openmp,
    .ranklet = crn_ranklet_openmp,
    .diamond_square = crn_diamond_square_openmp,
    .widen = crn_widen,
};

const crn_ops *crn_backend_ops(crn_backend backend, const char **ret_why)
{
    switch (backend) {
    case CRN_BACKEND_SERIAL:
        return &serial_ops;
    case CRN_BACKEND_AUTO:
    case CRN_BACKEND_OPENMP:
        return &openmp_ops;
    case CRN_BACKEND_CUDA:
        break;
    }
    return crn_gpu_ops(ret_why);
}
