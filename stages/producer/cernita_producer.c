#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_POPULATE, MSG_CMSG_CLOEXEC */
#endif
#include "cernita_producer.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HELLO_BYTES = 40, ANSWER_BYTES = 128, TEXT_AT = 24 /* of an answer */ };
enum { FLAG_INTENSITY = 1, FLAG_IN_SLOT = 2, FLAG_NO_SLOT = 4, FLAG_POSE = 8 }; /* of a header */
/* Bits 0 and 1 of a slot's word; the others are its generation. */
enum { SLOT_FREE = 0, SLOT_FILLING = 1, SLOT_SENT = 2, SLOT_STATES = 4 };

struct crn_producer {
    int socket;    /* -1: never connected, or the daemon has ended */
    pid_t process; /* that has connected */
    struct sockaddr_un address;
    uint64_t view_bytes;
    uint32_t slots_wanted;
    crn_producer_kind kind; /* without functions: host memory, which is mapped here */
    crn_producer_ring ring;
    uint64_t ring_id;
    uint64_t *words; /* one for each slot */
    char error[400];
};

/* What the daemon answers to a hello. */
typedef struct producer_answer {
    uint32_t status, slots;
    uint64_t ring_id, slot_bytes;
    int fds[2]; /* memory, words; -1: none */
    char text[ANSWER_BYTES - TEXT_AT + 1];
} producer_answer;

static int __attribute__((format(printf, 3, 4)))
fail(crn_producer *producer, int code, const char *format, ...)
{
    int used =
        snprintf(producer->error, sizeof producer->error, "slots %s: ", producer->address.sun_path);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(producer->error + used, sizeof producer->error - (size_t)used, format, arguments);
    va_end(arguments);
    return -code;
}

const char *crn_producer_error(const crn_producer *producer)
{
    return producer->error;
}

/* Little-endian, as all numbers on the wire. */
static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    value = htole64(value);
    memcpy(at, &value, bytes);
}

static uint64_t get(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return le64toh(value);
}

uint64_t crn_producer_class_set(const char *const *names, size_t count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a of the names with \n between them */
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0, end = strlen(names[i]) + (i + 1 < count); at < end; at++)
            hash = (hash ^ (unsigned char)(names[i][at] ? names[i][at] : '\n')) *
                   UINT64_C(0x100000001b3);
    return hash;
}

static int check_view(crn_producer *producer, const crn_producer_view *view)
{
    if (view->type < CRN_PRODUCER_U8 || view->type > CRN_PRODUCER_F32)
        return fail(producer, EINVAL, "type must be CRN_PRODUCER_U8, _F16 or _F32");
    if (view->layout != CRN_PRODUCER_CHW && view->layout != CRN_PRODUCER_HWC)
        return fail(producer, EINVAL, "layout must be CRN_PRODUCER_CHW or _HWC");
    if (!crn_producer_tensor_bytes(view))
        return fail(producer, EINVAL,
                    "height, width and channels must be 1 to 2147483647 and fit into memory, not "
                    "%u, %u and %u",
                    (unsigned)view->height, (unsigned)view->width, (unsigned)view->channels);
    if (view->has_pose && !crn_producer_pose_fits(&view->pose))
        return fail(producer, EINVAL, "pose must be numbers to 1e6, its rx and ry above 0");
    if (view->views && view->view >= view->views)
        return fail(producer, EINVAL, "view must be less than views, not %u of %u", view->view,
                    view->views);
    return 0;
}

static int check_fits(crn_producer *producer, const crn_producer_view *view)
{
    unsigned long long bytes = crn_producer_view_bytes(view), most = producer->ring.slot_bytes;
    return bytes <= most ? 0
                         : fail(producer, EMSGSIZE,
                                "a view of %llu bytes in slots of %llu: give view_bytes of the "
                                "largest view to crn_producer_create()",
                                bytes, most);
}

