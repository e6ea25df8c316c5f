/* The chain of cernita.h: a line's file, and results in memory of its own. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/backend.h"
#include "stages/context.h"
#include "stages/library/library.h"
#include "stages/chain/internal.h"

/* The program may have set a locale in which numbers have a decimal comma. */
static int load_in_c_locale(const char *path, FILE *faults, crn_config *ret_config)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return -ENOMEM;
    locale_t before = uselocale(c_locale);
    int r = crn_config_load(path, faults, ret_config);
    uselocale(before);
    freelocale(c_locale);
    return r;
}

/* Reads the file; its faults, a line each, become the context's text as far as they fit. */
static int load(crn_context *context, const char *path, crn_config *ret_config)
{
    char *text = NULL;
    size_t length = 0;
    FILE *faults = open_memstream(&text, &length);
    if (!faults)
        return crn_error_set(crn_context_error_of(context), -ENOMEM, "%s: out of memory", path);
    int r = load_in_c_locale(path, faults, ret_config);
    fclose(faults);
    while (text && length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    if (r < 0)
        crn_error_set(crn_context_error_of(context), r, "%s", text && *text ? text : path);
    free(text);
    return r;
}

static int reserve(crn_chain_opened *opened)
{
    const crn_config *config = &opened->config;
    crn_defects *d = &opened->defects;
    d->defect_capacity = (uint32_t)config->limits.defects;
    d->point_capacity = (uint32_t)config->limits.points;
    d->texture_capacity = d->defect_capacity * crn_config_textures(config);
    d->defects = malloc(d->defect_capacity * sizeof *d->defects);
    d->xy = malloc(d->point_capacity * 2 * sizeof *d->xy);
    d->textures = d->texture_capacity ? malloc(d->texture_capacity * sizeof *d->textures) : NULL;
    return d->defects && d->xy && (d->textures || !d->texture_capacity) ? 0 : -ENOMEM;
}

void crn_chain_opened_free(crn_chain_opened **opened)
{
    crn_chain_opened *it = *opened;
    if (!it)
        return;
    if (it->gpu)
        crn_chain_close_device(it);
    free(it->defects.defects);
    free(it->defects.xy);
    free(it->defects.textures);
    crn_config_done(&it->config);
    free(it);
    *opened = NULL;
}

/* On a device the chain gets a context of its own on the CPU, for the finish halves. */
static int create(crn_chain_opened *opened, crn_chain **ret_chain)
{
    crn_context_choice choice = *crn_context_choice_of(opened->callers);
    opened->config.run.threads = crn_context_threads(opened->callers);
    if (!choice.gpu)
        return crn_chain_create_in(&opened->config, choice.ops, opened->callers, ret_chain);
    opened->gpu = choice.gpu;
    int r = crn_chain_open_device(opened);
    const char *why;
    const crn_ops *ops = crn_backend_ops(CRN_BACKEND_OPENMP, &why);
    return r < 0 ? r : crn_chain_create(&opened->config, ops, ret_chain);
}

int crn_chain_open(crn_context *context, const char *path, crn_chain **ret_chain)
{
    return crn_chain_open_with(context, path, NULL, ret_chain);
}

int crn_chain_open_with(crn_context *context, const char *path, const crn_chain_settings *settings,
                        crn_chain **ret_chain)
{
    if (!context)
        return -EINVAL;
    crn_error *error = crn_context_error_of(context);
    int r = crn_context_begin(context);
    if (r < 0)
        return r;
    if (!path || !ret_chain)
        return crn_error_set(error, -EINVAL, "%s is NULL", path ? "ret_chain" : "path");
    crn_chain_opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        return crn_error_set(error, -ENOMEM, "%s: out of memory", path);
    opened->callers = context;
    crn_chain *chain = NULL;
    r = load(context, path, &opened->config);
    if (r == 0)
        r = crn_chain_use_settings(settings, path, &opened->config, error);
    if (r == 0)
        r = reserve(opened);
    if (r == 0)
        r = create(opened, &chain);
    if (r < 0) {
        crn_chain_opened_free(&opened);
        if (!*error->text)
            crn_error_set(error, r, "%s: no memory for its limits: %s", path, strerror(-r));
        return r;
    }
    chain->opened = opened;
    *ret_chain = chain;
    return 0;
}

int32_t crn_chain_class_count(const crn_chain *chain)
{
    return chain ? chain->config->classes.count : 0;
}

const char *crn_chain_class_name(const crn_chain *chain, int32_t index)
{
    if (!chain)
        return NULL;
    const crn_classes *classes = &chain->config->classes;
    return index >= 0 && index < classes->count ? classes->name[index] : NULL;
}

double crn_chain_class_level(const crn_chain *chain, int32_t index)
{
    return crn_chain_class_name(chain, index) ? chain->config->classes.level[index] : NAN;
}

/* True if both have their elements in the same places; a side of one element needs no stride. */
static bool lies_as(const crn_image *image, const crn_image *dense)
{
    return (image->planes == 1 || image->plane_stride == dense->plane_stride) &&
           (image->height == 1 || image->row_stride == dense->row_stride) &&
           (image->width == 1 || image->step == dense->step);
}

/* Gives a dense image the strides of crn_image_dense(); leaves one with gaps as it is. */
static void normalize_strides(crn_image *image)
{
    for (int layout = CRN_CHW; layout <= CRN_HWC; layout++) {
        crn_image dense = crn_image_dense(image->data, image->type, (crn_layout)layout,
                                          image->planes, image->height, image->width);
        if (lies_as(image, &dense)) {
            *image = dense;
            return;
        }
    }
}

/* The border of the contours step. */
static crn_border border_of(const crn_config *config)
{
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_step *step = &config->chain[i];
        for (const crn_param *p = step->stage->params; p && p->key; p++)
            if (step->stage->kind == CRN_STAGE_CONTOURS && strcmp(p->key, "border") == 0)
                return *(const int32_t *)((const char *)step->settings + p->offset);
    }
    return CRN_BORDER_CLOSED;
}

