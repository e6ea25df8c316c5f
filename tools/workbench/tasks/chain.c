/* A line's chain on one view's class maps, and the defects that it finds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/chain/chain.h"
#include "src/formats/encoding/encoder.h"
#include "stages/backend.h"
#include "stages/base/clock.h"
#include "tools/workbench/tasks/tasks.h"

int crn_task_config(const crn_task *task, crn_config *ret_config, crn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *faults = open_memstream(&text, &size);
    if (!faults)
        return crn_error_set(error, -ENOMEM, "no memory for a chain");
    int r = crn_config_parse("chain", task->yaml, task->yaml_bytes, faults, ret_config);
    fclose(faults);
    if (r < 0)
        crn_error_set(error, r, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    if (r < 0)
        return r;
    ret_config->run.backend = task->backend;
    ret_config->run.workers = 1;
    ret_config->run.threads = task->threads;
    crn_config_resolve(ret_config, task->threads);
    return 0;
}

static int read_maps(const crn_task *task, const crn_config *config, crn_picture *ret_maps,
                     crn_error *error)
{
    int r = crn_picture_read(task->in, ret_maps, error);
    const crn_image *image = &ret_maps->image;
    if (r == 0 && image->type == CRN_U16)
        r = crn_error_set(error, -EINVAL, "%s: is u16; class maps are u8, f16 or f32", task->in);
    if (r == 0 && image->planes != config->classes.count)
        r = crn_error_set(error, -EINVAL, "%s: has %d planes, but %d classes are named: one each",
                          task->in, image->planes, config->classes.count);
    return r;
}

/* The photograph that ranklets are taken of, if it fits. */
static void read_photograph(const crn_task *task, const crn_image *maps, crn_picture *ret_picture)
{
    if (!task->photograph[0] || crn_picture_read(task->photograph, ret_picture, NULL) < 0)
        return;
    if (ret_picture->image.type != CRN_U8 || ret_picture->image.planes != 1 ||
        !crn_image_same_size(&ret_picture->image, maps))
        crn_picture_free(ret_picture);
}

/* --- times ------------------------------------------------------------------------------------ */

/* Further runs end after so long, however many are wanted. */
#define WARM_NS_MAX (INT64_C(2) * 1000 * 1000 * 1000)

/* What runs took. The warm ones: `count` of `columns`, each step's and then the whole run's. */
typedef struct chain_times {
    int64_t start_ns; /* of the backend and the chain's memory */
    crn_judgement cold;
    int64_t *warm_ns;
    int32_t count, columns;
} chain_times;

