/* The daemon's side of slots, for tests of producers: one connection, and what arrives on it. */
#ifndef CRN_TESTS_SUPPORT_SLOTS_SLOTS_PEER_H
#define CRN_TESTS_SUPPORT_SLOTS_SLOTS_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/formats/slots/slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How it answers. */
typedef enum slots_manner {
    SLOTS_ANSWERS,
    SLOTS_HANGS_UP,
    SLOTS_HANGS_UP_AT_ONCE, /* whether the hello has come or not */
    SLOTS_SAYS_NOTHING,
    SLOTS_SAYS_OTHER,    /* three bytes */
    SLOTS_GIVES_NO_FDS,  /* a good answer without descriptors */
    SLOTS_GIVES_SHORT,   /* with memory of half the size */
    SLOTS_ACCEPTS_NOBODY /* it listens, and its queue is full */
} slots_manner;

typedef struct slots_peer {
    char path[96];
    slots_manner manner;
    crn_slots_answer answer; /* to be set by the test, or left as listening made it */
    crn_slots_hello hello;   /* that came */
    int listener, connection, memory_fd, words_fd;
    int fillers[4]; /* connections that fill the queue */
    unsigned char *memory;
    uint64_t *words;
    pthread_t thread;
    bool is_accepting;
} slots_peer;

/* Listens at `path` with a ring of that many slots of 8192 bytes. */
void slots_peer_listen(slots_peer *peer, const char *path, uint32_t slots);

/* Answers the next hello, on a thread of its own; slots_peer_join() waits until it has. */
void slots_peer_accept(slots_peer *peer);
void slots_peer_join(slots_peer *peer);

/* Receives a packet; returns its size, 0 where the producer has hung up. */
size_t slots_peer_receive(slots_peer *peer, unsigned char *bytes, size_t capacity);

/* The slot is free again, and the producer is told. */
void slots_peer_free_slot(slots_peer *peer, uint32_t slot);

/* Ends the connection as a daemon's death does: nobody listens, the socket's file remains. */
void slots_peer_die(slots_peer *peer);

/* Dies, and removes the file; all of it may be half made. */
void slots_peer_close(slots_peer *peer);

#ifdef __cplusplus
}
#endif

#endif