static void pack_header(const crn_producer_view *view, unsigned flags, unsigned char *at)
{
    const uint64_t numbers[] = {view->sequence,    view->epoch,       view->fruit,
                                view->captured_ns, view->deadline_ns, view->encoder};
    memset(at, 0, CRN_PRODUCER_HEADER_BYTES);
    memcpy(at, "CRN1", 4);
    put(at + 4, CRN_PRODUCER_HEADER_BYTES, 2);
    put(at + 6, flags | !!view->has_intensity * FLAG_INTENSITY | !!view->has_pose * FLAG_POSE, 2);
    for (int i = 0; i < 6; i++)
        put(at + 8 + 8 * i, numbers[i], 8);
    put(at + 56, view->lane, 4);
    put(at + 60, view->view, 2);
    put(at + 62, view->views, 2);
    put(at + 64, view->height, 4);
    put(at + 68, view->width, 4);
    put(at + 72, view->channels, 4);
    put(at + 76, view->type, 1);
    put(at + 77, view->layout, 1);
    put(at + 80, view->class_set, 8);
    put(at + 88, crn_producer_tensor_bytes(view), 8);
    for (int i = 0; view->has_pose && i < 5; i++)
        put(at + 96 + 4 * i, crn_producer_pose_bits(&view->pose, i), 4);
}

static long long end_of(int timeout_ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return timeout_ms < 0 ? -1 : now.tv_sec * 1000LL + now.tv_nsec / 1000000 + timeout_ms;
}