static int by_duration(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The warm durations of a column in ascending order, in `ret_sorted` of `count`. */
static void sort_column(const chain_times *times, int32_t column, int64_t *ret_sorted)
{
    for (int32_t i = 0; i < times->count; i++)
        ret_sorted[i] = times->warm_ns[i * times->columns + column];
    qsort(ret_sorted, (size_t)times->count, sizeof *ret_sorted, by_duration);
}

static int64_t median_of(const int64_t *sorted, int32_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Runs the chain `repeat` times more. */
static int run_warm(crn_chain *chain, const crn_chain_input *input, crn_defects *defects,
                    int32_t repeat, chain_times *times)
{
    int64_t end_ns = crn_now_ns() + WARM_NS_MAX;
    int r = 0;
    times->warm_ns = malloc((size_t)repeat * (size_t)times->columns * sizeof *times->warm_ns);
    if (!times->warm_ns)
        return -ENOMEM;
    while (r == 0 && times->count < repeat && crn_now_ns() < end_ns) {
        crn_judgement judgement = {0};
        int64_t *row = times->warm_ns + times->count * times->columns;
        r = crn_chain_run(chain, input, defects, &judgement);
        for (int32_t i = 0; i < times->columns - 1; i++)
            row[i] = judgement.stage_ns[i];
        row[times->columns - 1] = judgement.run_ns;
        times->count += r == 0;
    }
    return r;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void write_defect(const crn_config *config, const crn_defects *all, uint32_t number,
                         crn_encoder *encoder)
{
    const crn_defect *defect = &all->defects[number];
    const double bbox[] = {defect->x0, defect->y0, defect->x1, defect->y1};
    crn_encoder_map(encoder, 13);
    crn_encoder_pair_unsigned(encoder, "plane", (uint64_t)defect->channel);
    crn_encoder_pair_text(encoder, "class", config->classes.name[defect->channel]);
    crn_encoder_pair_real(encoder, "level", config->classes.level[defect->channel]);
    crn_encoder_pair_bool(encoder, "closed", defect->closed);
    crn_encoder_pair_bool(encoder, "hole", defect->hole);
    crn_encoder_text(encoder, "parent");
    crn_encoder_integer(encoder, defect->parent);
    crn_encoder_pair_real(encoder, "area_px", defect->area_px);
    crn_encoder_pair_real(encoder, "perimeter_px", defect->perimeter_px);
    crn_encoder_text(encoder, "bbox");
    crn_encoder_array(encoder, 4);
    for (int i = 0; i < 4; i++)
        crn_encoder_real(encoder, bbox[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "centroid");
    crn_encoder_array(encoder, 2);
    crn_encoder_real(encoder, defect->centroid_x);
    crn_encoder_real(encoder, defect->centroid_y);
    crn_encoder_array_end(encoder);
    crn_encoder_pair_real(encoder, "mean_probability", defect->mean_probability);
    crn_encoder_text(encoder, "xy");
    crn_encoder_points(encoder, all->xy + 2 * (size_t)defect->first_point, defect->point_count);
    crn_encoder_text(encoder, "ranklet");
    crn_encoder_array(encoder, defect->texture_count);
    for (uint32_t i = 0; i < defect->texture_count; i++) {
        const crn_texture *texture = &all->textures[defect->first_texture + i];
        crn_encoder_map(encoder, 5);
        crn_encoder_pair_unsigned(encoder, "width", (uint64_t)texture->width);
        crn_encoder_pair_unsigned(encoder, "height", (uint64_t)texture->height);
        crn_encoder_pair_real(encoder, "vertical", (double)texture->vertical);
        crn_encoder_pair_real(encoder, "horizontal", (double)texture->horizontal);
        crn_encoder_pair_real(encoder, "diagonal", (double)texture->diagonal);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

/* The pairs `stages`, `start_ms`, `run_ms` and `warm`; `sorted` has room for the warm runs. */
static void write_times(const crn_config *config, const chain_times *times, int64_t *sorted,
                        crn_encoder *encoder)
{
    crn_encoder_text(encoder, "stages");
    crn_encoder_array(encoder, (uint32_t)config->steps);
    for (int32_t i = 0; i < config->steps; i++) {
        char name[CRN_TEXT_BYTES];
        crn_config_step_name(config, i, name, sizeof name);
        crn_encoder_map(encoder, times->count ? 3 : 2);
        crn_encoder_pair_text(encoder, "name", name);
        crn_encoder_pair_ms(encoder, "ms", times->cold.stage_ns[i]);
        if (times->count) {
            sort_column(times, i, sorted);
            crn_encoder_pair_ms(encoder, "warm_ms", median_of(sorted, times->count));
        }
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
    crn_encoder_pair_ms(encoder, "start_ms", times->start_ns);
    crn_encoder_pair_ms(encoder, "run_ms", times->cold.run_ns);
    crn_encoder_text(encoder, "warm");
    if (!times->count) {
        crn_encoder_null(encoder);
        return;
    }
    sort_column(times, times->columns - 1, sorted);
    crn_encoder_map(encoder, 4);
    crn_encoder_pair_ms(encoder, "median_ms", median_of(sorted, times->count));
    crn_encoder_pair_ms(encoder, "min_ms", sorted[0]);
    crn_encoder_pair_ms(encoder, "max_ms", sorted[times->count - 1]);
    crn_encoder_pair_unsigned(encoder, "n", (uint64_t)times->count);
    crn_encoder_map_end(encoder);
}

static int print_answer(const crn_config *config, const crn_defects *defects,
                        const chain_times *times)
{
    crn_encoder *encoder = NULL;
    const unsigned char *bytes;
    size_t size;
    int64_t *sorted = malloc(((size_t)times->count + 1) * sizeof *sorted);
    if (!sorted || crn_encoder_create(CRN_FORMAT_JSON, &encoder) < 0) {
        free(sorted);
        return -ENOMEM;
    }
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 6);
    crn_encoder_text(encoder, "defects");
    crn_encoder_array(encoder, defects->defect_count);
    for (uint32_t i = 0; i < defects->defect_count; i++)
        write_defect(config, defects, i, encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_pair_bool(encoder, "truncated", defects->truncated);
    write_times(config, times, sorted, encoder);
    crn_encoder_map_end(encoder);
    int r = crn_encoder_end(encoder, &bytes, &size);
    if (r == 0)
        fwrite(bytes, 1, size, stdout);
    crn_encoder_free(&encoder);
    free(sorted);
    return r;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int make_room(const crn_config *config, crn_defects *ret_defects)
{
    uint64_t textures = (uint64_t)config->limits.defects * crn_config_textures(config);
    *ret_defects = (crn_defects){
        .defect_capacity = (uint32_t)config->limits.defects,
        .point_capacity = (uint32_t)config->limits.points,
        .texture_capacity = (uint32_t)textures,
    };
    ret_defects->defects = malloc(ret_defects->defect_capacity * sizeof *ret_defects->defects);
    ret_defects->xy = malloc(2 * (size_t)ret_defects->point_capacity * sizeof *ret_defects->xy);
    ret_defects->textures = malloc((textures + 1) * sizeof *ret_defects->textures);
    return ret_defects->defects && ret_defects->xy && ret_defects->textures ? 0 : -ENOMEM;
}

/* The backend and the chain, which the first run needs. */
static int begin(const crn_config *config, crn_chain **ret_chain, crn_error *error)
{
    const char *backend = crn_backend_names[config->run.backend], *why = NULL;
    const crn_ops *ops = crn_backend_ops((crn_backend)config->run.backend, &why);
    if (!ops)
        return crn_error_set(error, -ENOTSUP, "%s: %s", backend, why);
    int r = crn_chain_create(config, ops, ret_chain);
    return r < 0 ? crn_error_set(error, r, "the chain cannot be made for %s: %s", backend,
                                 strerror(-r))
                 : 0;
}

static int run(const crn_config *config, const crn_image *maps, const crn_image *photograph,
               int32_t repeat, crn_error *error)
{
    crn_chain_input input = {.maps = *maps,
                             .intensity = *photograph,
                             .received_ns = crn_now_ns(),
                             .deadline_ns = CRN_NEVER_NS};
    chain_times times = {.columns = config->steps + 1};
    crn_defects defects;
    crn_chain *chain = NULL;
    int64_t begun_ns = crn_now_ns();
    int r = make_room(config, &defects);
    if (r == 0)
        r = begin(config, &chain, error);
    if (r == 0) {
        times.start_ns = crn_now_ns() - begun_ns;
        r = crn_chain_run(chain, &input, &defects, &times.cold);
    }
    if (r == 0 && repeat > 0)
        r = run_warm(chain, &input, &defects, repeat, &times);
    if (r == 0)
        r = print_answer(config, &defects, &times);
    if (r < 0 && !error->text[0])
        crn_error_set(error, r, "the chain cannot run on these maps with %s: %s",
                      crn_backend_names[config->run.backend], strerror(-r));
    crn_chain_free(&chain);
    free(times.warm_ns);
    free(defects.defects);
    free(defects.xy);
    free(defects.textures);
    return r;
}

int crn_task_chain(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_config config = {0};
    crn_picture maps = {0}, photograph = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_task_config(task, &config, &error);
    if (r == 0)
        r = read_maps(task, &config, &maps, &error);
    if (r == 0) {
        read_photograph(task, &maps.image, &photograph);
        r = run(&config, &maps.image, &photograph.image, task->repeat, &error);
    }
    crn_picture_free(&maps);
    crn_picture_free(&photograph);
    crn_config_done(&config);
    return crn_task_end(r, &error);
}
