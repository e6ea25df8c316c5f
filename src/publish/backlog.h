/*
 * Queue of the packed verdicts that wait for the grader, limited in number and bytes; and the send
 * times of those that libzmq accepted, to count how many a disconnecting grader may have missed. No
 * sockets, no clock; allocates nothing after creation (the messages' memory is libzmq's).
 */
#ifndef CRN_SRC_PUBLISH_BACKLOG_H
#define CRN_SRC_PUBLISH_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zmq.h>

typedef struct crn_backlog crn_backlog;

/* A packed verdict that waits for the grader. */
typedef struct crn_waiting {
    zmq_msg_t body;
    size_t bytes;    /* size of the body; set by push */
    size_t stale_at; /* offset of `stale` in the body, see crn_encoder_set_bool */
    int64_t deadline_ns;
    uint32_t lane;
} crn_waiting;

/*
 * Holds at most `capacity` verdicts and `bytes` of them (but always one). doubt_ns: a verdict sent
 * this long before its grader disconnected, or earlier, counts as received. Returns 0, -EINVAL or
 * -ENOMEM.
 */
int crn_backlog_create(size_t capacity, size_t bytes, int64_t doubt_ns, crn_backlog **ret_backlog);
void crn_backlog_free(crn_backlog **backlog);

size_t crn_backlog_count(const crn_backlog *backlog);

/* Bytes of the verdicts that wait. */
size_t crn_backlog_bytes(const crn_backlog *backlog);

/* Takes over the item's message and leaves an empty one. Returns how many of the oldest verdicts
 * were dropped to make room. */
size_t crn_backlog_push(crn_backlog *backlog, crn_waiting *item);

/* Returns the oldest verdict, or NULL if none waits. */
crn_waiting *crn_backlog_front(crn_backlog *backlog);

/* libzmq accepted the oldest verdict's message. counted: the caller has already counted it as
 * possibly lost, so count_doubtful leaves it out. */
void crn_backlog_sent(crn_backlog *backlog, bool counted, int64_t now_ns);

/* A grader is connected and libzmq accepts no more messages for it. */
void crn_backlog_blocked(crn_backlog *backlog, int64_t now_ns);

/*
 * A grader disconnected: returns how many of the verdicts sent to it may be lost. These are those
 * sent within the last doubt_ns; if it was blocked during that time, those sent since doubt_ns
 * before the blocking began. Each verdict is counted once.
 */
uint64_t crn_backlog_count_doubtful(crn_backlog *backlog, int64_t now_ns);

#endif
