#include "src/formats/recording/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/encoding/messagepack_json.h"

#define TILE 64 /* two tiles of 4-byte elements fit the first-level cache */

static const char *const type_names[] = {[CRN_U8] = "u8", [CRN_F16] = "f16", [CRN_F32] = "f32"};
static const char *const layout_names[] = {[CRN_CHW] = "CHW", [CRN_HWC] = "HWC"};

/* The header's integers by name; height, width and channels are repeated in the shape, for TIFF
 * readers that do not know this format. */
typedef struct number {
    const char *name;
    size_t offset; /* in crn_recorded_view */
    uint64_t max;  /* maximum of its C type, which also gives its width */
} number;

#define IN_HEADER(field) offsetof(crn_recorded_view, header.field)
static const number numbers[] = {
    {"sequence", IN_HEADER(sequence), UINT64_MAX},
    {"epoch", IN_HEADER(epoch), UINT64_MAX},
    {"fruit", IN_HEADER(fruit), UINT64_MAX},
    {"captured_ns", IN_HEADER(captured_ns), UINT64_MAX},
    {"deadline_ns", IN_HEADER(deadline_ns), UINT64_MAX},
    {"encoder", IN_HEADER(encoder), UINT64_MAX},
    {"lane", IN_HEADER(lane), UINT32_MAX},
    {"view", IN_HEADER(view), UINT16_MAX},
    {"views", IN_HEADER(views), UINT16_MAX},
    {"height", IN_HEADER(height), UINT32_MAX},
    {"width", IN_HEADER(width), UINT32_MAX},
    {"channels", IN_HEADER(channels), UINT32_MAX},
    {"flags", IN_HEADER(flags), UINT16_MAX},
    {"class_set", IN_HEADER(class_set), UINT64_MAX},
    {"arrived_ns", offsetof(crn_recorded_view, arrived_ns), UINT64_MAX},
};
#undef IN_HEADER

static uint64_t number_get(const crn_recorded_view *view, const number *row)
{
    const unsigned char *at = (const unsigned char *)view + row->offset;
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    uint16_t u16 = 0;
    if (row->max == UINT64_MAX)
        return memcpy(&u64, at, sizeof u64), u64;
    if (row->max == UINT32_MAX)
        return memcpy(&u32, at, sizeof u32), u32;
    return memcpy(&u16, at, sizeof u16), u16;
}

static void number_set(crn_recorded_view *view, const number *row, uint64_t value)
{
    unsigned char *at = (unsigned char *)view + row->offset;
    uint32_t u32 = (uint32_t)value;
    uint16_t u16 = (uint16_t)value;
    if (row->max == UINT64_MAX)
        memcpy(at, &value, sizeof value);
    else if (row->max == UINT32_MAX)
        memcpy(at, &u32, sizeof u32);
    else
        memcpy(at, &u16, sizeof u16);
}

/* --- class names --- */

/* Appends a name as JSON in ASCII: an ImageDescription may hold nothing else. */
static int put_name(char *text, const char *name)
{
    int used = sprintf(text, "\"");
    for (const unsigned char *at = (const unsigned char *)name; *at;) {
        int more = *at < 0xc0 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
        uint32_t point = more ? *at & (0x3fU >> more) : *at;
        for (at++; more > 0 && (*at & 0xc0) == 0x80; at++, more--)
            point = point << 6 | (*at & 0x3f);
        if (point >= 0x10000)
            used += sprintf(text + used, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
                            0xdc00 + (point & 0x3ff));
        else if (point < 0x20 || point > 0x7e || point == '"' || point == '\\')
            used += sprintf(text + used, "\\u%04x", point);
        else
            text[used++] = (char)point;
    }
    return used + sprintf(text + used, "\"");
}

static bool are_of(const crn_classes *classes, const crn_view_header *header)
{
    return classes && classes->count > 0 && (uint32_t)classes->count == header->channels &&
           (!header->class_set || header->class_set == crn_classes_hash(classes));
}

static int put_classes(char *text, const crn_classes *classes)
{
    int used = sprintf(text, ", \"classes\": [");
    for (int32_t i = 0; i < classes->count; i++) {
        used += sprintf(text + used, "%s", i ? ", " : "");
        used += put_name(text + used, classes->name[i]);
    }
    return used + sprintf(text + used, "]");
}

