#include "tests/support/peers/bad_messages.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/little_endian.h"
#include "tests/support/peers/message_fields.h"

void crn_message_put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

uint64_t crn_message_get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

crn_view_header crn_message_header(const crn_wire_rules *rules)
{
    crn_view_header header = {
        .epoch = 1,
        .fruit = 1,
        .views = rules->views ? (uint16_t)rules->views : 4,
        .channels = rules->channels ? rules->channels : 3,
        .class_set = rules->class_set,
    };
    crn_message_reshape(&header, 5, 7, CRN_U8, CRN_HWC, false);
    return header;
}

void crn_message_reshape(crn_view_header *header, uint32_t height, uint32_t width, crn_type type,
                         crn_layout layout, bool intensity)
{
    header->height = height;
    header->width = width;
    header->type = type;
    header->layout = layout;
    header->flags = intensity ? CRN_WIRE_FLAG_INTENSITY : 0;
    header->payload_bytes = (uint64_t)height * width * header->channels * crn_type_bytes(type);
}

void crn_message_resize(crn_message *message, size_t index, size_t size)
{
    unsigned char *bytes = realloc(message->part[index].bytes, size + 1);
    if (!bytes)
        abort();
    size_t old = message->part[index].size;
    if (size > old)
        memset(bytes + old, 0, size - old);
    message->part[index].bytes = bytes;
    message->part[index].size = size;
}

void crn_message_add(crn_message *message, size_t size)
{
    crn_message_resize(message, message->parts, size);
    message->parts++;
}

static void drop_part(crn_message *message)
{
    message->parts--;
    free(message->part[message->parts].bytes);
    message->part[message->parts].bytes = NULL;
    message->part[message->parts].size = 0;
}

static void fill_maps(const crn_view_header *header, unsigned char *bytes)
{
    size_t count = header->payload_bytes / crn_type_bytes(header->type);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = i * 7 + header->sequence * 31;
        if (header->type == CRN_U8) {
            bytes[i] = (unsigned char)v;
        } else if (header->type == CRN_F16) {
            crn_message_put(bytes + 2 * i, (v * 41) & 0x3bff,
                            2); /* a binary16 from 0 to just below 1 */
        } else {
            float p = (float)(v & 255) / 255.0f;
            memcpy(bytes + 4 * i, &p, 4);
        }
    }
}

static void fill_intensity(const crn_view_header *header, unsigned char *bytes)
{
    for (size_t i = 0; i < crn_wire_intensity_bytes(header); i++)
        bytes[i] = (unsigned char)(i * 13 + header->sequence * 17);
}

void crn_message_make_good(const crn_view_header *header, crn_message *ret_message)
{
    *ret_message = (crn_message){.name = "good"};
    crn_message_add(ret_message, CRN_WIRE_HEADER_BYTES);
    crn_wire_pack(header, ret_message->part[0].bytes);
    crn_message_add(ret_message, header->payload_bytes);
    fill_maps(header, ret_message->part[1].bytes);
    if (header->flags & CRN_WIRE_FLAG_INTENSITY) {
        crn_message_add(ret_message, crn_wire_intensity_bytes(header));
        fill_intensity(header, ret_message->part[2].bytes);
    }
}

bool crn_message_matches(const crn_view_header *header, const void *maps, const void *intensity)
{
    crn_message message;
    crn_message_make_good(header, &message);
    bool matches =
        memcmp(maps, message.part[1].bytes, message.part[1].size) == 0 &&
        (message.parts < 3 || memcmp(intensity, message.part[2].bytes, message.part[2].size) == 0);
    crn_message_done(&message);
    return matches;
}

/* Input of a fault case: the valid message and the numbers to corrupt it with. */
typedef struct bad_context {
    crn_message *message;
    unsigned char *header; /* its part 0 */
    const crn_view_header *good;
    const crn_wire_rules *rules;
} bad_context;

typedef struct bad_shape {
    const char *name;
    crn_wire_fault fault;
    int at, bytes;  /* the field to overwrite; bytes 0: none */
    uint64_t value; /* the new value */
    void (*change)(bad_context *context);
    bool intensity; /* needs a message with intensity */
} bad_shape;

