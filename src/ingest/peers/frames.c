#include "src/ingest/peers/frames.h"

#include <string.h>

#define GREETING_BYTES 64
#define VERSION_AT     10 /* offset in the greeting; the signature precedes it */
#define VERSION_MIN    2  /* libzmq treats revisions from 2 on as ZMTP 3 */
#define MECHANISM_AT   12
#define HEAD_BYTES     (MECHANISM_AT + 6) /* of the greeting, as far as it is examined */
#define FLAG_MORE      1
#define FLAG_LONG      2
#define FLAG_COMMAND   4
#define LENGTH_BYTES   8
#define NAME_BYTES     5 /* bytes of a command that are examined: length and up to four letters */
/* Limit for a command; libzmq's own have at most 300 bytes, and a
 * handshake takes ten times its size. */
#define COMMAND_BYTES_MAX 1024
#define PART_BYTES        64 /* libzmq's record of a part */
#define PART_INSIDE_MAX   33 /* a part up to this size is stored inside that record */
#define BUFFER_BYTES                                                                               \
    8448 /* a part beyond that size may keep alive the whole buffer that it was read into */

/* CURVE: the commands HELLO and INITIATE, then parts, each with name, nonce, flags and code. */
#define HANDSHAKE_COMMANDS 2
#define SEAL_BYTES         33
/* PING with its time to live, PONG without context: what libzmq sends. */
#define HEARTBEAT_BYTES_MAX 7
#define BEATS_MAX           64

enum state { GREETING, FLAGS, LENGTH, NAME, BODY };

void crn_frames_begin(crn_frames *frames)
{
    *frames = (crn_frames){.state = GREETING, .skip = GREETING_BYTES};
}

void crn_frames_begin_sealed(crn_frames *frames)
{
    crn_frames_begin(frames);
    frames->sealed = true;
}

uint64_t crn_frames_part_cost(uint64_t bytes)
{
    uint64_t cost = PART_BYTES;
    /* libzmq allocates the whole part when its header has been received. */
    if (bytes > PART_INSIDE_MAX && __builtin_add_overflow(cost + BUFFER_BYTES, bytes, &cost))
        return UINT64_MAX;
    return cost;
}

void crn_frames_read(crn_frames *frames, uint64_t cost)
{
    frames->held_bytes -= cost < frames->held_bytes ? cost : frames->held_bytes;
}

void crn_frames_forgive(crn_frames *frames, uint64_t beats)
{
    frames->beats -= beats < frames->beats ? (uint32_t)beats : frames->beats;
}

/* Collects bytes into head up to `wanted`; true once complete. */
static bool collect(crn_frames *frames, size_t wanted, const uint8_t **at, const uint8_t *end)
{
    size_t bytes = wanted - frames->have, there = (size_t)(end - *at);
    if (bytes > there)
        bytes = there;
    memcpy(frames->head + frames->have, *at, bytes);
    frames->have += (uint8_t)bytes;
    *at += bytes;
    return frames->have == wanted;
}

static crn_frames_fault follow_greeting(crn_frames *frames, const uint8_t **at, const uint8_t *end)
{
    size_t there = (size_t)(end - *at), bytes = there < frames->skip ? there : frames->skip;
    size_t looked_at = HEAD_BYTES - frames->have;
    if (looked_at > bytes)
        looked_at = bytes;
    memcpy(frames->head + frames->have, *at, looked_at);
    frames->have += (uint8_t)looked_at;
    *at += bytes;
    frames->skip -= bytes;
    if (frames->skip > 0)
        return CRN_FRAMES_GOOD;
    bool good = frames->head[0] == 0xff && frames->head[VERSION_AT - 1] & 1 &&
                frames->head[VERSION_AT] >= VERSION_MIN;
    frames->state = FLAGS;
    if (!good)
        return CRN_FRAMES_GREETING;
    return frames->sealed && memcmp(frames->head + MECHANISM_AT, "CURVE", sizeof "CURVE") != 0
               ? CRN_FRAMES_PLAIN
               : CRN_FRAMES_GOOD;
}

static crn_frames_fault count_total(crn_frames *frames, const crn_frames_rules *rules,
                                    uint64_t bytes)
{
    frames->total += bytes;
    return rules->total_bytes > 0 && frames->total > rules->total_bytes ? CRN_FRAMES_TOTAL
                                                                        : CRN_FRAMES_GOOD;
}

/* Accounts for a part when its header has been received. */
static crn_frames_fault count_part(crn_frames *frames, const crn_frames_rules *rules)
{
    if (++frames->parts > rules->parts)
        return CRN_FRAMES_PARTS;
    if (rules->part_bytes > 0 && frames->skip > rules->part_bytes)
        return CRN_FRAMES_PART;
    if (__builtin_add_overflow(frames->held_bytes, crn_frames_part_cost(frames->skip),
                               &frames->held_bytes) ||
        frames->held_bytes > rules->message_bytes + rules->waiting_bytes)
        return CRN_FRAMES_BYTES;
    return count_total(frames, rules, 2 + frames->skip);
}

