/*
 * What the publisher owes its grader: packed verdicts that wait, bounded in number and bytes, and
 * when those went that libzmq has taken, to tell how many a grader that leaves may have missed. No
 * sockets, no clock; nothing is allocated after creation (the messages' memory is libzmq's).
 */
#ifndef CRN_SRC_PUBLISH_BACKLOG_H
#define CRN_SRC_PUBLISH_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zmq.h>

typedef struct crn_backlog crn_backlog;

/* A packed verdict that no grader has taken yet. */
typedef struct crn_waiting {
    zmq_msg_t body;
    size_t bytes;    /* of the body; push fills it in */
    size_t stale_at; /* where `stale` stands in it, see crn_encoder_set_bool */
    int64_t deadline_ns;
    uint32_t lane;
} crn_waiting;

/* At most `capacity` verdicts and `bytes` of them (but always one). doubt_ns: what was sent so long
 * before its grader left, or earlier, has reached it. 0, -EINVAL, -ENOMEM. */
int crn_backlog_create(size_t capacity, size_t bytes, int64_t doubt_ns, crn_backlog **ret_backlog);
void crn_backlog_free(crn_backlog **backlog);

size_t crn_backlog_count(const crn_backlog *backlog);

/* Takes the item's message and leaves it an empty one. Returns how many of the oldest had to go to
 * make room. */
size_t crn_backlog_push(crn_backlog *backlog, crn_waiting *item);

/* The oldest; NULL: nothing waits. */
crn_waiting *crn_backlog_front(crn_backlog *backlog);

/* libzmq took the oldest one's message. counted: the caller has counted it as possibly lost, so
 * that take_doubtful leaves it out. */
void crn_backlog_sent(crn_backlog *backlog, bool counted, int64_t now_ns);

/* A grader is there and libzmq takes nothing more for it. */
void crn_backlog_blocked(crn_backlog *backlog, int64_t now_ns);

/*
 * A grader left: how many of the verdicts sent it may have missed. Those sent within the last
 * doubt_ns; where it took nothing within them, those since doubt_ns before that began. Each send is
 * counted once.
 */
uint64_t crn_backlog_take_doubtful(crn_backlog *backlog, int64_t now_ns);

#endif
