/**
 * @file
 * The view message: parse, check and pack. No sockets, no allocation; fuzzed.
 *
 * A message is [header 128 bytes][tensor][optional intensity, u8 H x W], little-endian on any host:
 *
 * @code{.unparsed}
 *   0 magic "CRN1"   4 u16 header_bytes   6 u16 flags       8 u64 sequence     16 u64 epoch
 *  24 u64 fruit     32 u64 captured_ns   40 u64 deadline_ns 48 u64 encoder     56 u32 lane
 *  60 u16 view      62 u16 views         64 u32 height      68 u32 width       72 u32 channels
 *  76 u8 dtype      77 u8 layout         78 u16 reserved    80 u64 class_set   88 u64 payload_bytes
 *  96 f32 x         100 f32 y        104 f32 rx       108 f32 ry       112 f32 roll_rad
 * 116 12 bytes reserved
 * @endcode
 *
 * - flags: 1 an intensity part follows; 2 tensor and intensity lie in a slot, and one part follows
 *   that refers to it; 4 the sender had no slot free, and nothing follows (slots.h);
 *   8 the sender knows the fruit's pose; else bytes 96 to 115 are 0
 * - dtype: 1 u8 (p = v/255), 2 f16, 3 f32
 * - layout: 1 CHW, 2 HWC
 * - class_set: FNV-1a 64 of the class names in channel order with `\n` between; 0: unchecked
 * - lane: any number, at most limits.lanes in use; those that ingest.lanes lists, if it does
 * - sequence: +1 with every view of a lane, sent or not
 * - epoch: a new one at every start of the sender. Several senders may share a lane, each with its
 *   own epoch and sequence, as a process per camera does: if they number the fruits alike and each
 *   sends views of its own, their fruits are joined within a second and kept under one epoch, also
 *   after one of them restarts. The clocks of captured_ns must agree. Others are told in the log
 *   and in /healthz
 * - fruit: the same in all views of a fruit, and not used again within an epoch. A counter of few
 *   bits is tolerated if a number returns later than latency.straggler_ms after its fruit's
 * verdict: it is then another fruit's. One that returns earlier is taken for that of views that
 * come late: its fruit gets no verdict, a number is missing in the sequence of the lane's verdicts,
 * and a warning says so
 * - deadline_ns: when the verdict must be out; a value more than 10 s from now is attributed to a
 *   wrong clock, ignored and counted (deadlines_ignored)
 *
 * - x, y, rx, ry, roll_rad: the ellipse that the fruit is in the picture, centre and semi-axes in
 *   pixels, and how far it has rolled since any instant, the same for its views; positive: spots
 *   move along +x (roll axis x: +y). For lines that know it: it goes before what is found in the
 *   photographs, and is not looked at without section geometry
 *
 * The tensor holds probabilities, 0 to 1; for other values see values.h. Where the CNN ends with a
 * softmax, the values of a pixel sum to 1 over all channels, the background's included: scale.h.
 */
#ifndef CRN_SRC_FORMATS_VIEW_WIRE_H
#define CRN_SRC_FORMATS_VIEW_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/slots/slots.h"
#include "stages/base/api.h"
#include "stages/image.h"

CRN_C_BEGIN

#define CRN_FRUIT_VIEWS_MAX     64 /* upper bound of limits.views */
#define CRN_WIRE_HEADER_BYTES   128
#define CRN_WIRE_FLAG_INTENSITY 1u
#define CRN_WIRE_FLAG_POSE      8u
#define CRN_WIRE_PARTS_MAX      3

#define CRN_WIRE_POSE_MAX 1e6f /**< of each number of a pose */

/** Where a view shows the fruit: its outline, in pixels, and its roll. */
typedef struct crn_wire_pose {
    float x, y, rx, ry, roll_rad;
} crn_wire_pose;

