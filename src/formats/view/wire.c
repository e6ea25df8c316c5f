#include "src/formats/view/wire.h"

#include <math.h>
#include <string.h>

#include "stages/base/little_endian.h"

/* Offsets of the fields; see the table in src/formats/view/wire.h. */
enum {
    AT_MAGIC = 0,
    AT_HEADER_BYTES = 4,
    AT_FLAGS = 6,
    AT_SEQUENCE = 8,
    AT_EPOCH = 16,
    AT_FRUIT = 24,
    AT_CAPTURED = 32,
    AT_DEADLINE = 40,
    AT_ENCODER = 48,
    AT_LANE = 56,
    AT_VIEW = 60,
    AT_VIEWS = 62,
    AT_HEIGHT = 64,
    AT_WIDTH = 68,
    AT_CHANNELS = 72,
    AT_TYPE = 76,
    AT_LAYOUT = 77,
    AT_RESERVED = 78,
    AT_CLASS_SET = 80,
    AT_PAYLOAD_BYTES = 88,
    AT_POSE = 96,
    AT_TAIL = 116,
};
#define RESERVED_BYTES 2
#define POSE_NUMBERS   5
#define TAIL_BYTES     12

_Static_assert(AT_POSE + 4 * POSE_NUMBERS == AT_TAIL, "a pose has so many numbers");
_Static_assert(AT_TAIL + TAIL_BYTES == CRN_WIRE_HEADER_BYTES, "the fields fill the header");

static const char magic[4] = {'C', 'R', 'N', '1'};

#define NAME(constant, name, hint) [CRN_WIRE_##constant] = name,
#define HINT(constant, name, hint) [CRN_WIRE_##constant] = hint,

const char *const crn_wire_fault_names[CRN_WIRE_FAULTS] = {
    "ok", CRN_WIRE_FAULT_ROWS(NAME) CRN_WIRE_SLOT_FAULT_ROWS(NAME)};
const char *const crn_wire_fault_hints[CRN_WIRE_FAULTS] = {
    "nothing is wrong", CRN_WIRE_FAULT_ROWS(HINT) CRN_WIRE_SLOT_FAULT_ROWS(HINT)};

static bool all_zero(const unsigned char *at, size_t size)
{
    unsigned char any = 0;
    for (size_t i = 0; i < size; i++)
        any |= at[i];
    return !any;
}

static void get_pose(const unsigned char *at, crn_wire_pose *ret_pose)
{
    float *const numbers[POSE_NUMBERS] = {&ret_pose->x, &ret_pose->y, &ret_pose->rx, &ret_pose->ry,
                                          &ret_pose->roll_rad};
    for (int i = 0; i < POSE_NUMBERS; i++) {
        uint32_t bits = crn_get_le32(at + (size_t)4 * i);
        memcpy(numbers[i], &bits, sizeof bits);
    }
}

static void put_pose(const crn_wire_pose *pose, unsigned char *at)
{
    const float numbers[POSE_NUMBERS] = {pose->x, pose->y, pose->rx, pose->ry, pose->roll_rad};
    for (int i = 0; i < POSE_NUMBERS; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        crn_put_le32(at + (size_t)4 * i, bits);
    }
}

/* False of NaN, too. */
static bool is_pose_sound(const crn_wire_pose *pose)
{
    const float size = CRN_WIRE_POSE_MAX;
    return fabsf(pose->x) <= size && fabsf(pose->y) <= size && fabsf(pose->roll_rad) <= size &&
           pose->rx > 0 && pose->rx <= size && pose->ry > 0 && pose->ry <= size;
}

void crn_wire_peek(const unsigned char bytes[CRN_WIRE_HEADER_BYTES], crn_view_header *ret_header)
{
    *ret_header = (crn_view_header){
        .sequence = crn_get_le64(bytes + AT_SEQUENCE),
        .epoch = crn_get_le64(bytes + AT_EPOCH),
        .fruit = crn_get_le64(bytes + AT_FRUIT),
        .captured_ns = crn_get_le64(bytes + AT_CAPTURED),
        .deadline_ns = crn_get_le64(bytes + AT_DEADLINE),
        .encoder = crn_get_le64(bytes + AT_ENCODER),
        .class_set = crn_get_le64(bytes + AT_CLASS_SET),
        .payload_bytes = crn_get_le64(bytes + AT_PAYLOAD_BYTES),
        .lane = crn_get_le32(bytes + AT_LANE),
        .flags = crn_get_le16(bytes + AT_FLAGS),
        .view = crn_get_le16(bytes + AT_VIEW),
        .views = crn_get_le16(bytes + AT_VIEWS),
        .height = crn_get_le32(bytes + AT_HEIGHT),
        .width = crn_get_le32(bytes + AT_WIDTH),
        .channels = crn_get_le32(bytes + AT_CHANNELS),
        .type = (crn_type)bytes[AT_TYPE],
        .layout = (crn_layout)bytes[AT_LAYOUT],
    };
    get_pose(bytes + AT_POSE, &ret_header->pose);
}