static void header_only(bad_context *c)
{
    drop_part(c->message);
}
static void nothing_at_all(bad_context *c)
{
    drop_part(c->message);
    crn_message_resize(c->message, 0, 0);
}
static void one_part_more(bad_context *c)
{
    crn_message_add(c->message, 35);
}
static void empty_part_more(bad_context *c)
{
    crn_message_add(c->message, 0);
}
static void three_parts_more(bad_context *c)
{
    for (int i = 0; i < 3; i++)
        crn_message_add(c->message, 35);
}
static void last_part_less(bad_context *c)
{
    drop_part(c->message);
}
static void header_empty(bad_context *c)
{
    crn_message_resize(c->message, 0, 0);
}
static void header_3(bad_context *c)
{
    crn_message_resize(c->message, 0, 3);
}
static void header_127(bad_context *c)
{
    crn_message_resize(c->message, 0, 127);
}
static void header_129(bad_context *c)
{
    crn_message_resize(c->message, 0, 129);
}
static void header_64_kib(bad_context *c)
{
    crn_message_resize(c->message, 0, 65536);
}
static void header_noise(bad_context *c)
{
    uint64_t state = 1;
    for (size_t i = 0; i < CRN_WIRE_HEADER_BYTES; i++)
        c->header[i] = (unsigned char)crn_message_chance(&state);
}
static void set_shape(bad_context *c, uint64_t height, uint64_t width, uint64_t channels)
{
    crn_message_put(c->header + HEIGHT, height, 4);
    crn_message_put(c->header + WIDTH, width, 4);
    crn_message_put(c->header + CHANNELS, channels, 4);
}
static void shape_overflow(bad_context *c)
{
    set_shape(c, INT32_MAX, INT32_MAX, INT32_MAX);
}
/* 2^30 x 2^30 x 16 bytes are 2^64: a product without overflow check is 0, as payload_bytes says. */
static void shape_overflow_to_zero(bad_context *c)
{
    set_shape(c, UINT64_C(1) << 30, UINT64_C(1) << 30, 16);
    crn_message_put(c->header + PAYLOAD, 0, 8);
}
/* The product of the sides fits 64 bits; multiplying by the element size overflows. */
static void shape_overflow_by_type(bad_context *c)
{
    c->header[DTYPE] = CRN_F32;
    set_shape(c, UINT64_C(1) << 30, UINT64_C(1) << 30, 4);
    crn_message_put(c->header + PAYLOAD, 0, 8);
}
static void payload_less(bad_context *c)
{
    crn_message_put(c->header + PAYLOAD, c->good->payload_bytes - 1, 8);
    crn_message_resize(c->message, 1, c->good->payload_bytes - 1);
}
static void payload_more(bad_context *c)
{
    crn_message_put(c->header + PAYLOAD, c->good->payload_bytes + 1, 8);
    crn_message_resize(c->message, 1, c->good->payload_bytes + 1);
}
static void type_lies(bad_context *c)
{
    c->header[DTYPE] = c->good->type == CRN_F32 ? CRN_U8 : CRN_F32;
}
static void channels_more(bad_context *c)
{
    crn_view_header header = *c->good;
    header.channels++;
    crn_message_reshape(&header, header.height, header.width, header.type, header.layout, false);
    crn_wire_pack(&header, c->header);
    crn_message_resize(c->message, 1, header.payload_bytes);
}
static void class_set_other(bad_context *c)
{
    crn_message_put(c->header + CLASS_SET, c->rules->class_set ^ 1, 8);
}
static void views_beyond(bad_context *c)
{
    crn_message_put(c->header + VIEW, 0, 2);
    crn_message_put(c->header + VIEWS, c->rules->views + 1, 2);
}
static void view_beyond_unknown_views(bad_context *c)
{
    crn_message_put(c->header + VIEW, c->rules->views, 2);
    crn_message_put(c->header + VIEWS, 0, 2);
}
static void view_is_views(bad_context *c)
{
    crn_message_put(c->header + VIEW, crn_message_get(c->header + VIEWS, 2), 2);
}
/* A consistent size just beyond the limit; its parts need not exist. */
static void too_large(bad_context *c)
{
    uint64_t row_bytes =
        (uint64_t)c->good->width * c->good->channels * crn_type_bytes(c->good->type);
    uint64_t height = c->rules->max_bytes / row_bytes + 1;
    crn_message_put(c->header + HEIGHT, height, 4);
    crn_message_put(c->header + PAYLOAD, height * row_bytes, 8);
}
static void too_large_for_real(bad_context *c)
{
    too_large(c);
    crn_message_resize(c->message, 1, crn_message_get(c->header + PAYLOAD, 8));
}
/* The tensor alone is small enough; with the intensity part it is too large. */
static void too_large_together(bad_context *c)
{
    crn_view_header header = *c->good;
    uint64_t row_bytes = (uint64_t)header.width * header.channels * crn_type_bytes(header.type);
    crn_message_reshape(&header, (uint32_t)(c->rules->max_bytes / row_bytes), header.width,
                        header.type, header.layout, true);
    crn_wire_pack(&header, c->header);
}
static void largest_payload(bad_context *c)
{
    crn_message_put(c->header + PAYLOAD, UINT64_MAX, 8);
}
static void tensor_empty(bad_context *c)
{
    crn_message_resize(c->message, 1, 0);
}
static void tensor_less(bad_context *c)
{
    crn_message_resize(c->message, 1, c->good->payload_bytes - 1);
}
static void tensor_more(bad_context *c)
{
    crn_message_resize(c->message, 1, c->good->payload_bytes + 1);
}
static void intensity_empty(bad_context *c)
{
    crn_message_resize(c->message, 2, 0);
}
static void intensity_less(bad_context *c)
{
    crn_message_resize(c->message, 2, crn_wire_intensity_bytes(c->good) - 1);
}
static void intensity_more(bad_context *c)
{
    crn_message_resize(c->message, 2, crn_wire_intensity_bytes(c->good) + 1);
}