/** The header's fields, checked. */
typedef struct crn_view_header {
    uint64_t sequence, epoch, fruit;
    uint64_t captured_ns; /**< CLOCK_REALTIME; 0 unknown */
    uint64_t deadline_ns; /**< CLOCK_REALTIME; 0: the budget decides */
    uint64_t encoder;
    uint64_t class_set; /**< 0: unchecked */
    uint64_t payload_bytes;
    uint32_t lane;
    uint16_t flags;
    uint16_t view, views; /**< views 0: unknown */
    uint32_t height, width, channels;
    crn_type type;
    crn_layout layout;
    crn_wire_pose pose; /**< with CRN_WIRE_FLAG_POSE; else zeros */
} crn_view_header;

/**
 * Why a message is refused, a row each: its constant, its label in counters, and a hint for users,
 * what is wrong and where to look, one clause. If several apply, the most informative one is
 * reported: first whether this is a view message at all, then whether its header is consistent,
 * then whether it matches the line, and last whether the parts are as the header says.
 */
#define CRN_WIRE_FAULT_ROWS(ROW)                                                                   \
    ROW(PARTS, "parts", "a view is a header, a tensor, and an intensity part if flag 1 says so")   \
    ROW(HEADER_SIZE, "header_size",                                                                \
        "the header part must be 128 bytes, and header_bytes must say so")                         \
    ROW(MAGIC, "magic", "it does not begin with CRN1: something else sends to this endpoint")      \
    ROW(FLAGS, "flags", "a flag that this version does not know: is the sender newer?")            \
    ROW(RESERVED, "reserved", "reserved bytes must be 0: is the sender newer?")                    \
    ROW(TYPE, "type", "dtype must be 1 (u8), 2 (f16) or 3 (f32)")                                  \
    ROW(LAYOUT, "layout", "layout must be 1 (CHW) or 2 (HWC)")                                     \
    ROW(SHAPE, "shape", "height, width and channels must be 1 to 2147483647, and not overflow")    \
    ROW(TOO_LARGE, "too_large", "tensor and intensity are larger than limits.view_mib allows")     \
    ROW(PAYLOAD_SIZE, "payload_size",                                                              \
        "payload_bytes must be height x width x channels x element size")                          \
    ROW(POSE, "pose",                                                                              \
        "the fruit's pose (bytes 96 to 115) must be finite numbers to 1e6 and its semi-axes "      \
        "above 0: "                                                                                \
        "a sender that does not know it clears flag 8")                                            \
    ROW(CHANNELS, "channels", "there must be as many channels as the file has classes")            \
    ROW(CLASS_SET, "class_set",                                                                    \
        "the sender's class names or their order are not those of the file")                       \
    ROW(VIEW_INDEX, "view_index", "view must be less than views, and both within limits.views")    \
    ROW(TENSOR_SIZE, "tensor_size", "the tensor part must be payload_bytes long")                  \
    ROW(INTENSITY_SIZE, "intensity_size", "the intensity part must be height x width bytes long")  \
    ROW(REFERENCE, "reference",                                                                    \
        "a view in a slot is a header and a reference of 24 bytes, one that got no slot a header " \
        "alone")

/** Further ones, of a view in a slot whose message is valid: its reference is not. */
#define CRN_WIRE_SLOT_FAULT_ROWS(ROW)                                                              \
    ROW(RING, "ring",                                                                              \
        "the view's ring is not, or no longer, one of this line: the producer must connect again") \
    ROW(SLOT, "slot", "the ring does not have the view's slot: the producer counts wrongly")       \
    ROW(GENERATION, "generation",                                                                  \
        "the view's slot was given to the producer anew since: its header came twice, or too "     \
        "late")                                                                                    \
    ROW(SLOT_IN_USE, "slot_in_use",                                                                \
        "the view's slot still holds one that was sent before: the producer wrote over it")        \
    ROW(SLOT_SIZE, "slot_size", "the view is larger than the slots that its producer asked for")

#define CRN_WIRE_CONSTANT(constant, name, hint) CRN_WIRE_##constant,

