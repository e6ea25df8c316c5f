/*
 * Parses the byte stream of a ZeroMQ peer (ZMTP 3, rfc.zeromq.org/spec/23 and 37) to account for
 * the memory that libzmq will use for it: libzmq limits a part's size and the number of complete
 * messages, but neither the parts of a message nor the subscriptions of a connection. Arithmetic
 * only: no sockets, no allocation.
 */
#ifndef CRN_SRC_INGEST_SOCKET_FRAMES_H
#define CRN_SRC_INGEST_SOCKET_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of what a peer may send. */
typedef struct crn_frames_rules {
    uint64_t part_bytes;    /* size of one part; 0: unlimited */
    uint64_t message_bytes; /* memory for the parts of an incomplete message */
    uint32_t parts;         /* parts of a message; 0: this peer must not send messages */
    uint64_t total_bytes;   /* total size of its messages since it connected; 0: unlimited */
} crn_frames_rules;

typedef enum crn_frames_fault {
    CRN_FRAMES_GOOD,
    CRN_FRAMES_PART,     /* a part is too large */
    CRN_FRAMES_PARTS,    /* a message has too many parts */
    CRN_FRAMES_BYTES,    /* a message is too large */
    CRN_FRAMES_TOTAL,    /* too many messages or subscriptions */
    CRN_FRAMES_GREETING, /* not a ZMTP 3 greeting */
    CRN_FRAMES_COMMAND,  /* a command is too large */
    CRN_FRAMES_FAULTS,
} crn_frames_fault;

typedef struct crn_frames {
    /* Public. */
    uint64_t held_bytes; /* memory that libzmq uses for the incomplete message; 0: there is none */
    uint64_t messages;   /* complete messages and subscriptions so far */
    uint64_t total;      /* bytes of all messages so far */
    bool introduced;     /* the handshake's command has been received */
    size_t whole_bytes;  /* of the bytes last parsed, those up to the last frame's end */

    /* Private to frames.c. */
    uint64_t skip;  /* bytes of the frame's body still to come */
    uint32_t parts; /* of the incomplete message */
    uint8_t state, flags, have, name;
    uint8_t head[12]; /* of the greeting, of a frame, or of a command's name */
} crn_frames;

/* Initialises the state before a connection's first byte. */
void crn_frames_begin(crn_frames *frames);

/* Parses the connection's next bytes. After a fault no more may be passed. */
crn_frames_fault crn_frames_follow(crn_frames *frames, const crn_frames_rules *rules,
                                   const void *bytes, size_t size);

#endif