/* Makes it a view in a slot, with a reference of `size` bytes. */
static void refer(bad_context *c, size_t size)
{
    c->header[FLAGS] = 2;
    crn_message_resize(c->message, 1, 0);
    crn_message_resize(c->message, 1, size);
}
static void no_reference(bad_context *c)
{
    c->header[FLAGS] = 2;
    drop_part(c->message);
}
static void reference_less(bad_context *c)
{
    refer(c, 23);
}
static void reference_more(bad_context *c)
{
    refer(c, 25);
}
static void reference_reserved(bad_context *c)
{
    refer(c, 24);
    c->message->part[1].bytes[12] = 1;
}
static void reference_and_part(bad_context *c)
{
    refer(c, 24);
    crn_message_add(c->message, 35);
}
static void reference_without_slot(bad_context *c)
{
    refer(c, 24);
    c->header[FLAGS] = 4;
}

static void put_pose(bad_context *c, float roll_rad, float rx)
{
    const float numbers[] = {55, 47, rx, 40, roll_rad};
    c->header[FLAGS] |= CRN_WIRE_FLAG_POSE;
    for (size_t i = 0; i < 5; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        crn_put_le32(c->header + POSE + 4 * i, bits);
    }
}
static void pose_of_zeros(bad_context *c)
{
    c->header[FLAGS] |= CRN_WIRE_FLAG_POSE;
}
static void pose_unannounced(bad_context *c)
{
    put_pose(c, 1, 40);
    c->header[FLAGS] &= (unsigned char)~CRN_WIRE_FLAG_POSE;
}
static void pose_of_nan(bad_context *c)
{
    put_pose(c, NAN, 40);
}
static void pose_negative(bad_context *c)
{
    put_pose(c, 1, -40);
}
static void pose_and_more(bad_context *c)
{
    put_pose(c, 1, 40);
    c->header[TAIL] = 1;
}

#define FIELD(text, reason, offset, size, number)                                                  \
    {                                                                                              \
        .name = text, .fault = reason, .at = offset, .bytes = size, .value = number                \
    }

