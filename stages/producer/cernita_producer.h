/**
 * @file
 * Slots: views of a CNN to a cernitad on the same machine, without a copy.
 *
 * One header and one source, C99, for Linux; they need libc and nothing else. Copy both into your
 * program, or link libcernita, which has them.
 *
 * cernitad owns a ring of slots in memory that both processes map; a slot holds one view. A
 * producer takes a free slot, writes the maps into it, and sends a header of 128 bytes, by which
 * cernitad reads the maps where they lie. `ingest.slots.path` in the file of the line switches it
 * on.
 *
 * @code
 *   crn_producer *producer = NULL;
 *   crn_producer_settings settings = {.path = "/run/cernita/slots", .view_bytes = 2329992};
 *   int result = crn_producer_create(&settings, &producer);
 *   if (result == 0)
 *       result = crn_producer_connect(producer, crn_producer_answer_ms(&settings));
 *   ...
 *   crn_producer_slot slot;
 *   result = crn_producer_take(producer, &view, 0, &slot);
 *   if (result == 0) {
 *       write_maps(slot.tensor);
 *       result = crn_producer_send(producer, &view, &slot);
 *       if (result == -EAGAIN)
 *           crn_producer_drop(producer, &slot);
 *   } else if (result == -EAGAIN) {
 *       result = crn_producer_send_without(producer, &view);
 *   } else if (result == -ENOTCONN) {
 *       result = crn_producer_connect(producer, crn_producer_answer_ms(&settings));
 *   }
 * @endcode
 *
 * From the take on this is the body of a loop over the views. It connects again after the daemon
 * has ended: a send that returns -ENOTCONN has given its slot back, and the next take returns it
 * too.
 *
 * Errors are values: 0 or a negative errno, with a line of text for crn_producer_error() that names
 * the socket, what is wrong and the cure; `ret_` outputs are then untouched. Nothing aborts, prints
 * or raises a signal. After crn_producer_connect() nothing allocates, and only a take with a
 * timeout waits. An object serves one thread at a time; the memory of a slot that was taken may be
 * written by any thread, or by a GPU. After a fork() only the parent uses it; the child may free
 * its copy, which ends nothing.
 */
#ifndef CRN_STAGES_PRODUCER_CERNITA_PRODUCER_H
#define CRN_STAGES_PRODUCER_CERNITA_PRODUCER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifndef CRN_API
#define CRN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CRN_PRODUCER_HEADER_BYTES    128 /**< of a view */
#define CRN_PRODUCER_REFERENCE_BYTES 24  /**< names the slot that holds it */
/** Both. */
#define CRN_PRODUCER_MESSAGE_BYTES (CRN_PRODUCER_HEADER_BYTES + CRN_PRODUCER_REFERENCE_BYTES)

/** Slots that are asked for unless settings say otherwise: enough for a line that keeps up. */
#define CRN_PRODUCER_SLOTS 16

/** Type of a tensor's elements, which are probabilities. */
typedef enum crn_producer_type {
    CRN_PRODUCER_U8 = 1,  /**< value / 255 */
    CRN_PRODUCER_F16 = 2, /**< IEEE binary16, 0 to 1 */
    CRN_PRODUCER_F32 = 3, /**< 0 to 1 */
} crn_producer_type;

/** Order of a tensor's elements; they are dense. */
typedef enum crn_producer_layout {
    CRN_PRODUCER_CHW = 1, /**< [channels][height][width] */
    CRN_PRODUCER_HWC = 2, /**< [height][width][channels] */
} crn_producer_layout;

/** Where a view shows the fruit, for lines that know it. */
typedef struct crn_producer_pose {
    float x;        /**< centre of its outline, an ellipse, in pixels: column */
    float y;        /**< row */
    float rx;       /**< semi-axis along x, in pixels; above 0 */
    float ry;       /**< along y */
    float roll_rad; /**< since any instant, the same for its views; spots move along +x (+y) */
} crn_producer_pose;

/** One photograph of one fruit, as its header describes it. */
typedef struct crn_producer_view {
    uint64_t sequence;    /**< +1 with every view of the lane, sent or not, so that losses show */
    uint64_t epoch;       /**< another one at each start of the producer, such as the time in ns */
    uint64_t fruit;       /**< the same in all views of a fruit, not used again within an epoch */
    uint64_t captured_ns; /**< exposure, CLOCK_REALTIME; 0: unknown */
    uint64_t deadline_ns; /**< of the verdict, CLOCK_REALTIME; 0: the budget of the line decides */
    uint64_t encoder;     /**< position of the belt, handed through to the verdict */
    uint64_t class_set;   /**< crn_producer_class_set(); 0: not checked */
    uint32_t lane;        /**< of the conveyor */
    uint16_t view;        /**< its index, less than views */
    uint16_t views;       /**< how many the fruit has; 0: unknown */
    uint32_t height;      /**< pixels, at least 1, as width */
    uint32_t width;       /**< pixels */
    uint32_t channels;    /**< as many as the file of the line has classes, in its order */
    crn_producer_type type;     /**< of the tensor's elements */
    crn_producer_layout layout; /**< their order */
    int has_intensity;          /**< not 0: with the grey photograph, u8[height][width] */
    int has_pose;               /**< not 0: with the fruit's pose */
    crn_producer_pose pose;     /**< finite numbers to 1e6; not looked at without has_pose */
} crn_producer_view;

