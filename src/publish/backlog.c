#include "src/publish/backlog.h"

#include <errno.h>
#include <stdlib.h>

/* Number of send times that are kept; if more were sent within doubt_ns, all count as doubtful. */
#define SENDS_REMEMBERED 4096

struct crn_backlog {
    crn_waiting *ring;
    size_t capacity, first, count;
    size_t bytes, max_bytes;
    int64_t doubt_ns;
    int64_t sent_ns[SENDS_REMEMBERED]; /* ring buffer */
    uint64_t sent; /* since a grader last disconnected, without those counted already */
    int64_t blocked_from_ns, blocked_to_ns;
};

int crn_backlog_create(size_t capacity, size_t bytes, int64_t doubt_ns, crn_backlog **ret_backlog)
{
    if (capacity == 0)
        return -EINVAL;
    crn_backlog *backlog = calloc(1, sizeof *backlog);
    if (!backlog)
        return -ENOMEM;
    backlog->capacity = capacity;
    backlog->max_bytes = bytes;
    backlog->doubt_ns = doubt_ns;
    backlog->blocked_to_ns = INT64_MIN;
    backlog->ring = calloc(capacity, sizeof *backlog->ring);
    if (!backlog->ring) {
        crn_backlog_free(&backlog);
        return -ENOMEM;
    }
    *ret_backlog = backlog;
    return 0;
}

static void pop(crn_backlog *backlog)
{
    crn_waiting *front = &backlog->ring[backlog->first];
    backlog->bytes -= front->bytes;
    zmq_msg_close(&front->body);
    backlog->first = (backlog->first + 1) % backlog->capacity;
    backlog->count--;
}

void crn_backlog_free(crn_backlog **backlog)
{
    if (!backlog || !*backlog)
        return;
    while ((*backlog)->count > 0)
        pop(*backlog);
    free((*backlog)->ring);
    free(*backlog);
    *backlog = NULL;
}

size_t crn_backlog_bytes(const crn_backlog *backlog)
{
    return backlog->bytes;
}

size_t crn_backlog_count(const crn_backlog *backlog)
{
    return backlog->count;
}

size_t crn_backlog_push(crn_backlog *backlog, crn_waiting *item)
{
    size_t bytes = zmq_msg_size(&item->body);
    size_t dropped = 0;
    while (backlog->count == backlog->capacity ||
           (backlog->count > 0 && backlog->bytes + bytes > backlog->max_bytes)) {
        pop(backlog);
        dropped++;
    }
    crn_waiting *end = &backlog->ring[(backlog->first + backlog->count) % backlog->capacity];
    end->bytes = bytes;
    end->stale_at = item->stale_at;
    end->deadline_ns = item->deadline_ns;
    end->lane = item->lane;
    zmq_msg_init(&end->body);
    zmq_msg_move(&end->body, &item->body);
    backlog->count++;
    backlog->bytes += bytes;
    return dropped;
}

crn_waiting *crn_backlog_front(crn_backlog *backlog)
{
    return backlog->count > 0 ? &backlog->ring[backlog->first] : NULL;
}

void crn_backlog_sent(crn_backlog *backlog, bool counted, int64_t now_ns)
{
    pop(backlog);
    if (!counted)
        backlog->sent_ns[backlog->sent++ % SENDS_REMEMBERED] = now_ns;
}

void crn_backlog_blocked(crn_backlog *backlog, int64_t now_ns)
{
    if (backlog->blocked_to_ns < now_ns - backlog->doubt_ns)
        backlog->blocked_from_ns = now_ns;
    backlog->blocked_to_ns = now_ns;
}

uint64_t crn_backlog_count_doubtful(crn_backlog *backlog, int64_t now_ns)
{
    int64_t from_ns = now_ns - backlog->doubt_ns;
    if (backlog->blocked_to_ns >= from_ns)
        from_ns = backlog->blocked_from_ns - backlog->doubt_ns;
    uint64_t known = backlog->sent < SENDS_REMEMBERED ? backlog->sent : SENDS_REMEMBERED;
    uint64_t doubtful = 0;
    while (doubtful < known &&
           backlog->sent_ns[(backlog->sent - 1 - doubtful) % SENDS_REMEMBERED] >= from_ns)
        doubtful++;
    if (doubtful == SENDS_REMEMBERED)
        doubtful = backlog->sent; /* earlier send times are unknown, so these may be lost too */
    backlog->sent = 0;
    backlog->blocked_to_ns = INT64_MIN;
    return doubtful;
}