/* The same for a sealed part, of which only the size is known. */
static crn_frames_fault count_sealed_part(crn_frames *frames, const crn_frames_rules *rules)
{
    uint64_t bytes = frames->skip > SEAL_BYTES ? frames->skip - SEAL_BYTES : 0;
    if (bytes <= HEARTBEAT_BYTES_MAX && frames->beats < BEATS_MAX) {
        frames->beats++;
        return CRN_FRAMES_GOOD;
    }
    if (rules->parts == 0)
        return CRN_FRAMES_PARTS;
    if (rules->part_bytes > 0 && bytes > rules->part_bytes)
        return CRN_FRAMES_PART;
    frames->messages++;
    if (rules->waiting_bytes > 0 &&
        (__builtin_add_overflow(frames->held_bytes, crn_frames_part_cost(bytes),
                                &frames->held_bytes) ||
         frames->held_bytes > rules->message_bytes + rules->waiting_bytes))
        return CRN_FRAMES_BYTES;
    return count_total(frames, rules, 2 + bytes);
}

static void end_frame(crn_frames *frames, const crn_frames_rules *rules)
{
    frames->state = FLAGS;
    if (frames->sealed || frames->flags & (FLAG_MORE | FLAG_COMMAND))
        return;
    frames->messages++;
    frames->parts = 0;
    if (rules->waiting_bytes == 0)
        frames->held_bytes = 0;
}

static crn_frames_fault begin_sealed_body(crn_frames *frames, const crn_frames_rules *rules,
                                          uint64_t size)
{
    crn_frames_fault fault = CRN_FRAMES_GOOD;
    frames->skip = size;
    frames->state = BODY;
    if (frames->handshake < HANDSHAKE_COMMANDS) {
        if (!(frames->flags & FLAG_COMMAND))
            return CRN_FRAMES_GREETING;
        if (size > COMMAND_BYTES_MAX)
            return CRN_FRAMES_COMMAND;
        frames->handshake++;
    } else {
        frames->introduced = true;
        fault = count_sealed_part(frames, rules);
    }
    if (size == 0)
        end_frame(frames, rules);
    return fault;
}

static crn_frames_fault begin_body(crn_frames *frames, const crn_frames_rules *rules, uint64_t size)
{
    if (frames->sealed)
        return begin_sealed_body(frames, rules, size);
    bool command = frames->flags & FLAG_COMMAND;
    /* libzmq also accepts a handshake that is not a command. */
    if (!command && !frames->introduced)
        return CRN_FRAMES_GREETING;
    if (command && size > COMMAND_BYTES_MAX)
        return CRN_FRAMES_COMMAND;
    frames->skip = size;
    frames->have = 0;
    frames->state = command ? NAME : BODY;
    frames->name = size < NAME_BYTES ? (uint8_t)size : NAME_BYTES;
    /* libzmq stores a command with the MORE flag like any other part. */
    if (!command || frames->flags & FLAG_MORE) {
        crn_frames_fault fault = count_part(frames, rules);
        if (fault)
            return fault;
    }
    if (size == 0)
        end_frame(frames, rules);
    return CRN_FRAMES_GOOD;
}

/* Accounts for a command when its name has been received. The first is the handshake; heartbeats
 * are free; all others are subscriptions. */
static crn_frames_fault count_command(crn_frames *frames, const crn_frames_rules *rules)
{
    frames->state = BODY;
    if (!frames->introduced) {
        frames->introduced = true;
        return CRN_FRAMES_GOOD;
    }
    if (frames->name == NAME_BYTES && (memcmp(frames->head, "\4PING", NAME_BYTES) == 0 ||
                                       memcmp(frames->head, "\4PONG", NAME_BYTES) == 0))
        return CRN_FRAMES_GOOD;
    if (rules->parts == 0)
        return CRN_FRAMES_PARTS;
    frames->messages++;
    return count_total(frames, rules, 2 + frames->skip + frames->name);
}

/* Handles the bytes of the current state, as far as they go. */
static crn_frames_fault follow(crn_frames *frames, const crn_frames_rules *rules,
                               const uint8_t **at, const uint8_t *end)
{
    size_t there = (size_t)(end - *at);
    switch (frames->state) {
    case GREETING:
        return follow_greeting(frames, at, end);
    case FLAGS:
        frames->flags = *(*at)++;
        frames->have = 0;
        frames->state = LENGTH;
        return CRN_FRAMES_GOOD;
    case LENGTH: {
        size_t wanted = frames->flags & FLAG_LONG ? LENGTH_BYTES : 1;
        if (!collect(frames, wanted, at, end))
            return CRN_FRAMES_GOOD;
        uint64_t size = 0;
        for (size_t i = 0; i < wanted; i++)
            size = size << 8 | frames->head[i];
        return begin_body(frames, rules, size);
    }
    case NAME:
        if (!collect(frames, frames->name, at, end))
            return CRN_FRAMES_GOOD;
        frames->skip -= frames->name;
        crn_frames_fault fault = count_command(frames, rules);
        if (frames->skip == 0)
            end_frame(frames, rules);
        return fault;
    default:
        there = there < frames->skip ? there : frames->skip;
        *at += there;
        frames->skip -= there;
        if (frames->skip == 0)
            end_frame(frames, rules);
        return CRN_FRAMES_GOOD;
    }
}

crn_frames_fault crn_frames_follow(crn_frames *frames, const crn_frames_rules *rules,
                                   const void *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = at + size;
    crn_frames_fault fault = CRN_FRAMES_GOOD;
    frames->whole_bytes = 0;
    while (at < end && fault == CRN_FRAMES_GOOD) {
        fault = follow(frames, rules, &at, end);
        if (frames->state == FLAGS && fault == CRN_FRAMES_GOOD)
            frames->whole_bytes = (size_t)(at - (const uint8_t *)bytes);
    }
    return fault;
}
