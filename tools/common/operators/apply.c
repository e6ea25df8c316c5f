#include "tools/common/operators/apply.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "stages/base/clock.h"
#include "stages/base/file/new_file.h"
#include "stages/base/buffer/text.h"
#include "tools/common/cores.h"

#define THREADS_MAX 1024
#define REPEAT_MAX  10000

#define OPTIONS_MAX 32

/* What every operator's command line has besides. */
static const crn_option common_options[] = {
    CRN_OPTION_AT("backend", "B", crn_apply, backend, .choices = crn_backend_names,
                  .initial = "auto", .help = "what computes"),
    CRN_OPTION_AT("threads", "N", crn_apply, threads, .min = 1, .max = THREADS_MAX,
                  .help = "threads that openmp may use, 1 to 1024 (as many as there are cores)"),
    CRN_OPTION_AT("time", NULL, crn_apply, timed,
                  .help = "print the operator's time, without reading and writing files:\n"
                          "time_ms cold=... is that of the first run with the backend's start;\n"
                          "with cuda it includes the transfers, and kernel_ms, upload_ms,\n"
                          "download_ms are its parts"),
    CRN_OPTION_AT("repeat", "N", crn_apply, repeat, .min = 1, .max = REPEAT_MAX,
                  .help = "with --time: run it N times more, 1 to 10000; median=... min=...\n"
                          "max=... n=N are of these warm runs"),
    CRN_OPTION_AT("dry-run", NULL, crn_apply, dry,
                  .help = "check the options, the files and the memory, and do no more"),
    {0},
};

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

/* True if the backend has the operator. */
static bool offers(const crn_ops *ops, const crn_operator *of)
{
    void (*function)(void);
    memcpy(&function, (const char *)ops + of->function, sizeof function);
    return function != NULL;
}

/* After the last option: selects the backend, which must offer the operator, creates the context,
 * and checks that `out` can be created, so that this fails before the work and not after it. */
