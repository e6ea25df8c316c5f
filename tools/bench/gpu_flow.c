/* The sustained rate of `cernita-bench gpu`: many views in flight. */
#include <errno.h>

#include "stages/base/clock.h"
#include "tools/bench/gpu.h"

#define CONTEXTS_MAX 8

/* Warm-up before measuring. */
#define WARM_UP_S 0.05

/* A context with its views, uploaded and processed repeatedly. */
typedef struct lane {
    crn_gpu_work *work;
    crn_context *context;
    crn_gpu_graph *graph; /* upload and work */
    bool busy;
} lane;

static int open_lane(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                     int32_t views, lane *it)
{
    int r = crn_gpu_work_create(gpu, row, frame, views, 1, &it->work);
    if (r < 0)
        return r;
    it->context = crn_gpu_work_context(it->work);
    r = crn_gpu_work_ask(it->work, 0);
    int waited = crn_gpu_wait(gpu, it->context, CRN_BENCH_GPU_LIMIT_NS);
    if (r == 0)
        r = waited;
    if (r == 0)
        r = crn_gpu_work_check(it->work);
    if (r == 0)
        r = gpu->record(it->context);
    if (r < 0)
        return r;
    r = crn_gpu_work_upload(it->work, 0);
    if (r == 0)
        r = crn_gpu_work_ask(it->work, 0);
    int recorded = gpu->recorded(it->context, &it->graph);
    return r < 0 ? r : recorded;
}

/* Relaunches idle contexts in turn until the end time; counts the batches completed. */
static int run_until(const crn_gpu *gpu, lane *lanes, int32_t count, int64_t end_ns,
                     int64_t *ret_batches)
{
    int64_t begin_ns = crn_now_ns(), now_ns = begin_ns;
    *ret_batches = 0;
    while (now_ns < end_ns) {
        for (int32_t i = 0; i < count; i++) {
            int r = lanes[i].busy ? gpu->poll(lanes[i].context) : 0;
            if (r == -EAGAIN)
                continue;
            if (r == 0) {
                *ret_batches += lanes[i].busy;
                r = gpu->launch(lanes[i].context, lanes[i].graph);
                lanes[i].busy = true;
            }
            if (r < 0)
                return r;
        }
        now_ns = crn_now_ns();
    }
    return 0;
}

static int measure(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                   double seconds, bool check, crn_gpu_flow *flow)
{
    lane lanes[CONTEXTS_MAX] = {0};
    int64_t batches = 0, begin_ns = 0;
    int r = 0;
    for (int32_t i = 0; r == 0 && i < flow->contexts; i++)
        r = open_lane(gpu, row, frame, flow->views, &lanes[i]);
    if (r == 0)
        r = run_until(gpu, lanes, flow->contexts, crn_now_ns() + (int64_t)(1e9 * WARM_UP_S),
                      &batches);
    if (r == 0) {
        begin_ns = crn_now_ns();
        r = run_until(gpu, lanes, flow->contexts, begin_ns + (int64_t)(1e9 * seconds), &batches);
    }
    double spent_s = (double)(crn_now_ns() - begin_ns) / 1e9;
    if (r == 0) {
        flow->views_per_s = (double)batches * flow->views / spent_s;
        flow->gb_per_s =
            (double)batches * (double)crn_gpu_work_in_bytes(lanes[0].work) / spent_s / 1e9;
    }
    for (int32_t i = 0; r == 0 && check && i < flow->contexts; i++)
        r = crn_gpu_work_compare(gpu, lanes[i].work);
    for (int32_t i = 0; i < flow->contexts; i++) {
        if (lanes[i].context)
            crn_gpu_wait(gpu, lanes[i].context, CRN_BENCH_GPU_LIMIT_NS);
        gpu->graph_free(&lanes[i].graph);
        crn_gpu_work_free(&lanes[i].work);
    }
    return r;
}

int crn_gpu_flow_measure(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                         double seconds, bool check, crn_gpu_flow ret_flows[CRN_GPU_FLOWS_MAX])
{
    static const struct {
        int32_t contexts, views;
    } tried[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1},  {2, 4}, {4, 4},
                 {2, 8}, {4, 8}, {8, 4}, {2, 16}, {4, 16}};
    int32_t count = sizeof tried / sizeof *tried;
    for (int32_t i = 0; i < count; i++) {
        crn_gpu_flow flow = {.contexts = tried[i].contexts, .views = tried[i].views};
        int r = measure(gpu, row, frame, seconds, check, &flow);
        if (r < 0)
            return r;
        ret_flows[i] = flow;
    }
    return count;
}
