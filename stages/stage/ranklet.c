/* The stage `ranklet`: texture features of the surface around every defect. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "stages/context.h"
#include "stages/stage/stage.h"

typedef struct ranklet_settings {
    crn_sizes windows;
} ranklet_settings;

static const crn_param params[] = {
    CRN_PARAM(ranklet_settings, windows, .fallback = "[8, 16]", .min = 2, .max = 4096,
              .help = "sizes of the windows that are compared half against half, of even sides, in "
                      "pixels; one larger than the map is left out"),
    {.key = NULL},
};

static int ranklet_prepare(void *settings, const crn_classes *classes, crn_error *error)
{
    const crn_sizes *windows = &((const ranklet_settings *)settings)->windows;
    (void)classes;
    for (int32_t i = 0; i < windows->count; i++) {
        crn_size size = windows->item[i];
        if (size.width % 2 != 0 || size.height % 2 != 0)
            return crn_error_set(error, -EINVAL,
                                 "windows: %dx%d has an odd side, even sides expected", size.width,
                                 size.height);
        for (int32_t j = 0; j < i; j++)
            if (windows->item[j].width == size.width && windows->item[j].height == size.height)
                return crn_error_set(error, -EINVAL,
                                     "windows: %dx%d is listed twice, once expected", size.width,
                                     size.height);
    }
    return 0;
}

static uint32_t ranklet_textures(const void *settings)
{
    return (uint32_t)((const ranklet_settings *)settings)->windows.count;
}

/* Range of window positions, by the windows' top left pixels: first to last in both directions. */
typedef struct part {
    int32_t x0, y0, x1, y1;
} part;

static int32_t clamp(double value, int32_t max)
{
    return value > 0 ? value < max ? (int32_t)value : max : 0; /* 0 for NaN */
}

/* Range of window positions along one side of a map for which the window's centre lies between low
 * and high. */
static void position_range(double low, double high, int32_t window, int32_t length,
                           int32_t *ret_first, int32_t *ret_last)
{
    double half = (window - 1) / 2.0;
    double first = ceil(low - half), last = floor(high - half);
    if (!(first <= last))
        first = last = floor((low + high) / 2 - half + 0.5); /* the nearest to the middle */
    *ret_first = clamp(first, length - window);
    *ret_last = clamp(last, length - window);
}

static part part_of(const crn_defect *defect, crn_size window, const crn_image *map)
{
    part p;
    position_range(defect->x0, defect->x1, window.width, map->width, &p.x0, &p.x1);
    position_range(defect->y0, defect->y1, window.height, map->height, &p.y0, &p.y1);
    return p;
}

static part part_around(part a, part b)
{
    return (part){.x0 = a.x0 < b.x0 ? a.x0 : b.x0,
                  .y0 = a.y0 < b.y0 ? a.y0 : b.y0,
                  .x1 = a.x1 > b.x1 ? a.x1 : b.x1,
                  .y1 = a.y1 > b.y1 ? a.y1 : b.y1};
}

/* Estimated cost of a range: its positions plus a fixed overhead (10 to 30 positions were measured,
 * depending on the window). */
static uint64_t cost_of(part p)
{
    return 16 + (uint64_t)(p.x1 - p.x0 + 1) * (uint64_t)(p.y1 - p.y0 + 1);
}

/* The map that textures are computed on: the photograph, else the class's map as received. */
static crn_image map_of(const crn_job *job, int32_t channel)
{
    if (job->intensity.data)
        return job->intensity;
    crn_image map = job->received;
    map.data = crn_image_element(&map, channel, 0, 0);
    map.planes = 1;
    return map;
}

/* The pixels under the windows of a range. */
static crn_image area_of(const crn_image *map, part p, crn_size window)
{
    crn_image area = *map;
    area.data = crn_image_element(map, 0, p.y0, p.x0);
    area.width = p.x1 - p.x0 + window.width;
    area.height = p.y1 - p.y0 + window.height;
    return area;
}

/* The end of the group of defects that begins at `begin`, and whose maps are computed together: all
 * defects on the photograph, else those of `maps` classes. Defects are in the order of classes. */
static uint32_t group_end(const crn_job *job, uint32_t begin, uint32_t count, int32_t maps)
{
    const crn_defect *defects = job->defects->defects;
    uint32_t end = begin + 1;
    while (end < count &&
           (job->intensity.data || defects[end].channel - defects[begin].channel < maps))
        end++;
    return end;
}

