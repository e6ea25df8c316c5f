/* The view message's bytes: parse, check and pack. No sockets, no memory of its own; fuzzed. */
#ifndef CRN_WIRE_H
#define CRN_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "stages/image.h"

#define CRN_WIRE_HEADER_BYTES   128
#define CRN_WIRE_FLAG_INTENSITY 1u

/* The header's fields, checked. */
typedef struct crn_view_header {
    uint64_t sequence, epoch, fruit;
    uint64_t captured_ns; /* CLOCK_REALTIME; 0 unknown */
    uint64_t deadline_ns; /* CLOCK_REALTIME; 0: the budget decides */
    uint64_t encoder;
    uint64_t class_set; /* 0: unchecked */
    uint64_t payload_bytes;
    uint32_t lane;
    uint16_t flags;
    uint16_t view, views; /* views 0: unknown */
    uint32_t height, width, channels;
    crn_type type;
    crn_layout layout;
} crn_view_header;

/* Why a message is refused. CRN_WIRE_OK is 0; the others are counted under crn_wire_fault_names. */
typedef enum crn_wire_fault {
    CRN_WIRE_OK,
    CRN_WIRE_PARTS,          /* parts missing or too many */
    CRN_WIRE_HEADER_SIZE,    /* the first part is not 128 bytes, or header_bytes says otherwise */
    CRN_WIRE_MAGIC,          /* not CRN1 */
    CRN_WIRE_FLAGS,          /* a flag nobody knows */
    CRN_WIRE_RESERVED,       /* reserved bytes that are not zero */
    CRN_WIRE_TYPE,           /* dtype */
    CRN_WIRE_LAYOUT,         /* layout */
    CRN_WIRE_SHAPE,          /* a side of 0, or H x W x C x size overflows */
    CRN_WIRE_TOO_LARGE,      /* beyond limits.view_mib */
    CRN_WIRE_PAYLOAD_SIZE,   /* payload_bytes is not H x W x C x size */
    CRN_WIRE_CHANNELS,       /* not as many as there are classes */
    CRN_WIRE_CLASS_SET,      /* the sender's classes are others */
    CRN_WIRE_VIEW_INDEX,     /* view >= views, or views or view beyond limits.views */
    CRN_WIRE_TENSOR_SIZE,    /* the tensor part is not payload_bytes long */
    CRN_WIRE_INTENSITY_SIZE, /* the intensity part is not H x W long */
    CRN_WIRE_FAULTS,
} crn_wire_fault;

extern const char
    *const crn_wire_fault_names[CRN_WIRE_FAULTS]; /* "ok", "parts", "header_size", … */

/* What a line accepts. */
typedef struct crn_wire_rules {
    uint64_t max_bytes; /* tensor and intensity together */
    uint32_t channels;
    uint32_t views; /* limits.views */
    uint64_t class_set;
} crn_wire_rules;

/* Checks everything in the header part before anything is used. *ret_header is untouched on a
 * fault. */
crn_wire_fault crn_wire_parse(const void *bytes, size_t size, const crn_wire_rules *rules,
                              crn_view_header *ret_header);

/* Writes the 128 bytes of a header (reserved fields zero). */
void crn_wire_pack(const crn_view_header *header, unsigned char bytes[CRN_WIRE_HEADER_BYTES]);

/* Height x width: the bytes of the intensity part, 0 when none follows. */
static inline size_t crn_wire_intensity_bytes(const crn_view_header *header)
{
    return header->flags & CRN_WIRE_FLAG_INTENSITY ? (size_t)header->height * header->width : 0;
}

#endif
