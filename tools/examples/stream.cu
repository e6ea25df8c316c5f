// On a device: `stream LINE.yaml` makes maps with a kernel of its own, smooths them with an
// operator and judges them with a line's chain, all on one stream. The maps never leave the device.
#include <cernita.h>

#include <cstdio>
#include <cuda_runtime.h>

static const int HEIGHT = 95, WIDTH = 511;

static __global__ void make_maps(float *maps, int classes)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= HEIGHT * WIDTH * classes)
        return;
    int i = at % classes, x = at / classes % WIDTH, y = at / classes / WIDTH;
    float from = hypotf(x - WIDTH * (i + 0.5f) / classes, y - HEIGHT / 2.0f);
    maps[at] = 1 / (1 + expf(from - 5));
}

static int run(crn_context *context, crn_chain *chain, cudaStream_t stream)
{
    int classes = crn_chain_class_count(chain);
    size_t bytes = sizeof(float) * HEIGHT * WIDTH * classes;
    float *maps = nullptr, *smooth = nullptr;
    if (cudaMalloc(&maps, bytes) != cudaSuccess || cudaMalloc(&smooth, bytes) != cudaSuccess)
        return 1;
    make_maps<<<(HEIGHT * WIDTH * classes + 255) / 256, 256, 0, stream>>>(maps, classes);
    const float weights[9] = {1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f,
                              1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f};
    crn_convolve_params blur = {weights, 3, 3, CRN_CONVOLVE_REPLICATE};
    crn_image in = crn_image_dense(maps, CRN_F32, CRN_HWC, classes, HEIGHT, WIDTH);
    crn_image out = crn_image_dense(smooth, CRN_F32, CRN_HWC, classes, HEIGHT, WIDTH);
    const crn_defects *found = nullptr;
    int r = crn_convolve(context, &blur, &in, &out); // enqueued, behind make_maps
    if (r == 0)
        r = crn_chain_judge(chain, &out, nullptr, &found); // waits for the stream
    if (r < 0)
        std::fprintf(stderr, "stream: %s\n", crn_context_error(context));
    for (uint32_t i = 0; r == 0 && i < found->defect_count; i++)
        std::printf("%s: %.1f px2\n", crn_chain_class_name(chain, found->defects[i].channel),
                    found->defects[i].area_px);
    cudaFree(maps);
    cudaFree(smooth);
    return r < 0;
}

int main(int count, char **arguments)
{
    const char *why = crn_backend_missing(CRN_BACKEND_CUDA);
    cudaStream_t stream;
    if (count != 2 || why || cudaStreamCreate(&stream) != cudaSuccess) {
        std::fprintf(stderr, "stream: %s\n", why ? why : "usage: stream LINE.yaml");
        return 1;
    }
    crn_context_settings settings = {};
    settings.backend = CRN_BACKEND_CUDA;
    settings.memory = CRN_MEMORY_DEVICE;
    settings.stream = stream;
    crn_context *context = nullptr;
    crn_chain *chain = nullptr;
    int status = 1;
    if (crn_context_open(&settings, &context) < 0)
        std::fprintf(stderr, "stream: no context on device 0\n");
    else if (crn_chain_open(context, arguments[1], &chain) < 0)
        std::fprintf(stderr, "stream: %s\n", crn_context_error(context));
    else
        status = run(context, chain, stream);
    crn_chain_free(&chain);
    crn_context_free(&context); // before its stream
    cudaStreamDestroy(stream);
    return status;
}
