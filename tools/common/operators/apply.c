#include "tools/common/operators/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "stages/base/clock.h"
#include "stages/base/file/new_file.h"

#define THREADS_MAX 1024
#define REPEAT_MAX  10000

enum { COMMON_BACKEND, COMMON_THREADS, COMMON_TIME, COMMON_REPEAT, COMMON_DRY_RUN };

static int32_t core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int32_t count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
}

void crn_apply_init(const crn_tool *tool, crn_apply *ret_apply)
{
    *ret_apply = (crn_apply){.tool = tool, .backend = CRN_BACKEND_AUTO};
}

void crn_apply_option(crn_apply *apply, int number, const char *text)
{
    switch (number) {
    case COMMON_BACKEND:
        apply->backend = crn_option_choice(apply->tool, "backend", text, crn_backend_names);
        break;
    case COMMON_THREADS:
        apply->threads = (int32_t)crn_option_integer(apply->tool, "threads", text, 1, THREADS_MAX);
        break;
    case COMMON_TIME:
        apply->timed = true;
        break;
    case COMMON_REPEAT:
        apply->repeat = (int32_t)crn_option_integer(apply->tool, "repeat", text, 1, REPEAT_MAX);
        break;
    case COMMON_DRY_RUN:
        apply->dry = true;
        break;
    }
}

static bool offers(const crn_ops *ops, const char *operator_name)
{
    const struct {
        const char *name;
        bool there;
    } operators[] = {{"contours", ops->contours}, {"morphology", ops->morphology},
                     {"convolve", ops->convolve}, {"haar", ops->haar},
                     {"ranklet", ops->ranklet},   {"diamond-square", ops->diamond_square}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].name, operator_name))
            return operators[i].there;
    return false;
}

static int check_output(const char *path, crn_error *error)
{
    int r = crn_new_file_check(path, error);
    if (r < 0)
        return r;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!folder)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its name", path);
    if (access(folder, W_OK | X_OK) < 0) {
        r = -errno;
        crn_error_set(error, r, "%s: cannot be created in the folder '%s': %s", path, folder,
                      strerror(-r));
    }
    free(folder);
    return r;
}

int crn_apply_open(crn_apply *apply, const char *operator_name, const char *out, crn_error *error)
{
    if (apply->repeat && !apply->timed)
        crn_usage_error(apply->tool, "--repeat needs --time");
    if (!apply->repeat)
        apply->repeat = 1;
    if (!apply->threads)
        apply->threads = core_count();
    const char *why = NULL;
    apply->ops = crn_backend_ops((crn_backend)apply->backend, &why);
    if (!apply->ops)
        return crn_error_set(error, -ENOTSUP, "--backend %s: %s; openmp and serial are available",
                             crn_backend_names[apply->backend], why ? why : "not in this build");
    if (!offers(apply->ops, operator_name))
        return crn_error_set(error, -ENOTSUP, "the %s backend has no %s; use another --backend",
                             apply->ops->name, operator_name);
    bool fine = true;
    for (int clock = 0; clock < CRN_APPLY_CLOCKS; clock++) {
        apply->run_ns[clock] = calloc((size_t)apply->repeat, sizeof **apply->run_ns);
        fine = fine && apply->run_ns[clock];
    }
    if (!fine || crn_context_create(apply->threads, &apply->context) < 0)
        return crn_error_set(error, -ENOMEM, "no memory");
    return check_output(out, error);
}