bool crn_wire_is_header(const void *bytes, size_t size)
{
    return size == CRN_WIRE_HEADER_BYTES && memcmp(bytes, magic, sizeof magic) == 0 &&
           crn_get_le16((const unsigned char *)bytes + AT_HEADER_BYTES) == CRN_WIRE_HEADER_BYTES;
}

/* True of flags that this line knows; a view cannot both lie in a slot and have got none. */
static bool are_known(uint16_t flags, const crn_wire_rules *rules)
{
    uint16_t of_slots = CRN_SLOTS_FLAG_IN_SLOT | CRN_SLOTS_FLAG_NO_SLOT;
    uint16_t known = CRN_WIRE_FLAG_INTENSITY | CRN_WIRE_FLAG_POSE | (rules->slots ? of_slots : 0);
    return (flags & ~known) == 0 && (flags & of_slots) != of_slots;
}

static crn_wire_fault check_envelope(const unsigned char *bytes, size_t size,
                                     const crn_wire_rules *rules)
{
    if (size >= sizeof magic && memcmp(bytes + AT_MAGIC, magic, sizeof magic) != 0)
        return CRN_WIRE_MAGIC;
    if (size != CRN_WIRE_HEADER_BYTES ||
        crn_get_le16(bytes + AT_HEADER_BYTES) != CRN_WIRE_HEADER_BYTES)
        return CRN_WIRE_HEADER_SIZE;
    if (!are_known(crn_get_le16(bytes + AT_FLAGS), rules))
        return CRN_WIRE_FLAGS;
    bool has_pose = crn_get_le16(bytes + AT_FLAGS) & CRN_WIRE_FLAG_POSE;
    if (!all_zero(bytes + AT_RESERVED, RESERVED_BYTES) || !all_zero(bytes + AT_TAIL, TAIL_BYTES) ||
        (!has_pose && !all_zero(bytes + AT_POSE, AT_TAIL - AT_POSE)))
        return CRN_WIRE_RESERVED;
    return CRN_WIRE_OK;
}

/* Checks that the header is consistent. */
static crn_wire_fault check_shape(const crn_view_header *header)
{
    if (header->type != CRN_U8 && header->type != CRN_F16 && header->type != CRN_F32)
        return CRN_WIRE_TYPE;
    if (header->layout != CRN_CHW && header->layout != CRN_HWC)
        return CRN_WIRE_LAYOUT;
    const uint32_t sides[] = {header->height, header->width, header->channels};
    uint64_t payload_bytes = crn_type_bytes(header->type);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        if (sides[i] == 0 || sides[i] > INT32_MAX ||
            __builtin_mul_overflow(payload_bytes, (uint64_t)sides[i], &payload_bytes))
            return CRN_WIRE_SHAPE;
    if (header->payload_bytes != payload_bytes)
        return CRN_WIRE_PAYLOAD_SIZE;
    bool has_pose = header->flags & CRN_WIRE_FLAG_POSE;
    return has_pose && !is_pose_sound(&header->pose) ? CRN_WIRE_POSE : CRN_WIRE_OK;
}

/* Checks a consistent header against the line's rules. */
static crn_wire_fault check_rules(const crn_view_header *header, const crn_wire_rules *rules)
{
    if (rules->channels && header->channels != rules->channels)
        return CRN_WIRE_CHANNELS;
    if (rules->class_set && header->class_set && header->class_set != rules->class_set)
        return CRN_WIRE_CLASS_SET;
    uint64_t total_bytes;
    if (__builtin_add_overflow(header->payload_bytes, (uint64_t)crn_wire_intensity_bytes(header),
                               &total_bytes) ||
        total_bytes > rules->max_bytes)
        return CRN_WIRE_TOO_LARGE;
    if ((header->views && header->view >= header->views) ||
        (rules->views && (header->view >= rules->views || header->views > rules->views)))
        return CRN_WIRE_VIEW_INDEX;
    return CRN_WIRE_OK;
}

