#include "src/monitor/snapshot.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

const char *const crn_state_names[CRN_STATES] = {"starting", "ready", "running", "degraded",
                                                 "stopping"};

#define BUFFERS 3

/* Set in `spare` while the writer's latest buffer has not been taken. */
#define FRESH 4u

struct crn_snapshots {
    crn_snapshot *buffer[BUFFERS];
    unsigned writers, readers; /* indices, each used by its own thread only */
    atomic_uint spare;         /* index, perhaps with FRESH */
};

int crn_snapshots_create(int32_t lanes, crn_snapshots **ret_snapshots)
{
    crn_snapshots *snapshots = calloc(1, sizeof *snapshots);
    if (!snapshots)
        return -ENOMEM;
    size_t bytes = crn_snapshot_bytes(lanes);
    for (int i = 0; i < BUFFERS; i++) {
        snapshots->buffer[i] = calloc(1, bytes);
        if (!snapshots->buffer[i]) {
            crn_snapshots_free(&snapshots);
            return -ENOMEM;
        }
    }
    snapshots->writers = 0;
    snapshots->readers = 1;
    atomic_init(&snapshots->spare, 2);
    *ret_snapshots = snapshots;
    return 0;
}

void crn_snapshots_free(crn_snapshots **snapshots)
{
    if (!snapshots || !*snapshots)
        return;
    for (int i = 0; i < BUFFERS; i++)
        free((*snapshots)->buffer[i]);
    free(*snapshots);
    *snapshots = NULL;
}

crn_snapshot *crn_snapshots_begin(crn_snapshots *snapshots)
{
    return snapshots->buffer[snapshots->writers];
}

void crn_snapshots_publish(crn_snapshots *snapshots)
{
    unsigned before = atomic_exchange_explicit(&snapshots->spare, snapshots->writers | FRESH,
                                               memory_order_acq_rel);
    snapshots->writers = before & ~FRESH;
}

const crn_snapshot *crn_snapshots_latest(crn_snapshots *snapshots)
{
    if (atomic_load_explicit(&snapshots->spare, memory_order_relaxed) & FRESH) {
        unsigned before =
            atomic_exchange_explicit(&snapshots->spare, snapshots->readers, memory_order_acq_rel);
        snapshots->readers = before & ~FRESH;
    }
    return snapshots->buffer[snapshots->readers];
}
