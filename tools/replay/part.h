/* A part of a message that libzmq sends in the background, counted until it has. */
#ifndef CRN_TOOLS_REPLAY_PART_H
#define CRN_TOOLS_REPLAY_PART_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <zmq.h>

/* Fills a message: without a copy if the bytes outlive the run (`lasting`). *waiting goes up, and
 * down again once libzmq's thread has sent the part. 0 or -ENOMEM. */
int crn_replay_part_fill(zmq_msg_t *part, const unsigned char *bytes, size_t size, bool lasting,
                         atomic_uint_fast64_t *waiting);

#endif