/* 0, or -EINVAL with a text that names the argument. */
static int check(const crn_chain *chain, const crn_image *maps, const crn_image *intensity,
                 crn_error *error)
{
    int32_t classes = chain->config->classes.count;
    if (!maps || !maps->data)
        return crn_error_set(error, -EINVAL, "maps%s is NULL", maps ? ".data" : "");
    if (maps->type != CRN_U8 && maps->type != CRN_F16 && maps->type != CRN_F32)
        return crn_error_set(error, -EINVAL, "maps is of %s; it must be of u8, f16 or f32",
                             crn_type_name(maps->type));
    if (maps->planes != classes)
        return crn_error_set(error, -EINVAL, "maps has %d planes; the file has %d classes",
                             (int)maps->planes, (int)classes);
    int r = crn_library_check_contours_size("maps", border_of(chain->config), maps, error);
    if (r < 0)
        return r;
    if (!crn_image_is_dense(maps))
        return crn_error_set(error, -EINVAL,
                             "maps has gaps; copy it so that crn_image_dense() describes it");
    r = crn_library_check_image("maps", maps, error);
    if (r < 0)
        return r;
    if (!intensity)
        return 0;
    if (!intensity->data || intensity->type != CRN_U8 || intensity->planes != 1 ||
        intensity->height != maps->height || intensity->width != maps->width ||
        !crn_image_is_dense(intensity))
        return crn_error_set(error, -EINVAL,
                             "intensity must be one dense plane of u8 of %d x %d, as maps is",
                             (int)maps->height, (int)maps->width);
    return 0;
}

int crn_chain_judge(crn_chain *chain, const crn_image *maps, const crn_image *intensity,
                    const crn_defects **ret_defects)
{
    if (!chain)
        return -EINVAL;
    crn_chain_opened *opened = chain->opened;
    crn_error *error = crn_context_error_of(opened->callers);
    int r = crn_context_begin(opened->callers);
    if (r < 0)
        return r;
    if (!ret_defects)
        return crn_error_set(error, -EINVAL, "ret_defects is NULL");
    crn_chain_input input = {.received_ns = crn_now_ns(), .deadline_ns = CRN_NEVER_NS};
    if (maps) {
        input.maps = *maps;
        normalize_strides(&input.maps);
    }
    if (intensity) {
        input.intensity = *intensity;
        normalize_strides(&input.intensity);
    }
    r = check(chain, maps ? &input.maps : NULL, intensity ? &input.intensity : NULL, error);
    if (r < 0)
        return r;
    crn_judgement judgement;
    r = opened->gpu ? crn_chain_judge_device(chain, &input)
                    : crn_chain_run(chain, &input, &opened->defects, &judgement);
    if (r < 0)
        return crn_error_set(error, r, "the chain on %d x %d x %d: %s", (int)maps->planes,
                             (int)maps->height, (int)maps->width, crn_gpu_strerror(r));
    *ret_defects = &opened->defects;
    return 0;
}
