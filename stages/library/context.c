/* Contexts of cernita.h: which operators they use, and the text of the last error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/backend.h"
#include "stages/base/clock.h"
#include "stages/library/library.h"

#define THREADS_MAX 1024

/* For all work that a context may have enqueued; far above the slowest. */
#define LIMIT_NS (600 * CRN_NS_PER_S)

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

int crn_context_wait(crn_context *context)
{
    if (!context)
        return -EINVAL;
    int r = crn_context_begin(context);
    const crn_gpu *gpu = crn_context_choice_of(context)->gpu;
    if (r == 0 && gpu)
        r = crn_context_end(context, crn_gpu_wait(gpu, context, LIMIT_NS), "waiting");
    return r;
}

void *crn_pinned_create(crn_context *context, size_t bytes)
{
    if (!context || crn_context_begin(context) < 0)
        return NULL;
    const crn_gpu *gpu = crn_context_choice_of(context)->gpu;
    size_t whole = (bytes / 64 + 1) * 64;
    void *memory = NULL;
    if (whole > bytes) /* else it has overflowed */
        memory = gpu ? gpu->pinned_create(whole) : aligned_alloc(64, whole);
    if (!memory)
        crn_context_end(context, -ENOMEM, "pinned memory");
    return memory;
}

void crn_pinned_free(crn_context *context, void *memory)
{
    const crn_gpu *gpu = context ? crn_context_choice_of(context)->gpu : NULL;
    if (gpu)
        gpu->pinned_free(memory);
    else
        free(memory);
}
