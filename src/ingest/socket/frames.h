/*
 * Follows the bytes that a ZeroMQ peer sends (ZMTP 3, rfc.zeromq.org/spec/23 and 37), to know what
 * libzmq will hold for it: libzmq bounds a part's size and the number of complete messages, but
 * neither the parts of a message nor what one connection subscribes to. Arithmetic alone: no
 * sockets, no memory.
 */
#ifndef CRN_SRC_INGEST_SOCKET_FRAMES_H
#define CRN_SRC_INGEST_SOCKET_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a peer may send. */
typedef struct crn_frames_rules {
    uint64_t part_bytes;    /* of one part; 0: any size */
    uint64_t message_bytes; /* of memory, for the parts of a message that is not complete */
    uint32_t parts;         /* of a message; 0: this peer sends no messages at all */
    uint64_t total_bytes;   /* of all its messages together, since it connected; 0: any number */
} crn_frames_rules;

typedef enum crn_frames_fault {
    CRN_FRAMES_GOOD,
    CRN_FRAMES_PART,     /* a part of too many bytes */
    CRN_FRAMES_PARTS,    /* a message of too many parts */
    CRN_FRAMES_BYTES,    /* a message of too many bytes */
    CRN_FRAMES_TOTAL,    /* too many messages or subscriptions */
    CRN_FRAMES_GREETING, /* does not begin as ZMTP 3 does */
    CRN_FRAMES_COMMAND,  /* a command of too many bytes */
    CRN_FRAMES_FAULTS,
} crn_frames_fault;

typedef struct crn_frames {
    /* Of use to others. */
    uint64_t held_bytes; /* memory that libzmq has for the message under way; 0: none is */
    uint64_t messages;   /* complete messages and subscriptions so far */
    uint64_t total;      /* bytes of all messages so far */
    bool introduced;     /* the handshake's command has come */
    size_t whole_bytes;  /* of the bytes last followed, those up to the end of a frame */

    /* Of frames.c. */
    uint64_t skip;  /* bytes of the frame's body still to come */
    uint32_t parts; /* of the message under way */
    uint8_t state, flags, have, name;
    uint8_t head[12]; /* of the greeting, of a frame, or of a command's name */
} crn_frames;

/* A connection's first byte is still to come. */
void crn_frames_begin(crn_frames *frames);

/* The next bytes of the connection. After a fault nothing more is to be followed. */
crn_frames_fault crn_frames_follow(crn_frames *frames, const crn_frames_rules *rules,
                                   const void *bytes, size_t size);

#endif
