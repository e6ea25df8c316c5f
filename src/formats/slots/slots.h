/*
 * Slots: views from the same machine without copies. The bytes of the protocol
 * (src/ingest/slots/README.md). Includes nothing of the project, so that a producer can copy it.
 *
 * A producer connects to an AF_UNIX SOCK_SEQPACKET socket (ingest.slots.path) and sends a hello;
 * the line's answer carries two descriptors, a ring of slots and the page with a word for the state
 * of each. The producer writes a view into a free slot, the tensor at its start and the intensity
 * part at the next multiple of 64 behind it, and sends the view's header with a reference to the
 * slot. All numbers are little-endian.
 */
#ifndef CRN_SRC_FORMATS_SLOTS_SLOTS_H
#define CRN_SRC_FORMATS_SLOTS_SLOTS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CRN_SLOTS_VERSION         1
#define CRN_SLOTS_HELLO_BYTES     40
#define CRN_SLOTS_ANSWER_BYTES    128
#define CRN_SLOTS_REFERENCE_BYTES 24
#define CRN_SLOTS_TEXT_BYTES      104  /* of an answer's text, with its end */
#define CRN_SLOTS_DESCRIPTORS     2    /* with an answer: the ring's memory, the page of states */
#define CRN_SLOTS_WAKE            1    /* the byte that says that slots became free */
#define CRN_SLOTS_PAGE_BYTES      4096 /* sizes of memory are multiples of it */
#define CRN_SLOTS_ALIGNMENT       64   /* of the intensity part */
#define CRN_SLOTS_SIGNAL_BYTES    64   /* of a slot's event, by which a GPU's memory is ready */
#define CRN_SLOTS_GPU_UNIT        (UINT64_C(2) << 20) /* a ring on a GPU is a multiple of it */

/* Flags of a view's header: its payload lies in a slot, a reference follows; no slot was free, the
 * header is alone. */
#define CRN_SLOTS_FLAG_IN_SLOT 2u
#define CRN_SLOTS_FLAG_NO_SLOT 4u

/* Where the memory of a ring is. */
typedef enum crn_slots_kind {
    CRN_SLOTS_MEMFD = 1,   /* host memory */
    CRN_SLOTS_VMM = 2,     /* GPU memory of cuMemCreate, as a descriptor */
    CRN_SLOTS_CUDA_IPC = 3 /* GPU memory of cudaMalloc */
} crn_slots_kind;

/* char[4] "CRNS", u16 version, u16 kind, u32 slots, u32 0, u64 slot_bytes, 16 bytes GPU UUID. */
typedef struct crn_slots_hello {
    uint16_t version;
    uint16_t kind;            /* crn_slots_kind, unchecked */
    uint32_t slots;           /* wanted; 0: as many as the line gives */
    uint64_t slot_bytes;      /* of the largest view: crn_slots_view_bytes */
    unsigned char device[16]; /* UUID of the GPU; 0 for memfd */
} crn_slots_hello;

/* u32 status, u32 slots, u64 ring, u64 slot_bytes, char[104] text. */
typedef struct crn_slots_answer {
    uint32_t status;     /* 0, or an errno: then only the text is set */
    uint32_t slots;      /* given */
    uint64_t ring;       /* its random name, in references */
    uint64_t slot_bytes; /* at least what was asked for; slot i begins at i x slot_bytes */
    char text[CRN_SLOTS_TEXT_BYTES]; /* why not, one line */
} crn_slots_answer;

/* u64 ring, u32 slot, u32 0, u64 generation. */
typedef struct crn_slots_reference {
    uint64_t ring;
    uint64_t generation;
    uint32_t slot;
} crn_slots_reference;

/*
 * The word of a slot in the page of states: crn_slots_state in bits 0 and 1, the generation above.
 * A producer changes free to filling, then to sent before it sends the header, and nothing after
 * that; the line changes sent to free, one generation later. The line's own book decides: the page
 * only tells the producer.
 */
typedef enum crn_slots_state {
    CRN_SLOTS_FREE = 0,
    CRN_SLOTS_FILLING = 1,
    CRN_SLOTS_SENT = 2
} crn_slots_state;

#define CRN_SLOTS_STATE_BITS 2

static inline uint64_t crn_slots_word(uint64_t generation, crn_slots_state state)
{
    return generation << CRN_SLOTS_STATE_BITS | (uint64_t)state;
}

/* A multiple of `unit`, a power of two, at or above bytes; 0 if there is none. */
static inline uint64_t crn_slots_round_up(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - (unit - 1) ? 0 : (bytes + unit - 1) & ~(unit - 1);
}

/* Where the intensity part of a view begins. */
static inline uint64_t crn_slots_intensity_at(uint64_t payload_bytes)
{
    return crn_slots_round_up(payload_bytes, CRN_SLOTS_ALIGNMENT);
}

/* The bytes of a slot that a view takes; intensity_bytes 0: it has none. UINT64_MAX: too many. */
static inline uint64_t crn_slots_view_bytes(uint64_t payload_bytes, uint64_t intensity_bytes)
{
    if (intensity_bytes == 0)
        return payload_bytes;
    uint64_t at = crn_slots_intensity_at(payload_bytes);
    return at < payload_bytes || at > UINT64_MAX - intensity_bytes ? UINT64_MAX
                                                                   : at + intensity_bytes;
}

