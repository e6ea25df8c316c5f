#include "tools/replay/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* libzmq's thread has sent a part; preloaded memory stays valid. */
static void part_sent(void *data, void *waiting)
{
    (void)data;
    atomic_fetch_sub((atomic_uint_fast64_t *)waiting, 1);
}

static void copy_sent(void *data, void *waiting)
{
    free(data);
    part_sent(NULL, waiting);
}

int crn_replay_part_fill(zmq_msg_t *part, const unsigned char *bytes, size_t size, bool lasting,
                         atomic_uint_fast64_t *waiting)
{
    void *data = (void *)(uintptr_t)bytes;
    if (!lasting) {
        data = malloc(size);
        if (!data)
            return -ENOMEM;
        memcpy(data, bytes, size);
    }
    atomic_fetch_add(waiting, 1);
    if (zmq_msg_init_data(part, data, size, lasting ? part_sent : copy_sent, waiting) == 0)
        return 0;
    (lasting ? part_sent : copy_sent)(data, waiting);
    return -ENOMEM;
}