/* 9 digits are the same f32 when they are read. */
static int put_pose(char *text, const crn_wire_pose *pose)
{
    return sprintf(text, ", \"pose\": [%.9g, %.9g, %.9g, %.9g, %.9g]", (double)pose->x,
                   (double)pose->y, (double)pose->rx, (double)pose->ry, (double)pose->roll_rad);
}

static int read_pose(const msgpack_object *root, crn_view_header *header, crn_error *fault)
{
    const msgpack_object *list = crn_value_get(root, "pose");
    crn_wire_pose *pose = &header->pose;
    float *const members[] = {&pose->x, &pose->y, &pose->rx, &pose->ry, &pose->roll_rad};
    if (!(header->flags & CRN_WIRE_FLAG_POSE))
        return 0;
    bool good = crn_value_count(list) == 5;
    for (uint32_t i = 0; good && i < 5; i++) {
        double value = crn_value_real(crn_value_item(list, i));
        good = fabs(value) <= (double)CRN_WIRE_POSE_MAX;
        *members[i] = good ? (float)value : 0;
    }
    return good ? 0
                : crn_error_set(fault, -EBADMSG,
                                "its JSON's \"flags\" announce a \"pose\" and it has no five "
                                "numbers");
}

static int read_classes(const msgpack_object *root, const crn_view_header *header,
                        crn_classes *ret_classes, crn_error *fault)
{
    const msgpack_object *list = crn_value_get(root, "classes");
    ret_classes->count = 0;
    if (!list)
        return 0; /* of an earlier version, or of a writer that did not know them */
    bool good = list->type == MSGPACK_OBJECT_ARRAY && list->via.array.size == header->channels &&
                header->channels <= CRN_CLASSES_MAX;
    for (uint32_t i = 0; good && i < header->channels; i++) {
        const msgpack_object *name = &list->via.array.ptr[i];
        good = name->type == MSGPACK_OBJECT_STR && name->via.str.size < CRN_CLASS_NAME_MAX;
        if (good)
            snprintf(ret_classes->name[i], CRN_CLASS_NAME_MAX, "%.*s", (int)name->via.str.size,
                     name->via.str.ptr);
    }
    if (!good)
        return crn_error_set(fault, -EBADMSG,
                             "its JSON's \"classes\" is not a list of a name per channel");
    ret_classes->count = (int32_t)header->channels;
    return 0;
}

/* --- a view --- */

void crn_describe_view(const crn_recorded_view *view, const crn_classes *classes,
                       char text[CRN_DESCRIPTION_BYTES])
{
    const crn_view_header *header = &view->header;
    size_t room = CRN_DESCRIPTION_BYTES;
    int used = snprintf(text, room,
                        "{\"shape\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32
                        "], \"axes\": \"CYX\", \"dtype\": \"%s\", \"layout\": \"%s\"",
                        header->channels, header->height, header->width, type_names[header->type],
                        layout_names[header->layout]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        used += snprintf(text + used, room - (size_t)used, ", \"%s\": %" PRIu64, numbers[i].name,
                         number_get(view, &numbers[i]));
    if (header->flags & CRN_WIRE_FLAG_POSE)
        used += put_pose(text + used, &header->pose);
    if (are_of(classes, header))
        used += put_classes(text + used, classes);
    snprintf(text + used, room - (size_t)used, "}");
}

void crn_describe_intensity(const crn_view_header *header, char text[CRN_DESCRIPTION_BYTES])
{
    snprintf(text, CRN_DESCRIPTION_BYTES,
             "{\"shape\": [%" PRIu32 ", %" PRIu32 "], \"axes\": \"YX\", \"intensity\": true}",
             header->height, header->width);
}

uint64_t crn_payload_bytes(const crn_view_header *header)
{
    uint64_t bytes = crn_type_bytes(header->type);
    if (__builtin_mul_overflow(bytes, (uint64_t)header->height, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)header->width, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)header->channels, &bytes))
        return 0;
    return bytes;
}

/* Index of the text in names[1..2 or 3], 0 if it is none of them. */
static int read_name(const msgpack_object *root, const char *key, const char *const *names,
                     int count)
{
    const msgpack_object *value = crn_value_get(root, key);
    for (int i = 1; i < count; i++)
        if (crn_value_is_text(value, names[i]))
            return i;
    return 0;
}

static bool shape_agrees(const msgpack_object *root, const crn_view_header *header)
{
    const msgpack_object *shape = crn_value_get(root, "shape");
    const uint64_t sides[3] = {header->channels, header->height, header->width};
    bool agrees = crn_value_count(shape) == 3;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t side = 0;
        agrees = agrees && crn_value_unsigned(crn_value_item(shape, i), UINT32_MAX, &side) &&
                 side == sides[i];
    }
    return agrees;
}