static const bad_shape shapes[] = {
    {"header without tensor", CRN_WIRE_PARTS, .change = header_only},
    {"one empty part", CRN_WIRE_PARTS, .change = nothing_at_all},
    {"intensity nobody announced", CRN_WIRE_PARTS, .change = one_part_more},
    {"empty third part", CRN_WIRE_PARTS, .change = empty_part_more},
    {"five parts", CRN_WIRE_PARTS, .change = three_parts_more},
    {"four parts", CRN_WIRE_PARTS, .change = one_part_more, .intensity = true},
    {"intensity missing", CRN_WIRE_PARTS, .change = last_part_less, .intensity = true},
    {"header empty", CRN_WIRE_HEADER_SIZE, .change = header_empty},
    {"header of 3 bytes", CRN_WIRE_HEADER_SIZE, .change = header_3},
    {"header of 127 bytes", CRN_WIRE_HEADER_SIZE, .change = header_127},
    {"header of 129 bytes", CRN_WIRE_HEADER_SIZE, .change = header_129},
    {"header of 64 KiB", CRN_WIRE_HEADER_SIZE, .change = header_64_kib},
    FIELD("header_bytes 0", CRN_WIRE_HEADER_SIZE, HEADER_BYTES, 2, 0),
    FIELD("header_bytes 160", CRN_WIRE_HEADER_SIZE, HEADER_BYTES, 2, 160),
    FIELD("header_bytes big-endian", CRN_WIRE_HEADER_SIZE, HEADER_BYTES, 2, 128 << 8),
    FIELD("magic CRN2", CRN_WIRE_MAGIC, MAGIC + 3, 1, '2'),
    FIELD("magic 0", CRN_WIRE_MAGIC, MAGIC, 4, 0),
    {"noise", CRN_WIRE_MAGIC, .change = header_noise},
    FIELD("flag 16", CRN_WIRE_FLAGS, FLAGS, 2, 16),
    {"flag 8 without a pose", CRN_WIRE_POSE, .change = pose_of_zeros},
    {"pose without its flag", CRN_WIRE_RESERVED, .change = pose_unannounced},
    {"pose with NaN", CRN_WIRE_POSE, .change = pose_of_nan},
    {"pose with a semi-axis below 0", CRN_WIRE_POSE, .change = pose_negative},
    {"bytes behind a pose", CRN_WIRE_RESERVED, .change = pose_and_more},
    FIELD("flags 2 and 4", CRN_WIRE_FLAGS, FLAGS, 2, 6),
    FIELD("all flags", CRN_WIRE_FLAGS, FLAGS, 2, UINT16_MAX),
    FIELD("reserved at 78", CRN_WIRE_RESERVED, RESERVED, 1, 1),
    FIELD("reserved at 79", CRN_WIRE_RESERVED, RESERVED + 1, 1, 128),
    FIELD("reserved at 96", CRN_WIRE_RESERVED, POSE, 1, 1),
    FIELD("reserved at 127", CRN_WIRE_RESERVED, TAIL + 11, 1, 1),
    FIELD("dtype 0", CRN_WIRE_TYPE, DTYPE, 1, 0),
    FIELD("dtype 4, of files only", CRN_WIRE_TYPE, DTYPE, 1, CRN_U16),
    FIELD("dtype 255", CRN_WIRE_TYPE, DTYPE, 1, 255),
    FIELD("layout 0", CRN_WIRE_LAYOUT, LAYOUT, 1, 0),
    FIELD("layout 3", CRN_WIRE_LAYOUT, LAYOUT, 1, 3),
    FIELD("height 0", CRN_WIRE_SHAPE, HEIGHT, 4, 0),
    FIELD("width 0", CRN_WIRE_SHAPE, WIDTH, 4, 0),
    FIELD("channels 0", CRN_WIRE_SHAPE, CHANNELS, 4, 0),
    FIELD("height 2^31", CRN_WIRE_SHAPE, HEIGHT, 4, UINT32_C(1) << 31),
    FIELD("width 2^32 - 1", CRN_WIRE_SHAPE, WIDTH, 4, UINT32_MAX),
    {"largest sides", CRN_WIRE_SHAPE, .change = shape_overflow},
    {"product that wraps to 0", CRN_WIRE_SHAPE, .change = shape_overflow_to_zero},
    {"element size that makes it wrap", CRN_WIRE_SHAPE, .change = shape_overflow_by_type},
    FIELD("payload_bytes 0", CRN_WIRE_PAYLOAD_SIZE, PAYLOAD, 8, 0),
    {"payload_bytes 2^64 - 1", CRN_WIRE_PAYLOAD_SIZE, .change = largest_payload},
    {"payload_bytes 1 less, tensor too", CRN_WIRE_PAYLOAD_SIZE, .change = payload_less},
    {"payload_bytes 1 more, tensor too", CRN_WIRE_PAYLOAD_SIZE, .change = payload_more},
    {"dtype that lies", CRN_WIRE_PAYLOAD_SIZE, .change = type_lies},
    {"one channel more", CRN_WIRE_CHANNELS, .change = channels_more},
    {"other classes", CRN_WIRE_CLASS_SET, .change = class_set_other},
    {"too large, and not sent", CRN_WIRE_TOO_LARGE, .change = too_large},
    {"too large with the intensity", CRN_WIRE_TOO_LARGE, .change = too_large_together,
     .intensity = true},
    {"too large, and sent", CRN_WIRE_TOO_LARGE, .change = too_large_for_real},
    {"views beyond the limit", CRN_WIRE_VIEW_INDEX, .change = views_beyond},
    {"view beyond the limit", CRN_WIRE_VIEW_INDEX, .change = view_beyond_unknown_views},
    {"view is views", CRN_WIRE_VIEW_INDEX, .change = view_is_views},
    FIELD("view 65535", CRN_WIRE_VIEW_INDEX, VIEW, 2, UINT16_MAX),
    {"tensor empty", CRN_WIRE_TENSOR_SIZE, .change = tensor_empty},
    {"tensor 1 less", CRN_WIRE_TENSOR_SIZE, .change = tensor_less},
    {"tensor 1 more", CRN_WIRE_TENSOR_SIZE, .change = tensor_more},
    {"intensity empty", CRN_WIRE_INTENSITY_SIZE, .change = intensity_empty, .intensity = true},
    {"intensity 1 less", CRN_WIRE_INTENSITY_SIZE, .change = intensity_less, .intensity = true},
    {"intensity 1 more", CRN_WIRE_INTENSITY_SIZE, .change = intensity_more, .intensity = true},
    FIELD("slot and tensor", CRN_WIRE_REFERENCE, FLAGS, 2, 2),
    FIELD("no slot and a tensor", CRN_WIRE_REFERENCE, FLAGS, 2, 4),
    {"slot without reference", CRN_WIRE_PARTS, .change = no_reference},
    {"reference 1 less", CRN_WIRE_REFERENCE, .change = reference_less},
    {"reference 1 more", CRN_WIRE_REFERENCE, .change = reference_more},
    {"reference with another number", CRN_WIRE_REFERENCE, .change = reference_reserved},
    {"reference and intensity", CRN_WIRE_REFERENCE, .change = reference_and_part},
    {"no slot and a reference", CRN_WIRE_REFERENCE, .change = reference_without_slot},
};

