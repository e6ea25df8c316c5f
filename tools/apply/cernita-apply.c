/* cernita-apply: one operator on one file. */
#include "stages/base/file/new_file.h"
#include "stages/base/process/standard.h"
#include "tools/common/operators/operators.h"

static const crn_tool tool = {
    .name = "cernita-apply",
    .operands = "OPERATOR [options] IN OUT",
    .about =
        "Applies one operator to a picture: TIFF, PNG, JPEG or NumPy's .npy; the result is TIFF "
        "or\n"
        "PNG. The pages and samples of a file are its planes. Each operator has its own --help:\n\n"
        "  contours        contours at a level, as JSON or drawn over the picture\n"
        "  morphology      erosion, dilation, opening, closing, gradient, top hat, black hat\n"
        "  convolve        convolution with a kernel (correlation, as OpenCV's filter2D)\n"
        "  haar            the Haar transform, its inverse, and denoising\n"
        "  ranklet         rank statistics of one half of a window against the other\n"
        "  diamond-square  a fractal field (a generator: no IN)",
    .options = (const crn_option[]){{NULL, NULL, NULL}},
    .operands_min = 1,
    .operands_max = 1,
};

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-apply");
    crn_new_file_remove_at_signals();
    const crn_operator *found = argc > 1 ? crn_operator_find(argv[1]) : NULL;
    if (found)
        return found->run(argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        crn_usage_error(
            &tool,
            "unknown operator '%s'; choose contours, morphology, convolve, haar, ranklet or "
            "diamond-square",
            argv[1]);
    const char *value;
    crn_options_next(&tool, argc, argv, &value); /* --help, --version or a fault */
    crn_usage_error(&tool, "an operator is missing");
}