static int open_run(crn_apply *apply, const crn_operator *of, const char *out, crn_error *error)
{
    if (apply->repeat && !apply->timed)
        crn_usage_error(&apply->tool, "--repeat needs --time");
    if (!apply->threads)
        apply->threads = crn_core_count() < THREADS_MAX ? crn_core_count() : THREADS_MAX;
    int64_t begun_ns = crn_now_ns();
    const char *why = NULL;
    apply->ops = crn_backend_ops((crn_backend)apply->backend, &why);
    if (!apply->ops)
        return crn_error_set(error, -ENOTSUP, "--backend %s: %s; openmp and serial are available",
                             crn_backend_names[apply->backend], why ? why : "not in this build");
    if (!offers(apply->ops, of))
        return crn_error_set(error, -ENOTSUP, "the %s backend has no %s; use another --backend",
                             apply->ops->name, of->name);
    bool fine = true;
    for (int clock = 0; clock < CRN_APPLY_CLOCKS; clock++) {
        apply->run_ns[clock] = calloc((size_t)apply->repeat + 1, sizeof **apply->run_ns);
        fine = fine && apply->run_ns[clock];
    }
    if (!fine || crn_context_create(apply->threads, &apply->context) < 0)
        return crn_error_set(error, -ENOMEM, "no memory");
    apply->start_ns = crn_now_ns() - begun_ns;
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

/* The cold run, then the median of the warm ones, if there are any, and how far they spread. */
static void print_times(const crn_apply *apply, const char *name, int64_t cold_ns, int64_t *warm_ns)
{
    size_t count = (size_t)apply->repeat;
    printf("%s cold=%.4f", name, (double)cold_ns / 1e6);
    if (count > 0) {
        qsort(warm_ns, count, sizeof *warm_ns, by_time);
        /* For an even number of runs, the mean of the middle two. */
        double median = (double)(warm_ns[(count - 1) / 2] + warm_ns[count / 2]) / 2e6;
        printf(" median=%.4f min=%.4f max=%.4f n=%d", median, (double)warm_ns[0] / 1e6,
               (double)warm_ns[count - 1] / 1e6, apply->repeat);
    }
    putchar('\n');
}

/* Prints the error when r < 0, else the timing if requested; frees what it owns. Returns the exit
 * status. */
static int close_run(crn_apply *apply, int r, const crn_error *error)
{
    static const char *const names[] = {"time_ms", "kernel_ms", "upload_ms", "download_ms"};
    int status = 0;
    int clocks = apply->backend == CRN_BACKEND_CUDA ? CRN_APPLY_CLOCKS : 1;
    if (r < 0 && !(apply->dry && r == -ECANCELED))
        status = crn_tool_fail(&apply->tool, "%s", error->text);
    for (int clock = 0; r == 0 && apply->timed && clock < clocks; clock++)
        print_times(apply, names[clock],
                    apply->run_ns[clock][0] + (clock == CRN_APPLY_ALL ? apply->start_ns : 0),
                    apply->run_ns[clock] + 1);
    crn_context_free(&apply->context);
    for (int clock = 0; clock < CRN_APPLY_CLOCKS; clock++)
        free(apply->run_ns[clock]);
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
    for (int32_t i = 0; i <= apply->repeat; i++) {
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
        memset(apply->run_ns[clock], 0, ((size_t)apply->repeat + 1) * sizeof **apply->run_ns);
}

bool crn_apply_ends(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length > tail && !strcasecmp(path + length - tail, end);
}

/* OUT must end in one of `ends`; otherwise exits with status 2. */
static void check_ending(const crn_tool *tool, const char *path, const char *const *ends)
{
    char bytes[128];
    crn_text list = CRN_TEXT_IN(bytes);
    for (int i = 0; ends[i]; i++) {
        if (crn_apply_ends(path, ends[i]))
            return;
        crn_text_add(&list, "%s%s", i ? ", " : "", ends[i]);
    }
    crn_usage_error(tool, "%s: unknown file name extension; use one of %s", path, bytes);
}

int crn_apply_check_shape(const char *out, const crn_picture *picture, crn_error *error)
{
    crn_picture shape = *picture;
    if (crn_apply_ends(out, ".png"))
        shape.image.type = shape.alpha.type = CRN_U8;
    return crn_picture_writable(out, &shape, error);
}

/* As crn_picture_read(), with a note on what the file has besides. */
static int read_picture(const crn_apply *apply, const char *path, crn_picture *ret_picture,
                        crn_error *error)
{
    int r = crn_picture_read(path, ret_picture, error);
    if (r == 0 && ret_picture->passed_over)
        crn_tool_note(&apply->tool,
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

/* --- from file to file --- */

/* The picture is read when nothing that its header tells stands against it. */
static int work_on(const crn_operator *of, crn_apply *settings, const char *in, const char *out,
                   crn_error *error)
{
    crn_picture probed = {0}, picture = {0};
    int r = crn_picture_probe(in, &probed, error);
    if (r == 0)
        r = of->hooks.check_picture(settings, in, out, &probed, error);
    if (r == 0)
        r = crn_apply_begin(settings);
    if (r == 0)
        r = read_picture(settings, in, &picture, error);
    if (r == 0)
        r = of->hooks.work(settings, in, out, &picture, error);
    crn_picture_free(&probed);
    crn_picture_free(&picture);
    return r;
}

/* Completes `tool` and *options, the operator's own rows and the common ones. */
static void make_tool(const crn_operator *of, char name[64], crn_option *options, crn_tool *tool)
{
    size_t count = 0;
    while (of->options[count].name)
        count++;
    memcpy(options, of->options, count * sizeof *options);
    memcpy(options + count, common_options, sizeof common_options);
    snprintf(name, 64, "cernita-apply %s", of->name);
    int32_t operands = of->generates ? 1 : 2;
    *tool = (crn_tool){.name = name,
                       .operands = of->generates ? "OUT" : "IN OUT",
                       .about = of->about,
                       .options = options,
                       .operands_min = operands,
                       .operands_max = operands};
}

int crn_operator_run(const crn_operator *of, int argc, char **argv)
{
    char name[64];
    crn_option options[OPTIONS_MAX];
    crn_error error = {0};
    crn_apply *settings = calloc(1, of->settings_bytes);
    if (!settings) {
        fputs("cernita-apply: no memory\n", stderr);
        return CRN_EXIT_FAILED;
    }
    if (of->initial)
        memcpy(settings, of->initial, of->settings_bytes);
    make_tool(of, name, options, &settings->tool);
    crn_options_read(&settings->tool, argc, argv, settings);
    const char *in = of->generates ? NULL : argv[optind], *out = argv[optind + !of->generates];
    if (of->hooks.check_options)
        of->hooks.check_options(settings, out);
    check_ending(&settings->tool, out, of->endings);
    int r = open_run(settings, of, out, &error);
    if (r == 0 && of->hooks.prepare)
        r = of->hooks.prepare(settings, in, &error);
    if (r == 0)
        r = of->generates ? of->hooks.work(settings, in, out, NULL, &error)
                          : work_on(of, settings, in, out, &error);
    int status = close_run(settings, r, &error);
    free(settings);
    return status;
}
