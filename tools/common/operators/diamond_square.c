/* cernita-apply diamond-square. */
#include <errno.h>
#include <stddef.h>

#include "tools/common/operators/apply.h"
#include "tools/common/progress.h"

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_diamond_square_settings {
    crn_apply apply;
    crn_diamond_square_params params;
    int32_t type; /* index in `types` */
} apply_diamond_square_settings;

static const char *const type_names[] = {"u8", "f32", NULL};
static const crn_type types[] = {CRN_U8, CRN_F32};

static const crn_option options[] = {
    CRN_OPTION_AT("exponent", "N", apply_diamond_square_settings, params.exponent, .required = true,
                  .missing = ": how large is the field?", .max = CRN_DIAMOND_SQUARE_EXPONENT_MAX,
                  .help = "the field is 2^N + 1 pixels wide and high, 0 to 20"),
    CRN_OPTION_AT("seed", "S", apply_diamond_square_settings, params.seed, .required = true,
                  .max = (double)INT64_MAX, .help = "the same seed gives the same field"),
    CRN_OPTION_AT("roughness", "R", apply_diamond_square_settings, params.roughness, .max = 1,
                  .initial = "0.5", .help = "factor of the noise from level to level, 0 to 1"),
    CRN_OPTION_AT("type", "TYPE", apply_diamond_square_settings, type, .choices = type_names,
                  .initial = "u8", .help = "of the values, u8 rounded and saturated"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    const apply_diamond_square_settings *set = settings;
    if (types[set->type] == CRN_F32 && crn_apply_ends(out, ".png"))
        crn_usage_error(&set->apply.tool, "%s: a PNG holds no f32; name a .tif or leave --type out",
                        out);
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

static int check_memory(const apply_diamond_square_settings *set, const char *out, int32_t side,
                        crn_error *error)
{
    uint64_t pixels = (uint64_t)side * (uint64_t)side;
    uint64_t bytes = pixels * crn_type_bytes(types[set->type]);
    if (set->apply.backend == CRN_BACKEND_SERIAL)
        bytes += pixels * sizeof(float); /* serial generates the f32 field first */
    uint64_t available = crn_memory_available_bytes();
    if (bytes <= available)
        return 0;
    char need[CRN_BYTES_TEXT], have[CRN_BYTES_TEXT];
    return crn_error_set(error, -ENOMEM,
                         "%s: a field of %d x %d %s needs %s of memory, but %s are free; use a "
                         "smaller --exponent",
                         out, side, side, crn_type_name(types[set->type]),
                         crn_bytes_format(bytes, need), crn_bytes_format(available, have));
}

/* Generates the field band by band, with identical values, to show progress. The serial operator
 * computes the whole field for every band, so it is called once. */
static int make(apply_diamond_square_settings *set, const char *path, const crn_image *field,
                crn_error *error)
{
    int32_t rows = BAND_PIXELS / field->width;
    rows = rows < BAND_ROWS ? BAND_ROWS : rows;
    if (set->apply.backend == CRN_BACKEND_SERIAL || rows > field->height)
        rows = field->height;
    crn_progress progress;
    crn_progress_begin(&progress, "rows", (uint64_t)field->height);
    int r = 0;
    for (int32_t y = 0; r == 0 && y < field->height; y += rows) {
        diamond_square_call c = {set->params, *field};
        c.params.y = y;
        c.out.height = rows < field->height - y ? rows : field->height - y;
        c.out.data = crn_image_element(field, 0, y, 0);
        r = crn_apply_run(&set->apply, run, &c);
        crn_progress_update(&progress, (uint64_t)(y + c.out.height), NULL);
    }
    crn_progress_end(&progress);
    return r < 0 ? crn_apply_refused(&set->apply, r, path, field, error) : 0;
}

static int work(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error)
{
    apply_diamond_square_settings *set = settings;
    int32_t side = (1 << set->params.exponent) + 1;
    crn_picture field = {0};
    (void)in;
    (void)picture;
    int r = check_memory(set, out, side, error);
    if (r == 0)
        r = crn_apply_begin(&set->apply);
    if (r == 0 && crn_picture_create(types[set->type], 1, 1, side, side, &field) < 0)
        r = crn_error_set(error, -ENOMEM, "%s: no memory for a field of %d x %d", out, side, side);
    if (r == 0)
        r = make(set, out, &field.image, error);
    if (r == 0)
        r = crn_picture_write(out, &field, error);
    crn_picture_free(&field);
    return r;
}

const crn_operator crn_apply_diamond_square = {
    .name = "diamond-square",
    .summary = "a fractal field (a generator: no IN)",
    .about =
        "A fractal field around 128 by the diamond-square algorithm. OUT.tif, or OUT.png in u8.",
    .options = options,
    .endings = endings,
    .generates = true,
    .function = offsetof(crn_ops, diamond_square),
    .settings_bytes = sizeof(apply_diamond_square_settings),
    .initial = &(const apply_diamond_square_settings){.params = {.roughness = 0.5}},
    .hooks = {check_options, NULL, NULL, work},
};
