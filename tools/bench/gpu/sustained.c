/* The sustained rate of `cernita-bench gpu`: many views in flight. */
#include <errno.h>

#include "stages/base/clock.h"
#include "tools/bench/gpu/gpu.h"

#define CONTEXTS_MAX 8

/* Warm-up before measuring. */
#define WARM_UP_S 0.05

/* A context with its views, uploaded and processed repeatedly. */
typedef struct flow_context {
    crn_gpu_work *work;
    crn_context *context;
    crn_gpu_graph *graph; /* upload and work */
    bool busy;
} flow_context;

static int create(const crn_gpu_task *task, int32_t views, flow_context *it)
{
    int r = crn_gpu_work_create(task, views, 1, &it->work);
    if (r < 0)
        return r;
    it->context = it->work->context;
    r = crn_gpu_work_enqueue(it->work, 0);
    int waited = crn_gpu_work_wait(it->work);
    if (r == 0)
        r = waited;
    if (r == 0)
        r = crn_gpu_work_check(it->work);
    return r < 0 ? r : crn_gpu_work_capture(it->work, 0, 1, true, &it->graph);
}

/* Relaunches idle contexts in turn until the end time; counts the batches completed. */
static int run_until(const crn_gpu *gpu, flow_context *contexts, int32_t count, int64_t end_ns,
                     int64_t *ret_batches)
{
    int64_t begin_ns = crn_now_ns(), now_ns = begin_ns;
    *ret_batches = 0;
    while (now_ns < end_ns) {
        for (int32_t i = 0; i < count; i++) {
            int r = contexts[i].busy ? gpu->poll(contexts[i].context) : 0;
            if (r == -EAGAIN)
                continue;
            if (r == 0) {
                *ret_batches += contexts[i].busy;
                r = gpu->launch(contexts[i].context, contexts[i].graph);
                contexts[i].busy = true;
            }
            if (r < 0)
                return r;
        }
        now_ns = crn_now_ns();
    }
    return 0;
}

static int measure(const crn_gpu_task *task, double seconds, bool check, crn_gpu_flow *flow)
{
    const crn_gpu *gpu = task->gpu;
    flow_context contexts[CONTEXTS_MAX] = {0};
    int64_t batches = 0, begin_ns = 0;
    int r = 0;
    for (int32_t i = 0; r == 0 && i < flow->contexts; i++)
        r = create(task, flow->views, &contexts[i]);
    if (r == 0)
        r = run_until(gpu, contexts, flow->contexts, crn_now_ns() + (int64_t)(1e9 * WARM_UP_S),
                      &batches);
    if (r == 0) {
        begin_ns = crn_now_ns();
        r = run_until(gpu, contexts, flow->contexts, begin_ns + (int64_t)(1e9 * seconds), &batches);
    }
    double spent_s = (double)(crn_now_ns() - begin_ns) / 1e9;
    if (r == 0) {
        flow->views_per_s = (double)batches * flow->views / spent_s;
        flow->gb_per_s = (double)batches * (double)contexts[0].work->in_bytes / spent_s / 1e9;
    }
    for (int32_t i = 0; r == 0 && check && i < flow->contexts; i++)
        r = crn_gpu_work_compare(contexts[i].work);
    for (int32_t i = 0; i < flow->contexts; i++) {
        if (contexts[i].work)
            crn_gpu_work_wait(contexts[i].work);
        gpu->graph_free(&contexts[i].graph);
        crn_gpu_work_free(&contexts[i].work);
    }
    return r;
}

int crn_gpu_flow_measure(const crn_gpu_task *task, double seconds, bool check,
                         crn_gpu_flow ret_flows[CRN_GPU_FLOWS_MAX])
{
    static const struct {
        int32_t contexts, views;
    } combinations[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1},  {2, 4}, {4, 4},
                        {2, 8}, {4, 8}, {8, 4}, {2, 16}, {4, 16}};
    int32_t count = sizeof combinations / sizeof *combinations;
    for (int32_t i = 0; i < count; i++) {
        crn_gpu_flow flow = {.contexts = combinations[i].contexts, .views = combinations[i].views};
        int r = measure(task, seconds, check, &flow);
        if (r < 0)
            return r;
        ret_flows[i] = flow;
    }
    return count;
}
