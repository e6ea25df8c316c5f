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
#include "tools/bench/print.h"
#include "tools/bench/time.h"

#define REPEAT 2000

/* Copies of the maps on the device, used in rotation: larger together than its cache. */
#define ROTATED_BYTES ((size_t)160 << 20)
#define SLOT_COPIES   16

typedef struct judge_trial {
    const char *frame, *config;
    crn_image maps;
    int32_t repeat;
    bool json;
} judge_trial;

static const crn_tool tool = {
    .name = "cernita-bench judge",
    .operands = "",
    .about =
        "Times crn_chain_judge() of the library on one view: one thread of the processor with\n"
        "maps in host memory, then the first device with maps in its memory, in copies in\n"
        "rotation. From the call to the defects, by the host's clock. Compares the results.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("frame", "FILE.npy", judge_trial, frame,
                          .help = "float32 maps, H x W x C", .required = true),
            CRN_OPTION_AT("config", "LINE.yaml", judge_trial, config,
                          .help = "whose chain; as many classes as the maps. Default: "
                                  "config/line.yaml"),
            CRN_OPTION_AT("repeat", "N", judge_trial, repeat, .help = "timed calls; default 2000",
                          .min = 1, .max = 1000000),
            CRN_BENCH_JSON(judge_trial),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

static int fail(const char *what, const crn_context *context)
{
    return crn_tool_fail(&tool, "%s: %s", what, context ? crn_context_error(context) : "failed");
}

typedef struct judge_row {
    const char *where;
    double median_us, p99_us, min_us;
    int32_t calls;
    uint32_t defects, points;
} judge_row;

static const crn_bench_column columns[] = {
    {"maps", "maps", CRN_CELL(judge_row, where), -10},
    {"median_us", "median us", CRN_CELL(judge_row, median_us), 10, 1, 1},
    {"p99_us", "p99 us", CRN_CELL(judge_row, p99_us), 10, 1, 1},
    {"min_us", "min us", CRN_CELL(judge_row, min_us), 10, 1, 1},
    {"calls", "calls", CRN_CELL(judge_row, calls), 8},
    {"defects", "defects", CRN_CELL(judge_row, defects), 8},
    {"points", "points", CRN_CELL(judge_row, points), 8},
    {0},
};

/* The maps in some memory: `copies` images, the first and the others at intervals of `step` bytes.
 */
typedef struct judge_views {
    const char *where;
    crn_image first;
    size_t step;
    int32_t copies;
} judge_views;

typedef struct judge_calls {
    crn_chain *chain;
    const judge_views *views;
    int32_t next;
    const crn_defects *found;
} judge_calls;

/* Judges the next image. */
static int time_call(void *work, double *ret_ms)
{
    judge_calls *calls = work;
    crn_image maps = calls->views->first;
    int32_t copy = calls->next++ % calls->views->copies;
    maps.data = (char *)maps.data + (size_t)copy * calls->views->step;
    int64_t begin_ns = crn_now_ns();
    int r = crn_chain_judge(calls->chain, &maps, NULL, &calls->found);
    *ret_ms = (double)(crn_now_ns() - begin_ns) / 1e6;
    return r;
}

/* Exit status. */
static int time_calls(const judge_trial *trial, const crn_context *context, crn_chain *chain,
                      const judge_views *views, const crn_defects **ret_found)
{
    crn_bench_rounds rounds = {
        .warm_up = views->copies, .least = trial->repeat, .most = trial->repeat};
    judge_calls calls = {.chain = chain, .views = views};
    double *ms = calloc((size_t)trial->repeat, sizeof *ms);
    int count = ms ? crn_bench_repeat(time_call, &calls, &rounds, ms) : -ENOMEM;
    *ret_found = calls.found;
    if (count > 0) {
        judge_row row = {views->where,
                         1e3 * crn_bench_median(ms, (size_t)count),
                         1e3 * crn_bench_p99(ms, (size_t)count),
                         1e3 * ms[0],
                         count,
                         calls.found->defect_count,
                         calls.found->point_count};
        crn_bench_print_row(columns, &row, trial->json);
    }
    free(ms);
    return count < 0 ? fail(views->where, context) : 0;
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
    crn_options_read(&tool, argc, argv, &trial);
    crn_error error;
    if (crn_frame_read(trial.frame, &trial.maps, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    if (!trial.json)
        crn_bench_print_headings(columns);
    int status = judge(&trial);
    free(trial.maps.data);
    return status;
}
