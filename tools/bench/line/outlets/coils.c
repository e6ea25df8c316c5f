#include "tools/bench/line/outlets/coils.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"
#include "tools/bench/line/outlets/modbus_peer.h"

/* How often to look whether to stop. */
#define LOOK_MS 100

/* Of a request: after 6 bytes of header and the unit, the function; 2 of address, 2 of value. */
#define FUNCTION_AT 7
#define VALUE_AT    10
#define VALUE_ON    0xff
#define WRITE_BYTES 12

struct crn_bench_coils {
    crn_bench_modbus_peer peer;
    _Atomic int64_t written_ns;
    sem_t written; /* posted with each coil that is written on */
    atomic_bool is_ending;
    bool is_started;
    pthread_t thread;
};

static bool is_writing_on(const uint8_t *query, int length)
{
    return length == WRITE_BYTES && query[FUNCTION_AT] == MODBUS_FC_WRITE_SINGLE_COIL &&
           query[VALUE_AT] == VALUE_ON;
}

static void *run(void *context)
{
    crn_bench_coils *self = context;
    uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
    crn_priority_raise(); /* a PLC is another machine: it does not wait for this one */
    crn_priority_wake_at_once();
    while (!atomic_load(&self->is_ending)) {
        struct pollfd wanted = {.fd = crn_bench_modbus_descriptor(&self->peer), .events = POLLIN};
        if (poll(&wanted, 1, LOOK_MS) <= 0)
            continue;
        int64_t now_ns = crn_now_ns();
        if (!is_writing_on(query, crn_bench_modbus_serve(&self->peer, query)))
            continue;
        atomic_store(&self->written_ns, now_ns);
        sem_post(&self->written);
    }
    return NULL;
}

int crn_bench_coils_open(uint16_t port, crn_bench_coils **ret_coils)
{
    crn_bench_coils *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    sem_init(&self->written, 0, 0);
    int r = crn_bench_modbus_open(&self->peer, port, CRN_BENCH_COILS, 0);
    if (r == 0)
        r = crn_thread_start(&self->thread, run, self);
    self->is_started = r == 0;
    if (r < 0)
        crn_bench_coils_close(&self);
    else
        *ret_coils = self;
    return r;
}

void crn_bench_coils_close(crn_bench_coils **coils)
{
    crn_bench_coils *self = *coils;
    if (!self)
        return;
    atomic_store(&self->is_ending, true);
    if (self->is_started)
        pthread_join(self->thread, NULL);
    crn_bench_modbus_close(&self->peer);
    sem_destroy(&self->written);
    free(self);
    *coils = NULL;
}

int crn_bench_coils_await(crn_bench_coils *self, int64_t since_ns, int64_t until_ns,
                          int64_t *ret_written_ns)
{
    int64_t written_ns;
    do {
        if (crn_sem_wait_until(&self->written, until_ns) < 0)
            return -ETIMEDOUT;
        written_ns = atomic_load(&self->written_ns);
    } while (written_ns < since_ns);
    *ret_written_ns = written_ns;
    return 0;
}