int crn_apply_begin(const crn_apply *apply)
{
    return apply->dry ? -ECANCELED : 0;
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_times(const crn_apply *apply, const char *name, int64_t *run_ns)
{
    size_t count = (size_t)apply->repeat;
    qsort(run_ns, count, sizeof *run_ns, by_time);
    /* For an even number of runs, the mean of the middle two. */
    double median = (double)(run_ns[(count - 1) / 2] + run_ns[count / 2]) / 2e6;
    printf("%s median=%.4f min=%.4f max=%.4f n=%d\n", name, median, (double)run_ns[0] / 1e6,
           (double)run_ns[count - 1] / 1e6, apply->repeat);
}

int crn_apply_close(crn_apply *apply, int r, const crn_error *error)
{
    static const char *const names[] = {"time_ms", "kernel_ms", "upload_ms", "download_ms"};
    int status = 0;
    int clocks = apply->backend == CRN_BACKEND_CUDA ? CRN_APPLY_CLOCKS : 1;
    if (r < 0 && !(apply->dry && r == -ECANCELED))
        status = crn_tool_fail(apply->tool, "%s", error->text);
    for (int clock = 0; r == 0 && apply->timed && clock < clocks; clock++)
        print_times(apply, names[clock], apply->run_ns[clock]);
    crn_context_free(&apply->context);
    for (int clock = 0; clock < CRN_APPLY_CLOCKS; clock++) {
        free(apply->run_ns[clock]);
        apply->run_ns[clock] = NULL;
    }
    return status;
}

/* Adds the device times of the last call. */
static void add_parts(crn_apply *apply, int32_t run)
{
    crn_gpu_times times;
    if (crn_gpu_times_of(apply->context, &times) < 0)
        return;
    apply->run_ns[CRN_APPLY_KERNEL][run] += times.kernel_ns;
    apply->run_ns[CRN_APPLY_UPLOAD][run] += times.upload_ns;
    apply->run_ns[CRN_APPLY_DOWNLOAD][run] += times.download_ns;
}

int crn_apply_run(crn_apply *apply, crn_apply_call *call, void *argument)
{
    for (int32_t i = 0; i < apply->repeat; i++) {
        int64_t start_ns = crn_now_ns();
        int r = call(apply, argument);
        apply->run_ns[CRN_APPLY_ALL][i] += crn_now_ns() - start_ns;
        if (r < 0)
            return r;
        add_parts(apply, i);
    }
    return 0;
}

void crn_apply_forget(crn_apply *apply)
{
    for (int clock = 0; clock < CRN_APPLY_CLOCKS; clock++)
        memset(apply->run_ns[clock], 0, (size_t)apply->repeat * sizeof **apply->run_ns);
}

bool crn_apply_ends(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length > tail && !strcasecmp(path + length - tail, end);
}

void crn_apply_check_ending(const crn_apply *apply, const char *path, const char *const *ends)
{
    char list[128] = "";
    for (int i = 0; ends[i]; i++) {
        if (crn_apply_ends(path, ends[i]))
            return;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", ends[i]);
    }
    crn_usage_error(apply->tool, "%s: unknown file name extension; use one of %s", path, list);
}

int crn_apply_check_shape(const char *out, const crn_picture *picture, crn_error *error)
{
    crn_picture shape = *picture;
    if (crn_apply_ends(out, ".png"))
        shape.image.type = shape.alpha.type = CRN_U8;
    return crn_picture_writable(out, &shape, error);
}

int crn_apply_read(const crn_apply *apply, const char *path, crn_picture *ret_picture,
                   crn_error *error)
{
    int r = crn_picture_read(path, ret_picture, error);
    if (r == 0 && ret_picture->passed_over)
        crn_tool_note(apply->tool,
                      "%s: %" PRId32 " page%s passed over: reduced copies or transparency masks of "
                      "others",
                      path, ret_picture->passed_over, ret_picture->passed_over > 1 ? "s" : "");
    return r;
}

uint64_t crn_apply_plane_bytes(const crn_image *image, crn_type type)
{
    return (uint64_t)image->height * (uint64_t)image->width * crn_type_bytes(type);
}

int crn_apply_check_memory(const char *path, const crn_picture *probed, uint64_t more_bytes,
                           crn_error *error)
{
    const crn_image *image = &probed->image;
    uint64_t input = (uint64_t)image->planes * crn_apply_plane_bytes(image, image->type);
    if (probed->alpha.planes)
        input += (uint64_t)probed->alpha.planes * crn_apply_plane_bytes(image, probed->alpha.type);
    uint64_t available = crn_memory_available_bytes();
    if (input + more_bytes <= available)
        return 0;
    char all[CRN_BYTES_TEXT], own[CRN_BYTES_TEXT], more[CRN_BYTES_TEXT], have[CRN_BYTES_TEXT];
    return crn_error_set(error, -ENOMEM,
                         "%s: needs %s of memory (%s for %d x %d x %d %s, %s for the result "
                         "and the work), but %s are free; use a smaller picture",
                         path, crn_bytes_format(input + more_bytes, all),
                         crn_bytes_format(input, own), image->planes, image->height, image->width,
                         crn_type_name(image->type), crn_bytes_format(more_bytes, more),
                         crn_bytes_format(available, have));
}

int crn_apply_refused(const crn_apply *apply, int r, const char *path, const crn_image *image,
                      crn_error *error)
{
    bool on_device = apply->backend == CRN_BACKEND_CUDA;
    if (on_device && (r == -EIO || r == -ENODEV || r == -ETIMEDOUT || r == -ENOEXEC))
        return crn_error_set(error, r, "%s: the device failed (%s); try --backend openmp", path,
                             crn_gpu_strerror(r));
    if (on_device && r == -ENOMEM)
        return crn_error_set(
            error, r,
            "%s: no memory for the work on %d x %d pixels, on the device or the host; "
            "try --backend openmp",
            path, image->width, image->height);
    if (r == -ENOMEM) {
        char have[CRN_BYTES_TEXT];
        return crn_error_set(error, r, "%s: no memory for the work on %d x %d pixels, %s are there",
                             path, image->width, image->height,
                             crn_bytes_format(crn_memory_available_bytes(), have));
    }
    return crn_error_set(error, r,
                         "%s: the %s backend does not support this on %d planes of %d x %d %s "
                         "(%s); try --backend serial",
                         path, apply->ops->name, image->planes, image->width, image->height,
                         crn_type_name(image->type), strerror(-r));
}