/* The range around those of the defects from `begin` to `end`. */
static part part_around_all(const crn_defect *defects, uint32_t begin, uint32_t end,
                            crn_size window, const crn_image *map)
{
    part all = part_of(&defects[begin], window, map);
    for (uint32_t i = begin + 1; i < end; i++)
        all = part_around(all, part_of(&defects[i], window, map));
    return all;
}

/* Stores a texture of a defect at index `behind` after those that it already has. */
static void store_texture(crn_defects *defects, uint32_t defect, uint32_t behind, crn_size window,
                          const crn_box_mean *mean)
{
    const crn_defect *of = &defects->defects[defect];
    defects->textures[of->first_texture + of->texture_count + behind] =
        (crn_texture){.width = window.width,
                      .height = window.height,
                      .vertical = mean->of[0],
                      .horizontal = mean->of[1],
                      .diagonal = mean->of[2]};
}

/* --- maps in host memory: one rectangle after the other --- */

/* Copies one plane of u8, row by row. */
static void copy_bytes(const crn_image *from, const crn_image *to)
{
    for (int32_t y = 0; y < from->height; y++) {
        const unsigned char *row = crn_image_element(from, 0, y, 0);
        unsigned char *copy = crn_image_element(to, 0, y, 0);
        for (int32_t x = 0; x < from->width; x++)
            copy[x] = row[x * from->step];
    }
}

/* The pixels under the windows of a range in a one-plane map, as u8. A copy, also of u8: the
 * operator reads them more than once and indexes by them, and whoever sends views in slots may
 * change them in between. 0, -ENOMEM, -ETIME. */
static int crop(crn_job *job, const crn_image *map, part p, crn_size window, crn_image *ret_crop)
{
    crn_image area = area_of(map, p, window);
    void *bytes = crn_context_scratch(job->context, CRN_SLOT_RANKLET_CROP,
                                      (size_t)map->height * (size_t)map->width);
    if (!bytes)
        return -ENOMEM;
    *ret_crop = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, area.height, area.width);
    if (map->type == CRN_U8) {
        copy_bytes(&area, ret_crop);
        return 0;
    }
    return job->ops->narrow(job->context, &area, ret_crop);
}

/* The ranklets of a range: one element per position, from its top left. */
static int transform(crn_job *job, const crn_image *map, part p, crn_size window,
                     crn_image *ret_ranklets)
{
    crn_image pixels;
    int r = crop(job, map, p, window, &pixels);
    if (r < 0)
        return r;
    size_t worst = 3 * (size_t)map->height * (size_t)map->width * sizeof(float);
    void *memory = crn_context_scratch(job->context, CRN_SLOT_RANKLET_MAPS, worst);
    if (!memory)
        return -ENOMEM;
    *ret_ranklets = crn_image_dense(memory, CRN_F32, CRN_CHW, 3, p.y1 - p.y0 + 1, p.x1 - p.x0 + 1);
    crn_ranklet_params request = {.width = window.width, .height = window.height};
    return job->ops->ranklet(job->context, &request, &pixels, ret_ranklets);
}

/* The means over `p`; `ranklets` holds those of a range that begins at (x0, y0). */
static int mean_of(crn_job *job, const crn_image *ranklets, int32_t x0, int32_t y0, part p,
                   crn_box_mean *ret_mean)
{
    crn_box box = {.x0 = p.x0 - x0, .y0 = p.y0 - y0, .x1 = p.x1 - x0, .y1 = p.y1 - y0};
    crn_boxes boxes = {.all = &box, .count = 1};
    return job->ops->mean_boxes(job->context, ranklets, &boxes, ret_mean);
}

/*
 * Textures of one window size for the defects of one map. Computed range by range, or for all
 * ranges at once where they overlap so much that it costs less; the results are the same. Each
 * is stored at index `behind`.
 */
static int texture_defects(crn_job *job, const crn_image *map, crn_size window, uint32_t begin,
                           uint32_t end, uint32_t behind)
{
    crn_defects *defects = job->defects;
    part all = part_around_all(defects->defects, begin, end, window, map);
    uint64_t apart = 0;
    for (uint32_t i = begin; i < end; i++)
        apart += cost_of(part_of(&defects->defects[i], window, map));
    bool at_once = cost_of(all) <= apart;
    crn_image ranklets;
    int r = at_once ? transform(job, map, all, window, &ranklets) : 0;
    for (uint32_t i = begin; i < end && r == 0; i++) {
        part p = part_of(&defects->defects[i], window, map);
        if (!at_once) {
            all = p;
            r = transform(job, map, p, window, &ranklets);
        }
        crn_box_mean mean;
        if (r == 0)
            r = mean_of(job, &ranklets, all.x0, all.y0, p, &mean);
        if (r == 0)
            store_texture(defects, i, behind, window, &mean);
    }
    return r;
}