/* Waits until something can be received; end_ms negative: without end. 0: nothing until then. */
static int await_input(const crn_producer *producer, long long end_ms)
{
    int ready;
    do {
        long long left_ms = end_ms < 0 ? -1 : end_ms - end_of(0);
        struct pollfd polled = {producer->socket, POLLIN, 0};
        ready = poll(&polled, 1, end_ms >= 0 && left_ms < 0 ? 0 : (int)left_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

int crn_producer_create(const crn_producer_settings *settings, crn_producer **ret_producer)
{
    size_t length = settings->path ? strlen(settings->path) : 0;
    if (length == 0 || length >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return -EINVAL;
    crn_producer *producer = calloc(1, sizeof *producer);
    if (!producer)
        return -ENOMEM;
    producer->socket = -1;
    producer->address.sun_family = AF_UNIX;
    memcpy(producer->address.sun_path, settings->path, length);
    producer->view_bytes = settings->view_bytes;
    producer->slots_wanted = settings->slots ? settings->slots : CRN_PRODUCER_SLOTS;
    producer->kind.kind = 1; /* memfd */
    *ret_producer = producer;
    return 0;
}

int crn_producer_use_kind(crn_producer *producer, const crn_producer_kind *kind)
{
    if (!producer->ring.memory)
        producer->kind = *kind;
    return producer->ring.memory ? -EBUSY : 0;
}

static void disconnect(crn_producer *producer)
{
    /* A copy in a forked child neither keeps the connection nor ends it. */
    if (producer->process == getpid())
        shutdown(producer->socket, SHUT_RDWR);
    if (producer->socket >= 0)
        close(producer->socket);
    producer->socket = -1;
}

static void unmap(crn_producer *producer)
{
    if (producer->ring.memory && producer->kind.unmap)
        producer->kind.unmap(producer->kind.owner, producer->ring.memory);
    else if (producer->ring.memory)
        munmap(producer->ring.memory, producer->ring.slots * producer->ring.slot_bytes);
    if (producer->words)
        munmap(producer->words, producer->ring.slots * sizeof *producer->words);
    producer->ring = (crn_producer_ring){NULL, 0, 0};
    producer->words = NULL;
}

void crn_producer_free(crn_producer **producer)
{
    if (!producer || !*producer)
        return;
    disconnect(*producer);
    unmap(*producer);
    free(*producer);
    *producer = NULL;
}

static const char *connect_hint(int code)
{
    return code == ENOENT         ? "there is no such socket: correct the path, or start cernitad"
           : code == EACCES       ? "permission denied: add this user to the group of the socket"
           : code == ECONNREFUSED ? "nobody listens there: start cernitad"
           : code == EPROTOTYPE   ? "a socket of another kind: name ingest.slots.path of the line"
           : code == EAGAIN       ? "the daemon accepts no connection: is it stopped?"
                                  : strerror(code);
}

static int open_connection(crn_producer *producer, int timeout_ms)
{
    disconnect(producer);
    producer->process = getpid();
    producer->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (producer->socket < 0)
        return fail(producer, errno, "no socket: %s", strerror(errno));
    /* For connect(), which waits while the daemon's queue is full; 0 would be without end. */
    int wait_ms = timeout_ms > 0 ? timeout_ms : 1;
    struct timeval wait = {wait_ms / 1000, wait_ms % 1000 * 1000};
    if (timeout_ms >= 0)
        setsockopt(producer->socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    const struct sockaddr *address = (const struct sockaddr *)&producer->address;
    if (connect(producer->socket, address, sizeof producer->address) < 0)
        return fail(producer, errno == EAGAIN ? ETIMEDOUT : errno, "%s", connect_hint(errno));
    unsigned char hello[HELLO_BYTES] = "CRNS";
    put(hello + 4, 1 | (uint64_t)producer->kind.kind << 16, 4); /* version, kind */
    put(hello + 8, producer->slots_wanted, 4);
    put(hello + 16, producer->view_bytes, 8);
    memcpy(hello + 24, producer->kind.device, sizeof producer->kind.device);
    send(producer->socket, hello, sizeof hello, MSG_NOSIGNAL); /* else nothing can be received */
    return 0;
}

static int receive_answer(crn_producer *producer, int timeout_ms, producer_answer *ret_answer)
{
    unsigned char bytes[ANSWER_BYTES + 1];
    struct iovec part = {bytes, sizeof bytes};
    size_t control[CMSG_SPACE(sizeof ret_answer->fds) / sizeof(size_t)]; /* aligned */
    struct msghdr message = {NULL, 0, &part, 1, control, sizeof control, 0};
    if (!await_input(producer, end_of(timeout_ms)))
        return fail(producer, ETIMEDOUT, "no answer in %d ms: is the daemon stopped?", timeout_ms);
    ssize_t size = recvmsg(producer->socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(ret_answer->fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    if (size <= 0) /* every cernitad answers, unless it ends or this program comes too late */
        return fail(producer, ENOTCONN,
                    "hung up before its answer: the daemon ends, or is another program: call "
                    "crn_producer_connect() again");
    if (size != ANSWER_BYTES)
        return fail(producer, EPROTO,
                    "what listens there is not a cernitad: name ingest.slots.path of a line");
    ret_answer->status = (uint32_t)get(bytes, 4);
    ret_answer->slots = (uint32_t)get(bytes + 4, 4);
    ret_answer->ring_id = get(bytes + 8, 8);
    ret_answer->slot_bytes = get(bytes + 16, 8);
    memcpy(ret_answer->text, bytes + TEXT_AT, ANSWER_BYTES - TEXT_AT);
    return 0;
}

/* What is mapped beyond the end of a file is a SIGBUS. */
static int holds(int fd, uint64_t bytes)
{
    struct stat file;
    return fd >= 0 && fstat(fd, &file) == 0 && (uint64_t)file.st_size >= bytes;
}

static int check_answer(crn_producer *producer, const producer_answer *answer)
{
    if (answer->status)
        return fail(producer, answer->status < 4096 ? (int)answer->status : EPROTO, "refused: %s",
                    answer->text);
    if (answer->slots == 0 || answer->slot_bytes == 0 ||
        answer->slot_bytes > (uint64_t)PTRDIFF_MAX / answer->slots ||
        (!producer->kind.map && !holds(answer->fds[0], answer->slots * answer->slot_bytes)) ||
        !holds(answer->fds[1], answer->slots * sizeof *producer->words))
        return fail(producer, EPROTO,
                    "the answer lacks memory for its slots: install producer and daemon of one "
                    "release");
    return 0;
}

static void *map(int fd, uint64_t bytes)
{
    /* Populated: else the first lap pays a page fault for every 4 KiB. */
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static int map_ring(crn_producer *producer, const producer_answer *answer)
{
    uint64_t bytes = answer->slots * answer->slot_bytes;
    int result = 0;
    unmap(producer);
    producer->ring_id = answer->ring_id;
    producer->ring = (crn_producer_ring){NULL, answer->slots, answer->slot_bytes};
    producer->words = map(answer->fds[1], answer->slots * sizeof *producer->words);
    if (producer->words && producer->kind.map)
        result = producer->kind.map(producer->kind.owner, answer->fds, &producer->ring,
                                    &producer->ring.memory);
    else if (producer->words)
        producer->ring.memory = map(answer->fds[0], bytes);
    if (producer->ring.memory)
        return 0;
    unmap(producer);
    return fail(producer, result < 0 ? -result : ENOMEM, "cannot map %llu bytes%s",
                (unsigned long long)bytes,
                result < 0 ? " of the GPU" : ": ask for fewer slots, or raise ulimit -v");
}

int crn_producer_connect(crn_producer *producer, int timeout_ms)
{
    producer->error[0] = '\0';
    for (uint32_t i = 0; i < producer->ring.slots; i++)
        if (__atomic_load_n(producer->words + i, __ATOMIC_RELAXED) % SLOT_STATES == SLOT_FILLING)
            return fail(producer, EBUSY, "a slot is taken, in this memory: send or drop it first");
    producer_answer answer = {.fds = {-1, -1}};
    int result = open_connection(producer, timeout_ms);
    if (result == 0)
        result = receive_answer(producer, timeout_ms, &answer);
    if (result == 0)
        result = check_answer(producer, &answer);
    if (result == 0)
        result = map_ring(producer, &answer);
    for (int i = 0; i < 2; i++)
        if (answer.fds[i] >= 0)
            close(answer.fds[i]);
    if (result < 0)
        disconnect(producer);
    return result;
}

static int fail_hung_up(crn_producer *producer)
{
    disconnect(producer);
    return fail(producer, ENOTCONN, "%s: call crn_producer_connect()",
                producer->ring.memory ? "the daemon has ended" : "not connected");
}

/* Drops what the daemon has sent: each packet only says that slots became free. */
static int drain(crn_producer *producer)
{
    char wakes[64];
    ssize_t size = 1;
    while (size > 0 || (size < 0 && errno == EINTR))
        size = recv(producer->socket, wakes, sizeof wakes, MSG_DONTWAIT);
    return size < 0 && errno == EAGAIN ? 0 : fail_hung_up(producer);
}

/* Takes the first free slot: at a low rate the same few are used, and the caches hold them. */
static int take_free(crn_producer *producer, const crn_producer_view *view,
                     crn_producer_slot *ret_slot)
{
    for (uint32_t i = 0; i < producer->ring.slots; i++) {
        /* Acquire, which pairs with the daemon's release when it frees the slot: what is written
         * into the slot from here on is written after the daemon's last read of it. */
        uint64_t word = __atomic_load_n(producer->words + i, __ATOMIC_ACQUIRE);
        if (word % SLOT_STATES != SLOT_FREE)
            continue;
        __atomic_store_n(producer->words + i, word + SLOT_FILLING, __ATOMIC_RELAXED);
        unsigned char *at = (unsigned char *)producer->ring.memory + i * producer->ring.slot_bytes;
        *ret_slot = (crn_producer_slot){
            at, view->has_intensity ? at + crn_producer_intensity_at(view) : NULL,
            producer->ring_id, word / SLOT_STATES, i};
        return 1;
    }
    return 0;
}

int crn_producer_take(crn_producer *producer, const crn_producer_view *view, int timeout_ms,
                      crn_producer_slot *ret_slot)
{
    producer->error[0] = '\0';
    int result = check_view(producer, view);
    if (result == 0)
        result = drain(producer);
    if (result == 0)
        result = check_fits(producer, view);
    if (result < 0)
        return result;
    long long end_ms = end_of(timeout_ms);
    while (!take_free(producer, view, ret_slot)) {
        if (timeout_ms == 0 || !await_input(producer, end_ms))
            return fail(producer, EAGAIN, "none of %u slots is free: the line is slower than this",
                        (unsigned)producer->ring.slots);
        result = drain(producer);
        if (result < 0)
            return result;
    }
    return 0;
}

/* False: the daemon has taken the slot back, as it does where the header does not come for 10 s. */
static int set_state(crn_producer *producer, const crn_producer_slot *slot, unsigned state)
{
    uint64_t *word = producer->words + slot->index, old = __atomic_load_n(word, __ATOMIC_RELAXED);
    /* Release: who sees the state sees the maps, also where the header goes through ZeroMQ. */
    return old / SLOT_STATES == slot->generation &&
           __atomic_compare_exchange_n(word, &old, slot->generation * SLOT_STATES + state, 0,
                                       __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static int is_of_ring(const crn_producer *producer, const crn_producer_slot *slot)
{
    return producer->words && slot->ring == producer->ring_id && slot->index < producer->ring.slots;
}

int crn_producer_pack(crn_producer *producer, const crn_producer_view *view,
                      const crn_producer_slot *slot,
                      unsigned char ret_message[CRN_PRODUCER_MESSAGE_BYTES])
{
    producer->error[0] = '\0';
    int result = check_view(producer, view);
    if (result == 0 && slot && !is_of_ring(producer, slot))
        return fail(producer, ESTALE, "the slot is not of this connection: take another one");
    if (result == 0 && slot)
        result = check_fits(producer, view);
    if (result < 0)
        return result;
    pack_header(view, slot ? FLAG_IN_SLOT : FLAG_NO_SLOT, ret_message);
    if (!slot)
        return 0;
    unsigned char *reference = ret_message + CRN_PRODUCER_HEADER_BYTES;
    put(reference, slot->ring, 8);
    put(reference + 8, slot->index, 8); /* four bytes of it are the reserved ones */
    put(reference + 16, slot->generation, 8);
    /* Before it is sent: afterwards the daemon may have freed it already. */
    return set_state(producer, slot, SLOT_SENT)
               ? 0
               : fail(producer, ESTALE, "the daemon took the slot back: take another one");
}

static int send_packet(crn_producer *producer, const unsigned char *bytes, size_t size)
{
    ssize_t sent;
    do
        sent = send(producer->socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        return fail(producer, EAGAIN, "the daemon does not read what is sent: is it stopped?");
    return sent < 0 ? fail_hung_up(producer) : 0;
}

int crn_producer_send(crn_producer *producer, const crn_producer_view *view,
                      crn_producer_slot *slot)
{
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    int result = crn_producer_pack(producer, view, slot, message);
    if (result < 0)
        return result;
    result = send_packet(producer, message, sizeof message);
    if (result == -EAGAIN)
        set_state(producer, slot, SLOT_FILLING);
    else if (result < 0) /* no daemon will free it, and a slot that is taken forbids to connect */
        crn_producer_drop(producer, slot);
    else
        memset(slot, 0, sizeof *slot);
    return result;
}

int crn_producer_send_without(crn_producer *producer, const crn_producer_view *view)
{
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    int result = crn_producer_pack(producer, view, NULL, message);
    return result < 0 ? result : send_packet(producer, message, CRN_PRODUCER_HEADER_BYTES);
}

void crn_producer_drop(crn_producer *producer, crn_producer_slot *slot)
{
    if (!is_of_ring(producer, slot))
        return;
    set_state(producer, slot, SLOT_FREE);
    memset(slot, 0, sizeof *slot);
}

int crn_producer_memory(crn_producer *producer, crn_producer_ring *ret_ring)
{
    producer->error[0] = '\0';
    if (!producer->ring.memory)
        return fail_hung_up(producer);
    *ret_ring = producer->ring;
    return 0;
}
