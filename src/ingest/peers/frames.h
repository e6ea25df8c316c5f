/*
 * Parses the byte stream of a ZeroMQ peer (ZMTP 3, rfc.zeromq.org/spec/23 and 37) to account for
 * the memory that libzmq will use for it: libzmq limits a part's size and the number of complete
 * messages, but neither the parts of a message nor the subscriptions of a connection. Arithmetic
 * only: no sockets, no allocation.
 *
 * Of a sealed connection (CURVE, rfc.zeromq.org/spec/26) only the sizes of parts can be seen, not
 * which of them end a message. What counts against message_bytes is then everything that the
 * socket's owner has not read yet (crn_frames_read), and parts of a heartbeat's size are free up to
 * a number that crn_frames_forgive restores with time.
 */
#ifndef CRN_SRC_INGEST_PEERS_FRAMES_H
#define CRN_SRC_INGEST_PEERS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of what a peer may send. */
typedef struct crn_frames_rules {
    uint64_t part_bytes;    /* size of one part; 0: unlimited */
    uint64_t message_bytes; /* memory for the parts of an incomplete message */
    uint64_t waiting_bytes; /* and for complete ones that the owner has not read yet
                               (crn_frames_read); 0: the owner does not report what it reads, and
                               they do not count; sealed: total_bytes is the limit then */
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
    CRN_FRAMES_PLAIN,    /* sealed: the greeting names another mechanism than CURVE */
    CRN_FRAMES_FAULTS,
} crn_frames_fault;

typedef struct crn_frames {
    /* Public. */
    uint64_t held_bytes; /* memory that libzmq uses for the incomplete message, with waiting_bytes
                            also for complete ones; 0: there is none */
    uint64_t messages;   /* complete messages and subscriptions so far */
    uint64_t total;      /* bytes of all messages so far */
    bool introduced;     /* the handshake's command has been received; sealed: a part after both */
    bool sealed;         /* as begun */
    uint8_t handshake;   /* sealed: commands of the handshake received, 0 to 2 */
    size_t whole_bytes;  /* of the bytes last parsed, those up to the last frame's end */

    /* Private to frames.c. */
    uint64_t skip;  /* bytes of the frame's body still to come */
    uint32_t parts; /* of the incomplete message */
    uint32_t beats; /* sealed: parts of a heartbeat's size that have not been forgiven */
    uint8_t state, flags, have, name;
    uint8_t head[20]; /* of the greeting, of a frame, or of a command's name */
} crn_frames;

/* Initialises the state before a connection's first byte. */
void crn_frames_begin(crn_frames *frames);

/* The same for a connection that must use CURVE. */
void crn_frames_begin_sealed(crn_frames *frames);

/* Memory that libzmq uses for a part of this size. */
uint64_t crn_frames_part_cost(uint64_t bytes);

/* Sealed, or with waiting_bytes: the owner read parts of this cost. */
void crn_frames_read(crn_frames *frames, uint64_t cost);

/* Sealed: `beats` more heartbeats are free. */
void crn_frames_forgive(crn_frames *frames, uint64_t beats);

/* Parses the connection's next bytes. After a fault no more may be passed. */
crn_frames_fault crn_frames_follow(crn_frames *frames, const crn_frames_rules *rules,
                                   const void *bytes, size_t size);

#endif