static int texture_here(crn_job *job, const crn_sizes *windows, uint32_t count)
{
    const crn_defects *defects = job->defects;
    for (uint32_t begin = 0, end; begin < count; begin = end) {
        crn_image map = map_of(job, defects->defects[begin].channel);
        end = group_end(job, begin, count, 1);
        for (int32_t i = 0; i < windows->count; i++) {
            int r = texture_defects(job, &map, windows->item[i], begin, end, (uint32_t)i);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* --- maps on a device: the rectangle around all defects, for several classes at once --- */

/* Ranklets of more classes than fit into this are computed one after the other. */
#define AT_ONCE_BYTES ((size_t)64 << 20)

static size_t ranklet_bytes(const crn_job *job)
{
    return 3 * (size_t)job->received.height * (size_t)job->received.width * sizeof(float);
}

/* Number of maps at once: the photograph alone, else class maps. */
static int32_t maps_at_once(const crn_job *job)
{
    size_t fitting = AT_ONCE_BYTES / ranklet_bytes(job);
    if (job->intensity.data || fitting < 1)
        return 1;
    return fitting < (size_t)job->received.planes ? (int32_t)fitting : job->received.planes;
}

/* The maps of classes from `channel` on, in 8 bits. */
static int bytes_from(crn_job *job, int32_t channel, int32_t maps, crn_image *ret_bytes)
{
    *ret_bytes = map_of(job, channel);
    ret_bytes->planes = maps;
    if (ret_bytes->type == CRN_U8)
        return 0;
    crn_context *context = crn_job_map_context(job);
    crn_image from = *ret_bytes;
    size_t pixels = (size_t)from.height * (size_t)from.width;
    void *memory =
        crn_context_scratch(context, CRN_SLOT_RANKLET_CROP, (size_t)maps_at_once(job) * pixels);
    if (!memory)
        return -ENOMEM;
    *ret_bytes = crn_image_dense(memory, CRN_U8, CRN_CHW, maps, from.height, from.width);
    return crn_job_map_ops(job)->narrow(context, &from, ret_bytes);
}

/* True if sums of that many ranklets are exact in double, so that their order does not matter: all
 * of them are multiples of the smallest one's last bit, and none is above 1. */
static bool is_sum_exact(crn_size window, double positions)
{
    double half = (double)window.width * window.height / 2, pairs = half * half;
    int exponent;
    bool is_power_of_2 = frexp(pairs, &exponent) == 0.5;
    int bits = is_power_of_2 ? exponent - 1 : 23 - ilogbf((float)(1 / pairs));
    return positions <= ldexp(1, 53 - bits);
}

/* Defects whose textures are computed with one call per window size, and where the results go. */
typedef struct texture_group {
    uint32_t begin, end;
    int32_t channel; /* of the first of `bytes` */
    crn_image bytes; /* their maps */
    crn_box *boxes;
    crn_box_mean *means;
} texture_group;

/* Enqueues the ranklets of the rectangle around all ranges, and the means over each. */
static int enqueue_means(crn_job *job, const texture_group *g, crn_size window)
{
    const crn_defect *defects = job->defects->defects;
    crn_context *context = crn_job_map_context(job);
    part all = part_around_all(defects, g->begin, g->end, window, &g->bytes);
    double largest = 0;
    for (uint32_t i = g->begin; i < g->end; i++) {
        part p = part_of(&defects[i], window, &g->bytes);
        int32_t plane = job->intensity.data ? 0 : 3 * (defects[i].channel - g->channel);
        g->boxes[i] = (crn_box){plane, p.x0 - all.x0, p.y0 - all.y0, p.x1 - all.x0, p.y1 - all.y0};
        largest = fmax(largest, (double)(p.x1 - p.x0 + 1) * (double)(p.y1 - p.y0 + 1));
    }
    void *memory = crn_context_scratch(context, CRN_SLOT_RANKLET_MAPS,
                                       (size_t)maps_at_once(job) * ranklet_bytes(job));
    if (!memory)
        return -ENOMEM;
    crn_image area = area_of(&g->bytes, all, window);
    crn_image ranklets = crn_image_dense(memory, CRN_F32, CRN_CHW, 3 * area.planes,
                                         all.y1 - all.y0 + 1, all.x1 - all.x0 + 1);
    crn_ranklet_params request = {.width = window.width, .height = window.height};
    int r = crn_job_map_ops(job)->ranklet(context, &request, &area, &ranklets);
    if (r < 0)
        return r;
    crn_boxes boxes = {.all = g->boxes + g->begin,
                       .count = g->end - g->begin,
                       .exact = is_sum_exact(window, largest)};
    return crn_job_map_ops(job)->mean_boxes(context, &ranklets, &boxes, g->means + g->begin);
}

static int enqueue_all(crn_job *job, const crn_sizes *windows, uint32_t count, crn_box *boxes,
                       crn_box_mean *means)
{
    const crn_defect *defects = job->defects->defects;
    int32_t at_once = maps_at_once(job);
    int r = 0;
    for (uint32_t begin = 0, end; begin < count && r == 0; begin = end) {
        end = group_end(job, begin, count, at_once);
        texture_group g = {.begin = begin, .end = end, .channel = defects[begin].channel};
        int32_t maps = job->intensity.data ? 1 : defects[end - 1].channel - g.channel + 1;
        r = bytes_from(job, g.channel, maps, &g.bytes);
        for (int32_t i = 0; i < windows->count && r == 0; i++) {
            g.boxes = boxes + (size_t)i * count;
            g.means = means + (size_t)i * count;
            r = enqueue_means(job, &g, windows->item[i]);
        }
    }
    return r;
}

static int texture_on_device(crn_job *job, const crn_sizes *windows, uint32_t count)
{
    crn_defects *defects = job->defects;
    size_t capacity = (size_t)windows->count * defects->defect_capacity;
    crn_box_mean *means = crn_job_shared(job, CRN_SLOT_RANKLET_MEANS,
                                         capacity * (sizeof(crn_box_mean) + sizeof(crn_box)));
    if (!means)
        return -ENOMEM;
    int r = enqueue_all(job, windows, count, (crn_box *)(means + capacity), means);
    if (r == 0)
        r = crn_job_wait(job);
    for (uint32_t i = 0; i < count && r == 0; i++)
        for (int32_t w = 0; w < windows->count; w++)
            store_texture(defects, i, (uint32_t)w, windows->item[w], &means[(size_t)w * count + i]);
    return r;
}

/* Makes room for `added` textures after those that each defect has; returns for how
 * many defects. */
static uint32_t reserve(crn_defects *defects, uint32_t added)
{
    uint32_t count = defects->defect_count;
    uint32_t remaining = defects->texture_capacity - defects->texture_count;
    uint32_t fitting = added && remaining / added < count ? remaining / added : count;
    for (uint32_t i = count; i-- > 0;) {
        crn_defect *defect = &defects->defects[i];
        uint32_t from = defect->first_texture, to = from + (i < fitting ? i : fitting) * added;
        if (defect->texture_count)
            memmove(&defects->textures[to], &defects->textures[from],
                    defect->texture_count * sizeof *defects->textures);
        defect->first_texture = to;
    }
    defects->texture_count += fitting * added;
    defects->truncated |= fitting < count;
    return fitting;
}

static int ranklet_finish(const void *settings, crn_job *job)
{
    const crn_sizes *windows = &((const ranklet_settings *)settings)->windows;
    crn_defects *defects = job->defects;
    crn_sizes fitting = {.count = 0};
    for (int32_t i = 0; i < windows->count; i++)
        if (windows->item[i].width <= job->received.width &&
            windows->item[i].height <= job->received.height)
            fitting.item[fitting.count++] = windows->item[i];
    uint32_t count = reserve(defects, (uint32_t)fitting.count);
    int r = 0;
    if (count > 0 && fitting.count > 0)
        r = job->device ? texture_on_device(job, &fitting, count)
                        : texture_here(job, &fitting, count);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < count; i++)
        defects->defects[i].texture_count += (uint32_t)fitting.count;
    return 0;
}

const crn_stage crn_stage_ranklet = {
    .name = "ranklet",
    .help = "texture around every defect, of the photograph or else of its class's map: mean "
            "ranklets, from -1 to 1",
    .kind = CRN_STAGE_FEATURE,
    .params = params,
    .settings_bytes = sizeof(ranklet_settings),
    .prepare = ranklet_prepare,
    .finish = ranklet_finish,
    .textures = ranklet_textures,
};
