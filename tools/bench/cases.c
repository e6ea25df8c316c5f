#include "tools/bench/cases.h"

const char *const crn_bench_operator_names[] = {"contours", "morphology",     "convolve", "haar",
                                                "ranklet",  "diamond-square", NULL};

/* Sizes of the line's own frame and of the pictures in the operators' original publications. */
#define FRAME  12, 95, 511
#define PHOTO  3, 1920, 2560
#define UHD    3, 2160, 3840
#define SCALED 1, 1800, 2880

#define WAVES(length_px, type_name, ...) .picture = {length_px, 0, CRN_##type_name, __VA_ARGS__}
#define NOISE(type_name, ...)            .picture = {0, 1, CRN_##type_name, __VA_ARGS__}
#define NOISY_WAVES(length_px, type_name, ...)                                                     \
    .picture = {length_px, 1e-3, CRN_##type_name, __VA_ARGS__}

#define CONTOURS(border_name) .op = CRN_BENCH_CONTOURS, .border = CRN_BORDER_##border_name
#define OPEN(shape_name, side)                                                                     \
    .op = CRN_BENCH_MORPHOLOGY, .opening = {CRN_ELEMENT_##shape_name, side}
#define CONVOLVE(kernel_name, side) .op = CRN_BENCH_CONVOLVE, .kernel = {kernel_name, side}
#define HAAR(direction_name, level_count)                                                          \
    .op = CRN_BENCH_HAAR,                                                                          \
    .haar = {.direction = CRN_HAAR_##direction_name, .levels = level_count, .threshold = 0.05f}
#define RANKLET(from, to) .op = CRN_BENCH_RANKLET, .windows = {from, to}
#define DIAMOND_SQUARE(n) .op = CRN_BENCH_DIAMOND_SQUARE, .exponent = n
#define CHAIN             .op = CRN_BENCH_CHAIN

#define GPU(name, span, target_ms) .gpu = {{name, CRN_GPU_##span, target_ms}}
#define NAMED(name)                .gpu = {{name, CRN_GPU_NOT_TIMED, 0}}
#define GPU_TWICE(name, span, target_ms, name_2, span_2, target_2_ms)                              \
    .gpu = {{name, CRN_GPU_##span, target_ms}, {name_2, CRN_GPU_##span_2, target_2_ms}}

/* Columns: the parameters as text, operator and parameters, picture, steps of the serial operator
 * per element, rows of `cernita-bench gpu` with their targets in ms. Waves of 62 pixels in 4096 x
 * 4096 have 0.9 million segments. */
const crn_bench_case crn_bench_cases[] = {
    {"waves", CONTOURS(OPEN), NOISY_WAVES(60, F32, FRAME), 4},
    {NULL, CONTOURS(OPEN), WAVES(60, F32, FRAME), 0,
     GPU_TWICE("contours frame f32, device to host", TO_HOST, 0.040,
               "contours frame f32, host to host", FROM_HOST, 0.110)},
    {NULL, CONTOURS(CLOSED), WAVES(60, F32, FRAME), 0,
     GPU("contours frame f32, closed border", TO_HOST, 0.040)},
    {NULL, CONTOURS(OPEN), WAVES(60, U8, FRAME), 0,
     GPU("contours frame u8, host to host", FROM_HOST, 0.070)},
    {"noise", CONTOURS(OPEN), NOISE(F32, FRAME), 4},
    {"waves", CONTOURS(OPEN), NOISY_WAVES(40, F32, 1, 1024, 1024), 4},
    {"noise", CONTOURS(OPEN), NOISE(F32, 1, 1024, 1024), 4},
    {"waves", CONTOURS(OPEN), NOISY_WAVES(40, F32, 1, 2048, 2048), 4},
    {"waves", CONTOURS(OPEN), NOISY_WAVES(40, F32, 1, 4096, 4096), 4},
    {NULL, CONTOURS(OPEN), WAVES(62, F32, 1, 4096, 4096), 0,
     GPU("contours smooth f32 4096x4096", TO_HOST, 1.5)},
    {"open disk 5", OPEN(DISK, 5), NOISE(F32, FRAME), 26,
     GPU("opening frame f32, disk 5", ON_DEVICE, 0)},
    {"open disk 5", OPEN(DISK, 5), NOISE(U8, FRAME), 26,
     GPU("opening frame u8, disk 5", ON_DEVICE, 0)},
    {"open rect 11", OPEN(RECT, 11), NOISE(U8, 3, 480, 640), 242},
    {"open rect 3", OPEN(RECT, 3), NOISE(U8, PHOTO), 18,
     GPU("opening u8 RGB 1920x2560, rect 3", ON_DEVICE, 0.025)},
    {"open rect 11", OPEN(RECT, 11), NOISE(U8, PHOTO), 242,
     GPU("opening u8 RGB 1920x2560, rect 11", ON_DEVICE, 0.035)},
    {"open rect 21", OPEN(RECT, 21), NOISE(U8, PHOTO), 882,
     GPU("opening u8 RGB 1920x2560, rect 21", ON_DEVICE, 0.050)},
    {NULL, OPEN(DISK, 11), NOISE(U8, 1, 1920, 2560), 0,
     GPU("opening u8 1920x2560, disk 11", ON_DEVICE, 0.040)},
    {"open disk 11", OPEN(DISK, 11), NOISE(U8, PHOTO), 178,
     GPU("opening u8 RGB 1920x2560, disk 11", ON_DEVICE, 0)},
    {"open disk 21", OPEN(DISK, 21), NOISE(U8, PHOTO), 634,
     NAMED("opening u8 RGB 1920x2560, disk 21")},
    {NULL, OPEN(DISK, 5), NOISE(F32, 1, 95, 511), 0, NAMED("opening f32 95x511, disk 5")},
    {"gaussian 3", CONVOLVE("gaussian", 3), NOISE(F32, FRAME), 9,
     GPU("convolve frame f32, gaussian 3", ON_DEVICE, 0)},
    {"dense 3", CONVOLVE("dense", 3), NOISE(F32, FRAME), 9},
    {"dense 3", CONVOLVE("dense", 3), NOISE(U8, UHD), 9,
     GPU("convolve u8 RGB 2160x3840, dense 3", ON_DEVICE, 0.030)},
    {NULL, CONVOLVE("dense", 5), NOISE(U8, UHD), 0,
     GPU("convolve u8 RGB 2160x3840, dense 5", ON_DEVICE, 0.050)},
    {"dense 7", CONVOLVE("dense", 7), NOISE(U8, UHD), 49,
     GPU("convolve u8 RGB 2160x3840, dense 7", ON_DEVICE, 0.090)},
    {"dense 15", CONVOLVE("dense", 15), NOISE(U8, UHD), 225,
     NAMED("convolve u8 RGB 2160x3840, dense 15")},
    {"gaussian 15", CONVOLVE("gaussian", 15), NOISE(U8, UHD), 225},
    {"denoise 2", HAAR(DENOISE, 2), NOISE(F32, FRAME), 6},
    {"forward 3", HAAR(FORWARD, 3), NOISE(F32, SCALED), 3,
     GPU("haar f32 1800x2880, 3 levels forward", ON_DEVICE, 0.018)},
    {"inverse 3", HAAR(INVERSE, 3), NOISE(F32, SCALED), 3,
     GPU("haar f32 1800x2880, 3 levels inverse", ON_DEVICE, 0)},
    {"forward 3", HAAR(FORWARD, 3), NOISE(U8, SCALED), 3},
    {"4, 8, 16", RANKLET(4, 16), NOISE(U8, 1, 95, 511), 1e4,
     NAMED("ranklet u8 95x511, windows 4, 8, 16")},
    {"8", RANKLET(8, 8), NOISE(U8, 1, 1024, 1024), 3e3},
    {"64", RANKLET(64, 64), NOISE(U8, 1, 1024, 1024), 2e5},
    {"pyramid", RANKLET(2, 1024), NOISE(U8, 1, 1024, 1024), 1e7,
     GPU("ranklet u8 1024x1024, pyramid", ON_DEVICE, 4)},
    {NULL, RANKLET(2, 4096), NOISE(U8, 1, 4096, 4096), 0,
     GPU("ranklet u8 4096x4096, pyramid", ON_DEVICE, 150)},
    {"exponent 10", DIAMOND_SQUARE(10), NOISE(U8, 1, 1025, 1025), 20},
    {"exponent 13", DIAMOND_SQUARE(13), NOISE(U8, 1, 8193, 8193), 20,
     GPU("diamond_square u8 8193x8193", ON_DEVICE, 0.15)},
    {NULL, CHAIN, WAVES(60, F32, FRAME), 0,
     GPU_TWICE("chain f32, one view", FROM_HOST, 0.180, "chain f32, sustained", SUSTAINED, 0)},
    {NULL, CHAIN, WAVES(60, U8, FRAME), 0,
     GPU_TWICE("chain u8, one view", FROM_HOST, 0, "chain u8, sustained", SUSTAINED, 0)},
};

const int32_t crn_bench_case_count = sizeof crn_bench_cases / sizeof *crn_bench_cases;

const crn_gpu_row *crn_bench_row(int32_t index, const crn_bench_case **ret_of)
{
    for (int32_t i = 0; i < crn_bench_case_count; i++) {
        const crn_bench_case *of = &crn_bench_cases[i];
        for (int32_t k = 0; k < CRN_BENCH_GPU_ROWS_MAX && of->gpu[k].name; k++) {
            if (index-- == 0) {
                *ret_of = of;
                return &of->gpu[k];
            }
        }
    }
    return NULL;
}
