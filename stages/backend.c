#include "stages/backend.h"

#include "gpu/gpu.h"

const char *const crn_backend_names[] = {"auto", "serial", "openmp", "cuda", NULL};

static const crn_ops serial_ops = CRN_OPS("serial", crn_, _serial, CRN_OPS_ON_MAPS);
static const crn_ops openmp_ops = CRN_OPS("openmp", crn_, _openmp, CRN_OPS_ON_MAPS);

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
