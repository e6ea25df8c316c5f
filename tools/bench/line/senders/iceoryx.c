#include "tools/bench/line/senders/iceoryx.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <iceoryx_binding_c/log.h>
#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/runtime.h>
#include <iceoryx_binding_c/subscriber.h>
#include <iceoryx_binding_c/types.h>
#include <iceoryx_binding_c/wait_set.h>

#define SERVICE "cernita-bench", "views", "all"

/* Of a chunk: the header comes first. */
#define MAPS_AT   CRN_WIRE_HEADER_BYTES
#define ALIGNMENT 64

/* Chunks that wait to be read. RouDi's own settings have 10 of 4 MiB, of which the writer fills one
 * and the reader reads one. */
#define WAITING_MAX 8

struct crn_iceoryx_writer {
    const crn_peer *peer;
    iox_pub_storage_t storage;
    iox_pub_t publisher;
};

static void use_runtime(const char *role)
{
    static bool is_initialized;
    char name[64];
    snprintf(name, sizeof name, "cernita-bench-%s-%ld", role, (long)getpid());
    iox_set_loglevel(Iceoryx_LogLevel_Off);
    if (!is_initialized)
        iox_runtime_init(name); /* waits for RouDi, and ends this process where it does not come */
    is_initialized = true;
}

bool crn_iceoryx_begin(void)
{
    pid_t roudi = fork();
    if (roudi == 0) {
        sigset_t none; /* this program blocks those that end it */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        /* Not before: RouDi's end ends every process that uses it. */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execlp("iox-roudi", "iox-roudi", "--log-level", "off", NULL);
        _exit(127);
    }
    struct timespec start_up = {.tv_sec =
                                    1}; /* it ends at once if it is missing, or runs already */
    nanosleep(&start_up, NULL);
    return roudi > 0 && waitpid(roudi, NULL, WNOHANG) == 0;
}

/* --- writer --- */

int crn_iceoryx_writer_open(const crn_peer *peer, crn_iceoryx_writer **ret_writer)
{
    iox_pub_options_t options;
    crn_iceoryx_writer *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    use_runtime("writer");
    iox_pub_options_init(&options);
    options.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_WAIT_FOR_CONSUMER;
    self->peer = peer;
    self->publisher = iox_pub_init(&self->storage, SERVICE, &options);
    while (!iox_pub_has_subscribers(self->publisher)) {
        if (crn_peer_has_ended(peer)) {
            crn_iceoryx_writer_close(&self);
            return -ECHILD;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    *ret_writer = self;
    return 0;
}

int crn_iceoryx_write(crn_iceoryx_writer *writer, const crn_view_header *header, const void *maps)
{
    void *chunk;
    uint32_t bytes = MAPS_AT + (uint32_t)header->payload_bytes;
    while (iox_pub_loan_aligned_chunk(writer->publisher, &chunk, bytes, ALIGNMENT) !=
           AllocationResult_SUCCESS) {
        if (crn_peer_has_ended(writer->peer))
            return -ECHILD;
        sched_yield();
    }
    crn_wire_pack(header, chunk);
    memcpy((unsigned char *)chunk + MAPS_AT, maps, header->payload_bytes);
    iox_pub_publish_chunk(writer->publisher, chunk);
    return 0;
}

void crn_iceoryx_writer_close(crn_iceoryx_writer **writer)
{
    if (*writer)
        iox_pub_deinit((*writer)->publisher);
    free(*writer);
    *writer = NULL;
}

/* --- reader --- */

static int judge_waiting(iox_sub_t subscriber, crn_iceoryx_judge *judge, void *context,
                         const volatile int *stop)
{
    const void *chunk;
    int r = 0;
    while (r >= 0 && !*stop &&
           iox_sub_take_chunk(subscriber, &chunk) == ChunkReceiveResult_SUCCESS) {
        crn_view_header header;
        crn_wire_peek(chunk, &header); /* unchecked: the benchmark's own */
        r = judge(context, &header, (const unsigned char *)chunk + MAPS_AT);
        iox_sub_release_chunk(subscriber, chunk);
    }
    return r;
}

int crn_iceoryx_read(crn_iceoryx_judge *judge, void *context, const volatile int *stop)
{
    iox_sub_storage_t storage;
    iox_ws_storage_t set_storage;
    iox_sub_options_t options;
    int r = 0;
    use_runtime("reader");
    iox_sub_options_init(&options);
    options.queueCapacity = WAITING_MAX;
    options.queueFullPolicy = QueueFullPolicy_BLOCK_PRODUCER;
    iox_sub_t subscriber = iox_sub_init(&storage, SERVICE, &options);
    iox_ws_t set = iox_ws_init(&set_storage);
    iox_ws_attach_subscriber_state(set, subscriber, SubscriberState_HAS_DATA, 0, NULL);
    while (r >= 0 && !*stop) {
        iox_notification_info_t woken;
        uint64_t missed;
        iox_ws_timed_wait(set, (struct timespec){.tv_nsec = 100000000}, &woken, 1, &missed);
        r = judge_waiting(subscriber, judge, context, stop);
    }
    iox_ws_deinit(set);
    iox_sub_deinit(subscriber);
    return r;
}
