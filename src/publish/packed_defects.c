#include "src/publish/packed_defects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "stages/base/clock.h"

/* Upper bounds in bytes per format, from which the memory for limits.defects and limits.points is
 * reserved: a defect without its points and textures, a point, a texture. */
static const size_t defect_bytes[CRN_FORMATS] = {300, 600};
static const size_t point_bytes[CRN_FORMATS] = {8, 36};
static const size_t texture_bytes[CRN_FORMATS] = {80, 200};

/* Defects that are packed between two checks of the time limit. */
#define DEFECTS_PER_CHECK 64

/* An unknown parent: its offset in the packed bytes, and its index in the view. */
typedef struct gap {
    uint64_t at;
    int64_t parent;
} gap;

typedef struct packed_format {
    crn_encoder *encoder;       /* NULL: no outlet uses the format */
    const unsigned char *bytes; /* the array's items, in the encoder */
    size_t size;
    gap *gaps;
    uint32_t gap_count;
} packed_format;

/* What stands before the bytes in the store, and before the totals. */
typedef struct packed_head {
    uint32_t count, total_count;
    uint64_t bytes[CRN_FORMATS];
    uint32_t gaps[CRN_FORMATS];
    bool truncated;
} packed_head;

/* What is packed. */
typedef struct packed_source {
    const crn_config *config;
    const crn_defects *defects;
    const crn_on_fruit *on_fruit; /* NULL: not told */
    uint32_t view_index;
    bool textures;         /* defects have the key, even if empty */
    const crn_view *limit; /* NULL: none */
} packed_source;

struct crn_defects_packer {
    const crn_config *config;
    packed_head head;
    crn_packed_total totals[CRN_CLASSES_MAX];
    packed_format formats[CRN_FORMATS];
};

bool crn_format_is_used(const crn_config *config, crn_format format)
{
    if (format == CRN_FORMAT_MSGPACK && config->monitor.http[0])
        return true; /* the flight recorder's */
    return config->publish.grader.format == (int32_t)format ||
           config->publish.viewers.format == (int32_t)format;
}

int crn_defects_packer_create(const crn_config *config, crn_defects_packer **ret_packer)
{
    crn_defects_packer *packer = calloc(1, sizeof *packer);
    if (!packer)
        return -ENOMEM;
    packer->config = config;
    int r = 0;
    for (crn_format format = 0; format < CRN_FORMATS && r == 0; format++) {
        packed_format *packed = &packer->formats[format];
        if (!crn_format_is_used(config, format))
            continue;
        r = crn_encoder_create(format, &packed->encoder);
        packed->gaps = calloc((size_t)config->limits.defects, sizeof *packed->gaps);
        if (!packed->gaps)
            r = -ENOMEM;
    }
    if (r < 0) {
        crn_defects_packer_free(&packer);
        return r;
    }
    *ret_packer = packer;
    return 0;
}

void crn_defects_packer_free(crn_defects_packer **packer)
{
    if (!packer || !*packer)
        return;
    for (crn_format format = 0; format < CRN_FORMATS; format++) {
        crn_encoder_free(&(*packer)->formats[format].encoder);
        free((*packer)->formats[format].gaps);
    }
    free(*packer);
    *packer = NULL;
}

size_t crn_defects_packer_bytes(const crn_config *config)
{
    size_t bytes = sizeof(crn_defects_packer);
    for (crn_format format = 0; format < CRN_FORMATS; format++) {
        if (!crn_format_is_used(config, format))
            continue;
        size_t defect = defect_bytes[format] + CRN_CLASS_NAME_MAX + sizeof(gap) +
                        crn_config_textures(config) * texture_bytes[format];
        bytes += (size_t)config->limits.defects * defect +
                 (size_t)config->limits.points * point_bytes[format];
    }
    return bytes;
}

