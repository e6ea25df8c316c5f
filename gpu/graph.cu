/* Graphs: stream capture, instantiation and launch. */
#include "gpu/device_internal.cuh"

#include <stdlib.h>

struct crn_gpu_graph {
    cudaGraphExec_t ready;
};

int crn_gpu_begin_capture(crn_context *context)
{
    crn_gpu_state *state = crn_gpu_state_of(context);
    cudaStreamBeginCapture(state->stream, cudaStreamCaptureModeThreadLocal);
    int r = crn_gpu_launch_error();
    state->capturing = r == 0;
    return r;
}

int crn_gpu_end_capture(crn_context *context, crn_gpu_graph **ret_graph)
{
    crn_gpu_state *state = crn_gpu_state_of(context);
    cudaGraph_t captured = NULL;
    cudaStreamEndCapture(state->stream, &captured);
    state->capturing = false;
    int r = crn_gpu_launch_error();
    crn_gpu_graph *graph = NULL;
    if (r == 0 && !captured)
        r = -EIO;
    if (r == 0) {
        graph = static_cast<crn_gpu_graph *>(calloc(1, sizeof *graph));
        if (!graph)
            r = -ENOMEM;
    }
    if (r == 0)
        r = crn_gpu_errno(cudaGraphInstantiate(&graph->ready, captured, 0));
    if (r == 0)
        r = crn_gpu_errno(cudaGraphUpload(graph->ready, state->stream));
    if (captured)
        cudaGraphDestroy(captured);
    cudaGetLastError();
    if (r < 0) {
        crn_gpu_graph_free(&graph);
        return r;
    }
    *ret_graph = graph;
    return 0;
}

int crn_gpu_launch(crn_context *context, crn_gpu_graph *graph)
{
    cudaGraphLaunch(graph->ready, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

void crn_gpu_graph_free(crn_gpu_graph **graph)
{
    if (!*graph)
        return;
    if ((*graph)->ready)
        cudaGraphExecDestroy((*graph)->ready);
    cudaGetLastError();
    free(*graph);
    *graph = NULL;
}