static int read_view(const msgpack_object *root, crn_recorded_view *view, crn_error *fault)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t value = 0;
        if (!crn_value_unsigned(crn_value_get(root, numbers[i].name), numbers[i].max, &value))
            return crn_error_set(fault, -EBADMSG,
                                 "its JSON has no whole number \"%s\" from 0 to %" PRIu64,
                                 numbers[i].name, numbers[i].max);
        number_set(view, &numbers[i], value);
    }
    crn_view_header *header = &view->header;
    header->type = (crn_type)read_name(root, "dtype", type_names, 4);
    header->layout = (crn_layout)read_name(root, "layout", layout_names, 3);
    if (!header->type)
        return crn_error_set(fault, -EBADMSG, "its JSON's \"dtype\" is not u8, f16 or f32");
    if (!header->layout)
        return crn_error_set(fault, -EBADMSG, "its JSON's \"layout\" is not CHW or HWC");
    if (header->flags & ~CRN_RECORDED_FLAGS)
        return crn_error_set(fault, -EBADMSG, "its JSON's \"flags\" %u has an unknown flag",
                             header->flags);
    int r = read_pose(root, header, fault);
    if (r < 0)
        return r;
    if (!shape_agrees(root, header))
        return crn_error_set(fault, -EBADMSG,
                             "its JSON's \"shape\" is not [channels, height, width]");
    header->payload_bytes = crn_payload_bytes(header);
    if (!header->payload_bytes)
        return crn_error_set(fault, -EBADMSG, "its JSON's \"shape\" is empty or too large");
    return 0;
}

/* Descriptions are maps: what does not begin as one is not parsed as any other format. */
static int parse(const char *text, crn_messagepack_json *ret_json, crn_error *fault)
{
    crn_error reason;
    text += strspn(text, " \t\r\n");
    if (text[0] != '{')
        return crn_error_set(fault, -EBADMSG, "its ImageDescription is not JSON");
    int r = crn_messagepack_json_init(ret_json, text, strlen(text), &reason);
    return r < 0 ? crn_error_set(fault, r, "its ImageDescription: %.200s", reason.text) : 0;
}

int crn_parse_description(const char *text, crn_recorded_view *ret_view, crn_classes *ret_classes,
                          crn_error *fault)
{
    crn_messagepack_json json;
    if (strlen(text) > CRN_DESCRIPTION_MAX)
        return crn_error_set(fault, -EBADMSG, "its ImageDescription is too long for a view's");
    int r = parse(text, &json, fault);
    if (r < 0)
        return r;
    crn_recorded_view view = {0};
    r = read_view(&json.tree.data, &view, fault);
    if (!r)
        r = read_classes(&json.tree.data, &view.header, ret_classes, fault);
    crn_messagepack_json_done(&json);
    if (!r)
        *ret_view = view;
    return r;
}

bool crn_is_intensity_description(const char *text)
{
    crn_messagepack_json json;
    if (strlen(text) > CRN_DESCRIPTION_MAX || parse(text, &json, NULL) < 0)
        return false;
    bool is = crn_value_is_true(crn_value_get(&json.tree.data, "intensity"));
    crn_messagepack_json_done(&json);
    return is;
}

/* Inlined with a constant element size, so that each copy is one load and one store. */
static inline __attribute__((always_inline)) void transpose_tiles(const unsigned char *from,
                                                                  unsigned char *to, size_t rows,
                                                                  size_t columns, size_t size)
{
    for (size_t row0 = 0; row0 < rows; row0 += TILE) {
        size_t row_end = row0 + TILE < rows ? row0 + TILE : rows;
        for (size_t column0 = 0; column0 < columns; column0 += TILE) {
            size_t column_end = column0 + TILE < columns ? column0 + TILE : columns;
            for (size_t column = column0; column < column_end; column++)
                for (size_t row = row0; row < row_end; row++)
                    memcpy(to + (column * rows + row) * size,
                           from + (row * columns + column) * size, size);
        }
    }
}

void crn_transpose(const void *from, void *to, size_t rows, size_t columns, size_t element_bytes)
{
    if (element_bytes == 1)
        transpose_tiles(from, to, rows, columns, 1);
    else if (element_bytes == 2)
        transpose_tiles(from, to, rows, columns, 2);
    else
        transpose_tiles(from, to, rows, columns, 4);
}