size_t crn_message_bad_count(void)
{
    return sizeof shapes / sizeof shapes[0];
}

void crn_message_make_bad(size_t index, const crn_view_header *good, const crn_wire_rules *rules,
                          crn_message *ret_message)
{
    const bad_shape *shape = &shapes[index];
    crn_view_header header = *good;
    crn_message_reshape(&header, good->height, good->width, good->type, good->layout,
                        shape->intensity);
    crn_message_make_good(&header, ret_message);
    bad_context context = {ret_message, ret_message->part[0].bytes, &header, rules};
    if (shape->bytes)
        crn_message_put(context.header + shape->at, shape->value, shape->bytes);
    if (shape->change)
        shape->change(&context);
    ret_message->name = shape->name;
    /* Flags of slots are unknown to who has none. */
    bool known = shape->fault != CRN_WIRE_REFERENCE || rules->slots;
    ret_message->fault = known ? shape->fault : CRN_WIRE_FLAGS;
}

int crn_message_send(const crn_message *message, void *socket)
{
    for (size_t i = 0; i < message->parts; i++) {
        int flags = i + 1 < message->parts ? ZMQ_SNDMORE : 0;
        if (zmq_send(socket, message->part[i].bytes, message->part[i].size, flags) < 0)
            return -errno;
    }
    return 0;
}

void crn_message_done(crn_message *message)
{
    for (size_t i = 0; i < message->parts; i++)
        free(message->part[i].bytes);
    *message = (crn_message){0};
}
