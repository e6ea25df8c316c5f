/* cernita-apply diamond-square. */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>

#include "tools/common/operators/apply.h"
#include "tools/common/progress.h"

static const crn_option options[] = {
    {"exponent", "N", "the field is 2^N + 1 pixels wide and high, 0 to 20 (required)"},
    {"seed", "S", "the same seed gives the same field (required)"},
    {"roughness", "R", "factor of the noise from level to level, 0 to 1 (0.5)"},
    {"type", "TYPE", "u8, rounded and saturated, or f32 (u8)"},
    CRN_APPLY_OPTIONS,
};
enum { OPTION_EXPONENT, OPTION_SEED, OPTION_ROUGHNESS, OPTION_TYPE, OPTION_COMMON };

static const char *const types[] = {"u8", "f32", NULL};

static const crn_value_range ranges[] = {
    [OPTION_EXPONENT] = {CRN_VALUE_INTEGER, true, 0, CRN_DIAMOND_SQUARE_EXPONENT_MAX, NULL, NULL},
    [OPTION_SEED] = {CRN_VALUE_INTEGER, true, 0, (double)INT64_MAX, NULL, NULL},
    [OPTION_ROUGHNESS] = {CRN_VALUE_REAL, false, 0, 1, NULL, "0.5"},
    [OPTION_TYPE] = {CRN_VALUE_CHOICE, false, 0, 0, types, "u8"},
};

static const crn_tool tool = {
    .name = "cernita-apply diamond-square",
    .operands = "OUT",
    .about =
        "A fractal field around 128 by the diamond-square algorithm. OUT.tif, or OUT.png in u8.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
};

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_diamond_square_settings {
    crn_diamond_square_params params; /* exponent -1: not given */
    bool seeded;
    crn_type type;
} apply_diamond_square_settings;

static void read_options(int argc, char **argv, crn_apply *apply,
                         apply_diamond_square_settings *set)
{
    crn_diamond_square_params *params = &set->params;
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_EXPONENT:
            params->exponent =
                (int32_t)crn_operator_integer(&crn_apply_diamond_square, option, text);
            break;
        case OPTION_SEED:
            params->seed = (uint64_t)crn_operator_integer(&crn_apply_diamond_square, option, text);
            set->seeded = true;
            break;
        case OPTION_ROUGHNESS:
            params->roughness = crn_operator_real(&crn_apply_diamond_square, option, text);
            break;
        case OPTION_TYPE:
            set->type =
                crn_operator_choice(&crn_apply_diamond_square, option, text) ? CRN_F32 : CRN_U8;
            break;
        default:
            crn_apply_option(apply, option - OPTION_COMMON, text);
        }
    }
    if (params->exponent < 0)
        crn_usage_error(&tool, "--exponent is missing: how large is the field?");
    if (!set->seeded)
        crn_usage_error(&tool, "--seed is missing");
    crn_apply_check_ending(apply, argv[optind], endings);
    if (set->type == CRN_F32 && crn_apply_ends(argv[optind], ".png"))
        crn_usage_error(&tool, "%s: a PNG holds no f32; name a .tif or leave --type out",
                        argv[optind]);
}

#define BAND_PIXELS (1 << 24) /* per call: some hundredths of a second */
#define BAND_ROWS   1024      /* at least: neighbouring bands share some work */

typedef struct diamond_square_call {
    crn_diamond_square_params params;
    crn_image out;
} diamond_square_call;

static int run(const crn_apply *apply, void *argument)
{
    diamond_square_call *c = argument;
    return apply->ops->diamond_square(apply->context, &c->params, &c->out);
}

static int check_memory(const crn_apply *apply, const apply_diamond_square_settings *set,
                        const char *out, int32_t side, crn_error *error)
{
    uint64_t pixels = (uint64_t)side * (uint64_t)side;
    uint64_t bytes = pixels * crn_type_bytes(set->type);
    if (apply->backend == CRN_BACKEND_SERIAL)
        bytes += pixels * sizeof(float); /* serial generates the f32 field first */
    uint64_t available = crn_memory_available_bytes();
    if (bytes <= available)
        return 0;
    char need[CRN_BYTES_TEXT], have[CRN_BYTES_TEXT];
    return crn_error_set(error, -ENOMEM,
                         "%s: a field of %d x %d %s needs %s of memory, but %s are free; use a "
                         "smaller --exponent",
                         out, side, side, crn_type_name(set->type), crn_bytes_format(bytes, need),
                         crn_bytes_format(available, have));
}

/* Generates the field band by band, with identical values, to show progress. The serial operator
 * computes the whole field for every band, so it is called once. */
static int make(crn_apply *apply, const apply_diamond_square_settings *set, const char *path,
                const crn_image *field, crn_error *error)
{
    int32_t rows = BAND_PIXELS / field->width;
    rows = rows < BAND_ROWS ? BAND_ROWS : rows;
    if (apply->backend == CRN_BACKEND_SERIAL || rows > field->height)
        rows = field->height;
    crn_progress progress;
    crn_progress_begin(&progress, "rows", (uint64_t)field->height);
    int r = 0;
    for (int32_t y = 0; r == 0 && y < field->height; y += rows) {
        diamond_square_call c = {set->params, *field};
        c.params.y = y;
        c.out.height = rows < field->height - y ? rows : field->height - y;
        c.out.data = (char *)field->data +
                     crn_image_index(field, 0, y, 0) * (ptrdiff_t)crn_type_bytes(field->type);
        r = crn_apply_run(apply, run, &c);
        crn_progress_update(&progress, (uint64_t)(y + c.out.height), NULL);
    }
    crn_progress_end(&progress);
    return r < 0 ? crn_apply_refused(apply, r, path, field, error) : 0;
}

static int work(crn_apply *apply, const apply_diamond_square_settings *set, const char *out,
                crn_error *error)
{
    int32_t side = (1 << set->params.exponent) + 1;
    crn_picture field = {0};
    int r = crn_apply_open(apply, "diamond-square", out, error);
    if (r == 0)
        r = check_memory(apply, set, out, side, error);
    if (r == 0)
        r = crn_apply_begin(apply);
    if (r == 0 && crn_picture_create(set->type, 1, 1, side, side, &field) < 0)
        r = crn_error_set(error, -ENOMEM, "%s: no memory for a field of %d x %d", out, side, side);
    if (r == 0)
        r = make(apply, set, out, &field.image, error);
    if (r == 0)
        r = crn_picture_write(out, &field, error);
    crn_picture_free(&field);
    return r;
}

static int run_command(int argc, char **argv)
{
    apply_diamond_square_settings set = {.params = {.exponent = -1, .roughness = 0.5},
                                         .type = CRN_U8};
    crn_apply apply;
    crn_error error = {0};
    crn_apply_init(&tool, &apply);
    read_options(argc, argv, &apply, &set);
    int r = work(&apply, &set, argv[optind], &error);
    return crn_apply_close(&apply, r, &error);
}

const crn_operator crn_apply_diamond_square = {
    .name = "diamond-square",
    .tool = &tool,
    .values = ranges,
    .value_count = OPTION_COMMON,
    .generates = true,
    .endings = endings,
    .run = run_command,
};