/** A slot that was taken: the caller's to write until it is sent or dropped. */
typedef struct crn_producer_slot {
    void *tensor;        /**< height x width x channels elements, 64-byte aligned */
    uint8_t *intensity;  /**< height x width bytes, 64-byte aligned; NULL if the view has none */
    uint64_t ring;       /**< these three name it in the reference */
    uint64_t generation; /**< how often it came back */
    uint32_t index;      /**< in the ring */
} crn_producer_slot;

/** Memory of the slots, cernitad's; mapped until crn_producer_connect() or crn_producer_free(). */
typedef struct crn_producer_ring {
    void *memory;        /**< slots x slot_bytes, at a page; for cudaHostRegister(), say */
    uint32_t slots;      /**< how many */
    uint64_t slot_bytes; /**< of each, a multiple of 4096 */
} crn_producer_ring;

/** Slots that are not in host memory, and how to map them: cernita_producer_gpu.h has those on a
 * GPU. Functions return 0 or a negative errno. */
typedef struct crn_producer_kind {
    uint16_t kind;            /**< of the hello: 2 for memory of cuMemCreate() */
    unsigned char device[16]; /**< UUID of the GPU */
    /** Maps the slots of the first descriptor, and opens what the second one has behind the states;
     * they stay the caller's. */
    int (*map)(void *owner, const int descriptors[2], const crn_producer_ring *ring,
               void **ret_memory);
    void (*unmap)(void *owner, void *memory); /**< and closes the events */
    void *owner;                              /**< what both get */
} crn_producer_kind;

/** Which line, and what is asked of it. */
typedef struct crn_producer_settings {
    const char *path;    /**< `ingest.slots.path` of the line; copied */
    uint64_t view_bytes; /**< of the largest view: crn_producer_view_bytes() */
    uint32_t slots;      /**< wanted, at most ingest.slots.slots are given; 0: 16 */
} crn_producer_settings;

/** A timeout for the daemon's answer, in ms: it makes the memory first, on an idle machine in 1 ms
 * for each MiB, on a busy one in ten times that. */
static inline int crn_producer_answer_ms(const crn_producer_settings *settings)
{
    uint64_t slots = settings->slots ? settings->slots : CRN_PRODUCER_SLOTS, most_ms = 600000;
    uint64_t mib = settings->view_bytes / 1048576 + 1;
    return (int)(mib < most_ms / 10 / slots ? 1000 + 10 * mib * slots : most_ms);
}

/** A producer's connection to a line, with the memory that it shares. */
typedef struct crn_producer crn_producer;

/** Makes an object that is not connected yet.
 *
 * @param settings not kept
 * @param ret_producer free it with crn_producer_free()
 * @return 0, or without a text -EINVAL: no path, or one of more than 107 bytes; -ENOMEM
 */
CRN_API int crn_producer_create(const crn_producer_settings *settings, crn_producer **ret_producer);

/** From now on asks for slots that are not in host memory: crn_producer_gpu_kind().
 *
 * @param producer never connected so far
 * @param kind copied
 * @return 0; without a text -EBUSY: it was connected */
CRN_API int crn_producer_use_kind(crn_producer *producer, const crn_producer_kind *kind);

/** Ends the connection, also where a forked child lives on, unmaps the memory and sets *producer to
 * NULL; both may be NULL. Views that were sent are judged, slots that were not are free again. */
CRN_API void crn_producer_free(crn_producer **producer);

/**
 * Connects, also again after the daemon has ended: with another ring, whose memory replaces the
 * former one's. Maps and touches the memory, which may take 0.1 s; so call it before the belt runs.
 *
 * @param producer whose slots have all been sent, were given back by a send with -ENOTCONN, or
 *                 dropped
 * @param timeout_ms for the daemon's answer, say crn_producer_answer_ms(); negative: none
 * @return 0; -EBUSY: a slot is taken, send or drop it first; -ENOENT, -EACCES, -ECONNREFUSED,
 *         -EPROTOTYPE and others: nothing to connect to; -ENOTCONN: the daemon ended before its
 *         answer, connect again; -ETIMEDOUT; -EPROTO: what answers is not a cernitad; what the
 *         daemon refuses with, such as -EOPNOTSUPP: this
 *         kind of memory, -EMSGSIZE: larger views than its limits.view_mib, -EUSERS: more producers
 *         than its ingest.slots.producers. -ENOMEM
 */
CRN_API int crn_producer_connect(crn_producer *producer, int timeout_ms);

/**
 * Takes a free slot for a view of that shape.
 *
 * @param producer connected
 * @param view its shape and whether it has an intensity part; the rest may change until it is sent
 * @param timeout_ms how long to wait for one; 0: not at all; negative: without end
 * @param ret_slot the caller's until crn_producer_send() or crn_producer_drop()
 * @return 0; -EAGAIN: none is free; -EMSGSIZE: the view is larger than a slot; -EINVAL: the view,
 *         the text names the field; -ENOTCONN: never connected, or the daemon has ended
 */