crn_wire_fault crn_wire_parse(const void *bytes, size_t size, const crn_wire_rules *rules,
                              crn_view_header *ret_header)
{
    crn_wire_fault fault = check_envelope(bytes, size, rules);
    if (fault)
        return fault;
    crn_view_header header;
    crn_wire_peek(bytes, &header);
    fault = check_shape(&header);
    if (!fault)
        fault = check_rules(&header, rules);
    if (!fault)
        *ret_header = header;
    return fault;
}

/* True if the part is a header that says that nothing follows it. */
static bool may_be_alone(const crn_wire_part *part, const crn_wire_rules *rules)
{
    return rules->slots && crn_wire_is_header(part->bytes, part->size) &&
           crn_get_le16((const unsigned char *)part->bytes + AT_FLAGS) & CRN_SLOTS_FLAG_NO_SLOT;
}

/* Checks what follows the header of a view that lies in a slot or got none. */
static crn_wire_fault check_reference(const crn_wire_part *parts, size_t count,
                                      const crn_view_header *header)
{
    crn_slots_reference reference;
    bool valid =
        crn_wire_got_no_slot(header)
            ? count == 1
            : count == 2 && crn_slots_parse_reference(parts[1].bytes, parts[1].size, &reference);
    return valid ? CRN_WIRE_OK : CRN_WIRE_REFERENCE;
}

/* Checks the parts that follow the header of any other view. */
static crn_wire_fault check_parts(const crn_wire_part *parts, size_t count,
                                  const crn_view_header *header)
{
    bool intensity = header->flags & CRN_WIRE_FLAG_INTENSITY;
    if (count != (intensity ? 3 : 2))
        return CRN_WIRE_PARTS;
    if (parts[1].size != header->payload_bytes)
        return CRN_WIRE_TENSOR_SIZE;
    if (intensity && parts[2].size != crn_wire_intensity_bytes(header))
        return CRN_WIRE_INTENSITY_SIZE;
    return CRN_WIRE_OK;
}

crn_wire_fault crn_wire_check(const crn_wire_part *parts, size_t count, const crn_wire_rules *rules,
                              crn_view_header *ret_header)
{
    size_t least = count == 1 && may_be_alone(parts, rules) ? 1 : CRN_WIRE_PARTS_MAX - 1;
    if (count < least || count > CRN_WIRE_PARTS_MAX)
        return CRN_WIRE_PARTS;
    crn_view_header header;
    crn_wire_fault fault = crn_wire_parse(parts[0].bytes, parts[0].size, rules, &header);
    if (fault)
        return fault;
    bool of_slots = crn_wire_is_in_slot(&header) || crn_wire_got_no_slot(&header);
    fault = of_slots ? check_reference(parts, count, &header) : check_parts(parts, count, &header);
    if (!fault)
        *ret_header = header;
    return fault;
}

void crn_wire_pack(const crn_view_header *header, unsigned char bytes[CRN_WIRE_HEADER_BYTES])
{
    memset(bytes, 0, CRN_WIRE_HEADER_BYTES);
    memcpy(bytes + AT_MAGIC, magic, sizeof magic);
    crn_put_le16(bytes + AT_HEADER_BYTES, CRN_WIRE_HEADER_BYTES);
    crn_put_le16(bytes + AT_FLAGS, header->flags);
    crn_put_le64(bytes + AT_SEQUENCE, header->sequence);
    crn_put_le64(bytes + AT_EPOCH, header->epoch);
    crn_put_le64(bytes + AT_FRUIT, header->fruit);
    crn_put_le64(bytes + AT_CAPTURED, header->captured_ns);
    crn_put_le64(bytes + AT_DEADLINE, header->deadline_ns);
    crn_put_le64(bytes + AT_ENCODER, header->encoder);
    crn_put_le32(bytes + AT_LANE, header->lane);
    crn_put_le16(bytes + AT_VIEW, header->view);
    crn_put_le16(bytes + AT_VIEWS, header->views);
    crn_put_le32(bytes + AT_HEIGHT, header->height);
    crn_put_le32(bytes + AT_WIDTH, header->width);
    crn_put_le32(bytes + AT_CHANNELS, header->channels);
    bytes[AT_TYPE] = (unsigned char)header->type;
    bytes[AT_LAYOUT] = (unsigned char)header->layout;
    crn_put_le64(bytes + AT_CLASS_SET, header->class_set);
    crn_put_le64(bytes + AT_PAYLOAD_BYTES, header->payload_bytes);
    if (header->flags & CRN_WIRE_FLAG_POSE)
        put_pose(&header->pose, bytes + AT_POSE);
}