/* The size of the page of states. */
static inline uint64_t crn_slots_states_bytes(uint32_t slots)
{
    return crn_slots_round_up((uint64_t)slots * sizeof(uint64_t), CRN_SLOTS_PAGE_BYTES);
}

/* Where the handles of the slots' events begin behind the states, for a ring on a GPU: 64 bytes for
 * each slot (cudaIpcEventHandle_t). */
static inline uint64_t crn_slots_signals_at(uint32_t slots)
{
    return crn_slots_states_bytes(slots);
}

/* The size of the second descriptor's memory: the states, and on a GPU the events' handles. */
static inline uint64_t crn_slots_page_bytes(uint16_t kind, uint32_t slots)
{
    uint64_t signals = kind == CRN_SLOTS_MEMFD ? 0 : (uint64_t)slots * CRN_SLOTS_SIGNAL_BYTES;
    return crn_slots_signals_at(slots) + crn_slots_round_up(signals, CRN_SLOTS_PAGE_BYTES);
}

/* Writes the low `bytes` bytes of a number. */
static inline void crn_slots_put(unsigned char *at, uint64_t value, size_t bytes)
{
    value = htole64(value);
    memcpy(at, &value, bytes);
}

static inline uint64_t crn_slots_get(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return le64toh(value);
}

static inline void crn_slots_pack_hello(const crn_slots_hello *hello,
                                        unsigned char bytes[CRN_SLOTS_HELLO_BYTES])
{
    memcpy(bytes, "CRNS", 4);
    crn_slots_put(bytes + 4, hello->version, 2);
    crn_slots_put(bytes + 6, hello->kind, 2);
    crn_slots_put(bytes + 8, hello->slots, 4);
    crn_slots_put(bytes + 12, 0, 4);
    crn_slots_put(bytes + 16, hello->slot_bytes, 8);
    memcpy(bytes + 24, hello->device, sizeof hello->device);
}

/* False: the bytes are not a hello, *ret_hello is unchanged. Of version, kind and sizes nothing is
 * checked; with another version the rest may mean something else. */
static inline bool crn_slots_parse_hello(const void *bytes, size_t size, crn_slots_hello *ret_hello)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (size != CRN_SLOTS_HELLO_BYTES || memcmp(at, "CRNS", 4) != 0 ||
        crn_slots_get(at + 12, 4) != 0)
        return false;
    ret_hello->version = (uint16_t)crn_slots_get(at + 4, 2);
    ret_hello->kind = (uint16_t)crn_slots_get(at + 6, 2);
    ret_hello->slots = (uint32_t)crn_slots_get(at + 8, 4);
    ret_hello->slot_bytes = crn_slots_get(at + 16, 8);
    memcpy(ret_hello->device, at + 24, sizeof ret_hello->device);
    return true;
}

static inline void crn_slots_pack_answer(const crn_slots_answer *answer,
                                         unsigned char bytes[CRN_SLOTS_ANSWER_BYTES])
{
    crn_slots_put(bytes, answer->status, 4);
    crn_slots_put(bytes + 4, answer->slots, 4);
    crn_slots_put(bytes + 8, answer->ring, 8);
    crn_slots_put(bytes + 16, answer->slot_bytes, 8);
    memcpy(bytes + 24, answer->text, sizeof answer->text);
}

/* False: the bytes are not an answer, or one that nobody may use: no slots, a size that is not a
 * multiple of CRN_SLOTS_PAGE_BYTES, a ring that exceeds the address space. */
static inline bool crn_slots_parse_answer(const void *bytes, size_t size,
                                          crn_slots_answer *ret_answer)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (size != CRN_SLOTS_ANSWER_BYTES)
        return false;
    crn_slots_answer answer;
    answer.status = (uint32_t)crn_slots_get(at, 4);
    answer.slots = (uint32_t)crn_slots_get(at + 4, 4);
    answer.ring = crn_slots_get(at + 8, 8);
    answer.slot_bytes = crn_slots_get(at + 16, 8);
    memcpy(answer.text, at + 24, sizeof answer.text);
    answer.text[sizeof answer.text - 1] = '\0';
    if (answer.status == 0 && (answer.slots == 0 || answer.slot_bytes == 0 ||
                               answer.slot_bytes % CRN_SLOTS_PAGE_BYTES != 0 ||
                               answer.slot_bytes > (uint64_t)PTRDIFF_MAX / answer.slots))
        return false;
    *ret_answer = answer;
    return true;
}

static inline void crn_slots_pack_reference(const crn_slots_reference *reference,
                                            unsigned char bytes[CRN_SLOTS_REFERENCE_BYTES])
{
    crn_slots_put(bytes, reference->ring, 8);
    crn_slots_put(bytes + 8, reference->slot, 4);
    crn_slots_put(bytes + 12, 0, 4);
    crn_slots_put(bytes + 16, reference->generation, 8);
}

/* False: the bytes are not a reference. Whether there is such a slot is not checked. */
static inline bool crn_slots_parse_reference(const void *bytes, size_t size,
                                             crn_slots_reference *ret_reference)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (size != CRN_SLOTS_REFERENCE_BYTES || crn_slots_get(at + 12, 4) != 0)
        return false;
    ret_reference->ring = crn_slots_get(at, 8);
    ret_reference->slot = (uint32_t)crn_slots_get(at + 8, 4);
    ret_reference->generation = crn_slots_get(at + 16, 8);
    return true;
}

#endif