CRN_API int crn_producer_take(crn_producer *producer, const crn_producer_view *view, int timeout_ms,
                              crn_producer_slot *ret_slot);

/**
 * Sends a view whose slot has been written, over the slots' own connection; never waits.
 *
 * @param producer from which the slot was taken
 * @param view of the shape for which it was taken
 * @param slot the line's on success, and all 0; with -ENOTCONN given back, and all 0; else still
 * the caller's, to be sent again or dropped
 * @return 0; -EINVAL, -EMSGSIZE as crn_producer_take(); -ESTALE: the slot is not of this
 * connection, or the daemon took it back; -EAGAIN: the daemon reads nothing; -ENOTCONN: it has
 * ended, connect again
 */
CRN_API int crn_producer_send(crn_producer *producer, const crn_producer_view *view,
                              crn_producer_slot *slot);

/** Sends the header of a view for which no slot was free: its fruit's verdict then says so.
 * @return 0; -EINVAL; -EAGAIN: the daemon reads nothing; -ENOTCONN */
CRN_API int crn_producer_send_without(crn_producer *producer, const crn_producer_view *view);

/**
 * The same two messages as bytes, for a program that sends them through ZeroMQ to `ingest.bind`:
 * the first 128 are one part, the other 24, for a view in a slot, the second. One way per producer.
 *
 * @param producer from which the slot was taken
 * @param view of the shape for which it was taken
 * @param slot the line's from now on; drop it if ZeroMQ does not accept the message. NULL: no slot
 *             was free, and the first 128 bytes are the message
 * @param ret_message written on success alone
 * @return 0; -EINVAL, -EMSGSIZE, -ESTALE as crn_producer_send()
 */
CRN_API int crn_producer_pack(crn_producer *producer, const crn_producer_view *view,
                              const crn_producer_slot *slot,
                              unsigned char ret_message[CRN_PRODUCER_MESSAGE_BYTES]);

/** Gives a slot back that was taken and not sent, and sets *slot to 0; one of all 0, or of an
 * earlier connection, is left as it is. */
CRN_API void crn_producer_drop(crn_producer *producer, crn_producer_slot *slot);

/** Where the slots lie. @return 0; -ENOTCONN: never connected */
CRN_API int crn_producer_memory(crn_producer *producer, crn_producer_ring *ret_ring);

/** What was wrong in the last call that failed, and its cure, in one line.
 * @return the object's, until its next call; "" if nothing was wrong */
CRN_API const char *crn_producer_error(const crn_producer *producer);

/** The number of a list of class names, by which the line refuses maps of other classes.
 *
 * @param names those of the file of the line, in its order
 * @param count how many
 */
CRN_API uint64_t crn_producer_class_set(const char *const *names, size_t count);

/** Bytes of a view's tensor. @return 0 if type or a side is out of range */
static inline uint64_t crn_producer_tensor_bytes(const crn_producer_view *view)
{
    const uint32_t sides[] = {view->height, view->width, view->channels};
    uint64_t bytes = view->type == CRN_PRODUCER_F32   ? 4
                     : view->type == CRN_PRODUCER_F16 ? 2
                                                      : view->type == CRN_PRODUCER_U8;
    for (int i = 0; i < 3; i++) {
        if (sides[i] == 0 || sides[i] > INT32_MAX || bytes > UINT64_MAX / 8 / sides[i])
            return 0;
        bytes *= sides[i];
    }
    return bytes;
}

/** Not 0: a pose that a daemon takes: numbers to 1e6, not NaN, its semi-axes above 0. */
static inline int crn_producer_pose_fits(const crn_producer_pose *pose)
{
    const float most = 1e6F;
    return pose->x >= -most && pose->x <= most && pose->y >= -most && pose->y <= most &&
           pose->roll_rad >= -most && pose->roll_rad <= most && pose->rx > 0 && pose->rx <= most &&
           pose->ry > 0 && pose->ry <= most;
}

/** One of its five numbers as it lies in the header. */
static inline uint32_t crn_producer_pose_bits(const crn_producer_pose *pose, int number)
{
    const float numbers[] = {pose->x, pose->y, pose->rx, pose->ry, pose->roll_rad};
    uint32_t bits;
    memcpy(&bits, &numbers[number], sizeof bits);
    return bits;
}

/** Where its intensity part begins in the slot: at the next multiple of 64. */
static inline uint64_t crn_producer_intensity_at(const crn_producer_view *view)
{
    return (crn_producer_tensor_bytes(view) + 63) / 64 * 64;
}

/** Bytes that a view takes of a slot, with its intensity part if it has one.
 * @return 0 if type or a side is out of range */
static inline uint64_t crn_producer_view_bytes(const crn_producer_view *view)
{
    uint64_t bytes = crn_producer_tensor_bytes(view);
    return bytes && view->has_intensity
               ? crn_producer_intensity_at(view) + (uint64_t)view->height * view->width
               : bytes;
}

#ifdef __cplusplus
}
#endif

#endif
