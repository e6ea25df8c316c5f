/* Contexts of cernita.h: which operators they use, and the text of the last error. */
#include <errno.h>
#include <string.h>

#include "stages/backend.h"
#include "stages/library/library.h"

#define THREADS_MAX 1024

const char *crn_version(void)
{
    return CRN_VERSION;
}

const char *crn_backend_missing(crn_backend backend)
{
    const char *why = NULL;
    if ((unsigned)backend > CRN_BACKEND_CUDA)
        return "there is no such backend; see crn_backend in cernita.h";
    return crn_backend_ops(backend, &why) ? NULL : why;
}

int crn_context_open_on(const crn_gpu *gpu, const crn_context_settings *settings,
                        crn_context **ret_context)
{
    if (settings->device < 0 || settings->device >= gpu->count())
        return -ENODEV;
    crn_context *context;
    int r = gpu->context_create_on(settings->device, settings->stream, &context);
    if (r < 0)
        return r;
    *crn_context_choice_of(context) = (crn_context_choice){.ops = gpu->ops, .gpu = gpu};
    *ret_context = context;
    return 0;
}

static int open_on_device(const crn_context_settings *settings, crn_context **ret_context)
{
    const char *why;
    const crn_gpu *gpu = crn_gpu_get(&why);
    return gpu ? crn_context_open_on(gpu, settings, ret_context) : -ENOTSUP;
}

int crn_context_open(const crn_context_settings *settings, crn_context **ret_context)
{
    static const crn_context_settings all_zero;
    if (!settings)
        settings = &all_zero;
    bool on_device = settings->memory == CRN_MEMORY_DEVICE;
    if (!ret_context || (unsigned)settings->backend > CRN_BACKEND_CUDA ||
        (unsigned)settings->memory > CRN_MEMORY_DEVICE || settings->threads < 0 ||
        settings->threads > THREADS_MAX || (on_device && settings->backend != CRN_BACKEND_CUDA))
        return -EINVAL;
    if (on_device)
        return open_on_device(settings, ret_context);
    const char *why;
    const crn_ops *ops = crn_backend_ops(settings->backend, &why);
    if (!ops)
        return -ENOTSUP;
    crn_context *context;
    int r = crn_context_create(settings->threads ? settings->threads : 1, &context);
    if (r < 0)
        return r;
    *crn_context_choice_of(context) =
        (crn_context_choice){.ops = ops, .threads = crn_context_threads(context)};
    *ret_context = context;
    return 0;
}

int crn_context_begin(crn_context *context)
{
    crn_context_error_of(context)->text[0] = '\0';
    const crn_context_choice *choice = crn_context_choice_of(context);
    const crn_gpu *gpu = choice->gpu;
    if (choice->threads > 1)
        crn_context_set_threads(context, crn_library_team(choice->threads));
    return gpu ? crn_context_end(context, gpu->use(context), "choosing the device") : 0;
}

int crn_context_end(crn_context *context, int r, const char *what)
{
    crn_error *error = crn_context_error_of(context);
    if (r == 0 || *error->text)
        return r;
    return crn_error_set(error, r, "%s: %s", what, crn_gpu_strerror(r));
}
