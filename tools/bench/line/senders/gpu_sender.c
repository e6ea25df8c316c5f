#include "tools/bench/line/senders/gpu_sender.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/bench/line/senders/gpu_writer.h"

/* Views of the recording that are sent in a loop, at most. */
#define MAPS_MAX 256

struct crn_bench_gpu_sender {
    crn_gpu_writer *writer;
    crn_producer_gpu *gpu;
    uint32_t count;
    struct {
        const void *maps; /* of the host */
        void *on_gpu;
    } loaded[MAPS_MAX];
};

int crn_bench_gpu_sender_open(crn_producer *producer, crn_bench_gpu_sender **ret_sender)
{
    crn_bench_gpu_sender *sender = calloc(1, sizeof *sender);
    int r = sender ? crn_gpu_writer_open(&sender->writer) : -ENOMEM;
    if (r == 0)
        r = crn_producer_gpu_create(&sender->gpu);
    if (r == 0)
        r = crn_producer_use_kind(producer, crn_producer_gpu_kind(sender->gpu));
    if (r < 0)
        crn_bench_gpu_sender_close(&sender);
    else
        *ret_sender = sender;
    return r;
}

void crn_bench_gpu_sender_close(crn_bench_gpu_sender **sender)
{
    if (!*sender)
        return;
    crn_producer_gpu_free(&(*sender)->gpu);
    crn_gpu_writer_close(&(*sender)->writer);
    free(*sender);
    *sender = NULL;
}

/* Their copy on the GPU. */
static const void *load(crn_bench_gpu_sender *sender, const void *maps, size_t size)
{
    for (uint32_t i = 0; i < sender->count; i++)
        if (sender->loaded[i].maps == maps)
            return sender->loaded[i].on_gpu;
    if (sender->count == MAPS_MAX)
        return NULL;
    void *on_gpu = crn_gpu_writer_load(sender->writer, maps, size);
    sender->loaded[sender->count].maps = maps;
    sender->loaded[sender->count].on_gpu = on_gpu;
    sender->count += on_gpu != NULL;
    return on_gpu;
}

int crn_bench_gpu_sender_fill(crn_bench_gpu_sender *sender, const crn_producer_slot *slot,
                              const void *maps, size_t size)
{
    int r = crn_gpu_writer_enter(sender->writer);
    const void *on_gpu = r == 0 ? load(sender, maps, size) : NULL;
    if (!on_gpu)
        return r < 0 ? r : -ENOMEM;
    r = crn_gpu_writer_copy(sender->writer, slot->tensor, on_gpu, size);
    return r < 0
               ? r
               : crn_producer_gpu_record(sender->gpu, slot, crn_gpu_writer_stream(sender->writer));
}