static void put_reals(crn_encoder *encoder, const char *key, const double *values, uint32_t count)
{
    crn_encoder_text(encoder, key);
    crn_encoder_array(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        crn_encoder_real(encoder, values[i]);
    crn_encoder_array_end(encoder);
}

static void put_textures(crn_encoder *encoder, const crn_defects *view, const crn_defect *defect)
{
    crn_encoder_text(encoder, CRN_KEY(defect, ranklet));
    crn_encoder_array(encoder, defect->texture_count);
    for (uint32_t i = 0; i < defect->texture_count; i++) {
        const crn_texture *texture = &view->textures[defect->first_texture + i];
        crn_encoder_map(encoder, CRN_KEYS_texture);
        crn_encoder_text(encoder, CRN_KEY(texture, window));
        crn_encoder_array(encoder, 2);
        crn_encoder_integer(encoder, texture->width);
        crn_encoder_integer(encoder, texture->height);
        crn_encoder_array_end(encoder);
        crn_encoder_pair_real(encoder, CRN_KEY(texture, vertical), texture->vertical);
        crn_encoder_pair_real(encoder, CRN_KEY(texture, horizontal), texture->horizontal);
        crn_encoder_pair_real(encoder, CRN_KEY(texture, diagonal), texture->diagonal);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

/* True if a step computed textures for the view: its defects then have the key, even if empty. */
static bool has_textures(const crn_config *config, uint32_t skipped)
{
    for (int32_t step = 0; step < config->steps; step++)
        if (config->chain[step].stage->textures && !(skipped >> step & 1))
            return true;
    return false;
}

static void put_parent(packed_format *packed, const crn_defect *defect)
{
    crn_encoder_text(packed->encoder, CRN_KEY(defect, parent));
    if (defect->parent < 0)
        crn_encoder_integer(packed->encoder, -1);
    else
        packed->gaps[packed->gap_count++] =
            (gap){.at = crn_encoder_gap(packed->encoder), .parent = defect->parent};
}

static void put_on_fruit(crn_encoder *encoder, crn_on_fruit on_fruit)
{
    crn_encoder_text(encoder, CRN_KEY(defect, on_fruit));
    if (on_fruit == CRN_ON_FRUIT_UNKNOWN)
        crn_encoder_null(encoder);
    else
        crn_encoder_bool(encoder, on_fruit == CRN_ON_FRUIT);
}

static void put_defect(const packed_source *from, packed_format *packed, const crn_defect *defect)
{
    const crn_classes *classes = &from->config->classes;
    crn_encoder *encoder = packed->encoder;
    const double bbox[] = {defect->x0, defect->y0, defect->x1, defect->y1};
    const double centroid[] = {defect->centroid_x, defect->centroid_y};
    crn_encoder_map(encoder, CRN_KEYS_defect_always + (from->on_fruit != NULL) + from->textures);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(defect, view), from->view_index);
    crn_encoder_pair_text(encoder, CRN_KEY(defect, class), classes->name[defect->channel]);
    crn_encoder_pair_real(encoder, CRN_KEY(defect, level), classes->level[defect->channel]);
    crn_encoder_pair_bool(encoder, CRN_KEY(defect, closed), defect->closed);
    crn_encoder_pair_bool(encoder, CRN_KEY(defect, hole), defect->hole);
    put_parent(packed, defect);
    crn_encoder_pair_real(encoder, CRN_KEY(defect, area_px), defect->area_px);
    crn_encoder_pair_real(encoder, CRN_KEY(defect, perimeter_px), defect->perimeter_px);
    put_reals(encoder, CRN_KEY(defect, bbox), bbox, 4);
    put_reals(encoder, CRN_KEY(defect, centroid), centroid, 2);
    crn_encoder_pair_real(encoder, CRN_KEY(defect, mean_probability), defect->mean_probability);
    crn_encoder_text(encoder, CRN_KEY(defect, xy));
    crn_encoder_points(encoder, from->defects->xy + (size_t)defect->first_point * 2,
                       defect->point_count);
    if (from->on_fruit)
        put_on_fruit(encoder, from->on_fruit[defect - from->defects->defects]);
    if (from->textures)
        put_textures(encoder, from->defects, defect);
    crn_encoder_map_end(encoder);
}

static bool is_over(const crn_view *limit)
{
    return limit && (atomic_load_explicit(&limit->cancelled, memory_order_relaxed) ||
                     crn_now_ns() >= limit->deadline_ns);
}

static int pack_format(const packed_source *from, crn_format format, packed_format *packed)
{
    const crn_defects *view = from->defects;
    crn_encoder_begin(packed->encoder);
    crn_encoder_array(packed->encoder, view->defect_count);
    packed->gap_count = 0;
    for (uint32_t i = 0; i < view->defect_count; i++) {
        if (i % DEFECTS_PER_CHECK == DEFECTS_PER_CHECK - 1 && is_over(from->limit))
            return -ETIME;
        put_defect(from, packed, &view->defects[i]);
    }
    crn_encoder_array_end(packed->encoder);
    int r = crn_encoder_end(packed->encoder, &packed->bytes, &packed->size);
    if (r < 0)
        return r;
    size_t begin = crn_encoder_array_begin_bytes(format, view->defect_count);
    packed->bytes += begin;
    packed->size -= begin + (format == CRN_FORMAT_JSON);
    for (uint32_t i = 0; i < packed->gap_count; i++)
        packed->gaps[i].at -= begin;
    return 0;
}

static uint32_t sum_defects(const crn_defects *view, crn_packed_total totals[CRN_CLASSES_MAX])
{
    crn_packed_total by_class[CRN_CLASSES_MAX] = {{0}};
    bool present[CRN_CLASSES_MAX] = {false};
    for (uint32_t i = 0; i < view->defect_count; i++) {
        const crn_defect *defect = &view->defects[i];
        crn_packed_total *total = &by_class[defect->channel];
        present[defect->channel] = true;
        total->count += !defect->hole;
        total->area_px += defect->hole ? -defect->area_px : defect->area_px;
    }
    uint32_t count = 0;
    for (int32_t class = 0; class < CRN_CLASSES_MAX; class ++) {
        if (!present[class])
            continue;
        totals[count] = by_class[class];
        totals[count++].class_index = class;
    }
    return count;
}

int crn_defects_pack(crn_defects_packer *packer, const crn_defects *defects,
                     const crn_on_fruit *on_fruit, uint32_t view_index, uint32_t skipped,
                     const crn_view *limit)
{
    const crn_config *config = limit && limit->config ? limit->config : packer->config;
    packed_source from = {config, defects, on_fruit, view_index, has_textures(config, skipped),
                          limit};
    packed_head head = {.count = defects->defect_count, .truncated = defects->truncated};
    for (crn_format format = 0; format < CRN_FORMATS; format++) {
        packed_format *packed = &packer->formats[format];
        if (!packed->encoder)
            continue;
        int r = pack_format(&from, format, packed);
        if (r < 0)
            return r;
        head.bytes[format] = packed->size;
        head.gaps[format] = packed->gap_count;
    }
    head.total_count = sum_defects(defects, packer->totals);
    packer->head = head;
    return 0;
}

int crn_packed_defects_put(const crn_defects_packer *packer, crn_result_store *store,
                           uint32_t *ret_handle)
{
    return crn_packed_defects_put_with(packer, NULL, 0, store, ret_handle);
}

int crn_packed_defects_put_with(const crn_defects_packer *packer, const crn_result_part *attached,
                                int attached_count, crn_result_store *store, uint32_t *ret_handle)
{
    const packed_head *head = &packer->head;
    if (head->count == 0 && !head->truncated && attached_count == 0) {
        *ret_handle = CRN_RESULT_NONE;
        return 0;
    }
    crn_result_part parts[2 + 2 * CRN_FORMATS + CRN_ATTACHED_MAX] = {
        {head, sizeof *head}, {packer->totals, head->total_count * sizeof *packer->totals}};
    int count = 2;
    for (crn_format format = 0; format < CRN_FORMATS; format++) {
        const packed_format *packed = &packer->formats[format];
        parts[count++] = (crn_result_part){packed->gaps, head->gaps[format] * sizeof *packed->gaps};
        parts[count++] = (crn_result_part){packed->bytes, head->bytes[format]};
    }
    for (int i = 0; i < attached_count; i++)
        parts[count++] = attached[i];
    return crn_result_store_put(store, parts, count, ret_handle);
}

crn_result_reader crn_packed_defects_attached(const crn_result_store *store, uint32_t handle)
{
    packed_head head;
    crn_result_reader reader = crn_result_store_open(store, handle);
    crn_result_read(&reader, &head, sizeof head);
    crn_result_read(&reader, NULL, head.total_count * sizeof(crn_packed_total));
    for (crn_format format = 0; format < CRN_FORMATS; format++)
        crn_result_read(&reader, NULL, head.gaps[format] * sizeof(gap) + head.bytes[format]);
    return reader;
}

void crn_packed_defects_open(const crn_result_store *store, uint32_t handle,
                             crn_packed_defects *ret_packed)
{
    ret_packed->count = ret_packed->total_count = 0;
    ret_packed->truncated = false;
    if (handle == CRN_RESULT_NONE)
        return;
    packed_head head;
    ret_packed->reader = crn_result_store_open(store, handle);
    crn_result_read(&ret_packed->reader, &head, sizeof head);
    ret_packed->count = head.count;
    ret_packed->truncated = head.truncated;
    ret_packed->total_count = head.total_count;
    memcpy(ret_packed->bytes, head.bytes, sizeof head.bytes);
    memcpy(ret_packed->gaps, head.gaps, sizeof head.gaps);
    crn_result_read(&ret_packed->reader, ret_packed->totals,
                    head.total_count * sizeof *ret_packed->totals);
}

static void copy_piece(crn_result_reader *from, size_t size, crn_encoder *encoder)
{
    unsigned char *to = crn_encoder_piece(encoder, size);
    if (to)
        crn_result_read(from, to, size);
}

void crn_packed_defects_join(const crn_packed_defects *packed, uint64_t before,
                             crn_encoder *encoder)
{
    if (packed->count == 0)
        return;
    crn_format format = crn_encoder_format(encoder);
    crn_result_reader gaps = packed->reader;
    for (crn_format earlier = 0; earlier < format; earlier++)
        crn_result_read(&gaps, NULL, packed->gaps[earlier] * sizeof(gap) + packed->bytes[earlier]);
    crn_result_reader bytes = gaps;
    crn_result_read(&bytes, NULL, packed->gaps[format] * sizeof(gap));
    if (before > 0)
        crn_encoder_separate(encoder);
    uint64_t at = 0;
    for (uint32_t i = 0; i < packed->gaps[format]; i++) {
        gap next;
        crn_result_read(&gaps, &next, sizeof next);
        copy_piece(&bytes, next.at - at, encoder);
        crn_encoder_fill_gap(encoder, next.parent + (int64_t)before);
        at = next.at;
    }
    copy_piece(&bytes, packed->bytes[format] - at, encoder);
}