/** CRN_WIRE_OK is 0. */
typedef enum crn_wire_fault {
    CRN_WIRE_OK,
    CRN_WIRE_FAULT_ROWS(CRN_WIRE_CONSTANT)
        CRN_WIRE_MESSAGE_FAULTS, /**< that crn_wire_check() finds */
    CRN_WIRE_LAST_MESSAGE_FAULT = CRN_WIRE_MESSAGE_FAULTS - 1,
    CRN_WIRE_SLOT_FAULT_ROWS(CRN_WIRE_CONSTANT) CRN_WIRE_FAULTS,
} crn_wire_fault;

/** "ok", "parts", "header_size", …: labels of counters. */
extern const char *const crn_wire_fault_names[CRN_WIRE_FAULTS];

/** Hints for users: what is wrong and where to look, one clause each. */
extern const char *const crn_wire_fault_hints[CRN_WIRE_FAULTS];

/** What a line accepts. A 0 in channels, views or class_set disables that check. */
typedef struct crn_wire_rules {
    uint64_t max_bytes; /**< tensor and intensity together */
    uint32_t channels;
    uint32_t views; /**< limits.views */
    uint64_t class_set;
    bool slots; /**< flags 2 and 4 are allowed */
} crn_wire_rules;

/** One part of a message; the caller owns the memory. */
typedef struct crn_wire_part {
    const void *bytes; /**< may be NULL when size is 0 */
    size_t size;
} crn_wire_part;

/**
 * Checks the whole header part before any field is used.
 *
 * @param ret_header unchanged on a fault
 */
crn_wire_fault crn_wire_parse(const void *bytes, size_t size, const crn_wire_rules *rules,
                              crn_view_header *ret_header);

/**
 * Checks a whole message: its header part, and that the other parts exist and have the sizes that
 * the header gives; their contents are not read. A reference to a slot need only be one.
 *
 * @param count may exceed CRN_WIRE_PARTS_MAX, but no more of `parts` than that are accessed
 * @param ret_header unchanged on a fault
 */
crn_wire_fault crn_wire_check(const crn_wire_part *parts, size_t count, const crn_wire_rules *rules,
                              crn_view_header *ret_header);

/** True if these bytes are a view's header, whatever else is wrong with the message: 128 bytes, the
 * magic, header_bytes. crn_wire_peek() then returns its fields, unchecked. */
bool crn_wire_is_header(const void *bytes, size_t size);

/**
 * Reads the unchecked fields, only to report which message was refused; use them for nothing but
 * printing.
 *
 * @param ret_header its type and layout are the raw bytes
 */
void crn_wire_peek(const unsigned char bytes[CRN_WIRE_HEADER_BYTES], crn_view_header *ret_header);

/** True if this header's payload lies in a slot. */
static inline bool crn_wire_is_in_slot(const crn_view_header *header)
{
    return header->flags & CRN_SLOTS_FLAG_IN_SLOT;
}

/** True if this header stands for a view that got no slot. */
static inline bool crn_wire_got_no_slot(const crn_view_header *header)
{
    return header->flags & CRN_SLOTS_FLAG_NO_SLOT;
}

/** Writes a header's 128 bytes (reserved fields zero). */
void crn_wire_pack(const crn_view_header *header, unsigned char bytes[CRN_WIRE_HEADER_BYTES]);

/** When it was captured; 0 if unknown, or if after the year 2262 (not valid). */
static inline uint64_t crn_wire_captured_ns(const crn_view_header *header)
{
    return header->captured_ns <= INT64_MAX ? header->captured_ns : 0;
}

/** Height x width: the size of the intensity part, 0 if there is none. */
static inline size_t crn_wire_intensity_bytes(const crn_view_header *header)
{
    return header->flags & CRN_WIRE_FLAG_INTENSITY ? (size_t)header->height * header->width : 0;
}

CRN_C_END

#endif
