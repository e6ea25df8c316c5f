/* cernita-bench judge: the chain of cernita.h on one view, as programs of others call it, with maps
 * in host memory and with maps on a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "stages/base/clock.h"
#include "tools/bench/bench.h"
#include "tools/bench/frame.h"
#include "tools/bench/time.h"

#define REPEAT 2000

/* Copies of the maps on the device, used in rotation: larger together than its cache. */
#define ROTATED_BYTES ((size_t)160 << 20)
#define SLOT_COPIES   16

enum { OPTION_FRAME, OPTION_CONFIG, OPTION_REPEAT, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench judge",
    .operands = "",
    .about =
        "Times crn_chain_judge() of the library on one view: one thread of the processor with\n"
        "maps in host memory, then the first device with maps in its memory, in copies in\n"
        "rotation. From the call to the defects, by the host's clock. Compares the results.",
    .options =
        (const crn_option[]){
            CRN_OPTION("frame", "FILE.npy", "float32 maps, H x W x C; required"),
            CRN_OPTION("config", "LINE.yaml",
                       "whose chain; as many classes as the maps. Default: "
                       "config/line.yaml"),
            CRN_OPTION("repeat", "N", "timed calls; default 2000"),
            CRN_OPTION("json", NULL, "one JSON object per line instead of the table"),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct judge_trial {
    const char *config;
    crn_image maps;
    int32_t repeat;
    bool json;
} judge_trial;

static int fail(const char *what, const crn_context *context)
{
    return crn_tool_fail(&tool, "%s: %s", what, context ? crn_context_error(context) : "failed");
}

static void print(const judge_trial *trial, const char *where, double *ms, const crn_defects *found)
{
    size_t count = (size_t)trial->repeat;
    double median = crn_bench_median(ms, count);
    printf(trial->json ? "{\"maps\":\"%s\",\"median_us\":%.1f,\"p99_us\":%.1f,\"min_us\":%.1f,"
                         "\"calls\":%d,\"defects\":%u,\"points\":%u}\n"
                       : "%-10s %10.1f %10.1f %10.1f %8d %8u %8u\n",
           where, 1e3 * median, 1e3 * ms[(count * 99 - 1) / 100], 1e3 * ms[0], trial->repeat,
           found->defect_count, found->point_count);
}

/* The maps in some memory: `copies` images, the first and the others at intervals of `step` bytes.
 */
typedef struct judge_views {
    const char *where;
    crn_image first;
    size_t step;
    int32_t copies;
} judge_views;

/* Times the calls, each on the next image. Exit status. */
static int time_calls(const judge_trial *trial, const crn_context *context, crn_chain *chain,
                      const judge_views *views, const crn_defects **ret_found)
{
    double *ms = calloc((size_t)trial->repeat, sizeof *ms);
    int r = ms ? 0 : -ENOMEM;
    for (int32_t i = -views->copies; i < trial->repeat && r == 0;
         i++) { /* the first ones warm up */
        crn_image maps = views->first;
        maps.data = (char *)maps.data + (size_t)((i + views->copies) % views->copies) * views->step;
        int64_t begin_ns = crn_now_ns();
        r = crn_chain_judge(chain, &maps, NULL, ret_found);
        if (i >= 0 && r == 0)
            ms[i] = (double)(crn_now_ns() - begin_ns) / 1e6;
    }
    if (r == 0)
        print(trial, views->where, ms, *ret_found);
    free(ms);
    return r < 0 ? fail(views->where, context) : 0;
}

static bool is_same(const crn_defects *a, const crn_defects *b)
{
    if (a->defect_count != b->defect_count || a->point_count != b->point_count ||
        memcmp(a->xy, b->xy, 2 * a->point_count * sizeof *a->xy) != 0)
        return false;
    for (uint32_t i = 0; i < a->defect_count; i++)
        if (memcmp(&a->defects[i].mean_probability, &b->defects[i].mean_probability,
                   sizeof(double)) != 0)
            return false;
    return a->texture_count == b->texture_count &&
           memcmp(a->textures, b->textures, a->texture_count * sizeof *a->textures) == 0;
}

/* With a context of these settings and `maps` in its memory, then compared with `expected`. */
static int judge_on_device(const judge_trial *trial, const crn_gpu *gpu, crn_context *memory,
                           const crn_defects *expected)
{
    size_t bytes = crn_image_elements(&trial->maps) * sizeof(float);
    int32_t copies = (int32_t)(ROTATED_BYTES / bytes) + 1;
    crn_image there = trial->maps;
    there.data = crn_context_scratch(memory, SLOT_COPIES, (size_t)copies * bytes);
    int r = there.data ? 0 : -ENOMEM;
    for (int32_t i = 0; i < copies && r == 0; i++)
        r = gpu->upload(memory, (char *)there.data + (size_t)i * bytes, trial->maps.data, bytes);
    if (r == 0)
        r = crn_gpu_wait(gpu, memory, 10 * CRN_NS_PER_S);
    if (r < 0)
        return crn_tool_fail(&tool, "upload: %s", crn_gpu_strerror(r));
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    const crn_defects *found = NULL;
    int status = 0;
    if (crn_context_open(&settings, &context) < 0 ||
        crn_chain_open(context, trial->config, &chain) < 0)
        status = fail("device", context);
    else
        status = time_calls(trial, context, chain, &(judge_views){"device", there, bytes, copies},
                            &found);
    if (status == 0 && !is_same(expected, found))
        status = crn_tool_fail(&tool, "the device found other defects than the processor");
    crn_chain_free(&chain);
    crn_context_free(&context);
    return status;
}

static int judge(const judge_trial *trial)
{
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    const crn_defects *expected = NULL;
    if (crn_context_open(NULL, &context) < 0 ||
        crn_chain_open(context, trial->config, &chain) < 0) {
        int status = fail("host", context);
        crn_context_free(&context);
        return status;
    }
    int status =
        time_calls(trial, context, chain, &(judge_views){"host", trial->maps, 0, 1}, &expected);
    const char *why;
    const crn_gpu *gpu = crn_gpu_get(&why);
    crn_context *memory = NULL;
    if (!gpu)
        fprintf(stderr, "cernita-bench judge: no device: %s\n", why);
    else if (status == 0 && gpu->context_create(0, 1, &memory) < 0)
        status = fail("device", NULL);
    else if (status == 0)
        status = judge_on_device(trial, gpu, memory, expected);
    crn_context_free(&memory);
    crn_chain_free(&chain);
    crn_context_free(&context);
    return status;
}

int crn_bench_judge(int argc, char **argv)
{
    judge_trial trial = {.config = "config/line.yaml", .repeat = REPEAT};
    const char *value, *frame = NULL;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_FRAME)
            frame = value;
        else if (option == OPTION_CONFIG)
            trial.config = value;
        else if (option == OPTION_REPEAT)
            trial.repeat = (int32_t)crn_option_integer(&tool, "repeat", value, 1, 1000000);
        else
            trial.json = true;
    }
    if (!frame)
        crn_usage_error(&tool, "--frame FILE.npy is missing");
    crn_error error;
    if (crn_frame_read(frame, &trial.maps, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    if (!trial.json)
        printf("%-10s %10s %10s %10s %8s %8s %8s\n", "maps", "median us", "p99 us", "min us",
               "calls", "defects", "points");
    int status = judge(&trial);
    free(trial.maps.data);
    return status;
}
