#include "tests/support/slots/slots_peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"

#define SLOT_BYTES 8192

static struct sockaddr_un address_of(const slots_peer *peer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, peer->path, sizeof peer->path);
    return address;
}

static void *make_memory(uint64_t bytes, int *ret_fd)
{
    *ret_fd = memfd_create("slots", MFD_CLOEXEC);
    assert_true(*ret_fd >= 0);
    assert_int_equal(ftruncate(*ret_fd, (off_t)bytes), 0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static int open_socket(void)
{
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    return descriptor;
}

void slots_peer_listen(slots_peer *peer, const char *path, uint32_t slots)
{
    static uint64_t rings;
    *peer = (slots_peer){.connection = -1, .fillers = {-1, -1, -1, -1}};
    snprintf(peer->path, sizeof peer->path, "%s", path);
    peer->answer = (crn_slots_answer){
        .slots = slots, .slot_bytes = SLOT_BYTES, .ring = 0xfedcba9876543210 + ++rings};
    peer->memory = make_memory(slots * SLOT_BYTES, &peer->memory_fd);
    peer->words = make_memory(crn_slots_states_bytes(slots), &peer->words_fd);
    peer->listener = open_socket();
    struct sockaddr_un address = address_of(peer);
    unlink(path);
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(peer->listener, 0), 0);
}

static void send_answer(slots_peer *peer, bool with_fds)
{
    unsigned char bytes[CRN_SLOTS_ANSWER_BYTES];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.bytes = {0}};
    crn_slots_pack_answer(&peer->answer, bytes);
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (with_fds) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(2 * sizeof(int));
        const int fds[] = {peer->memory_fd, peer->words_fd};
        memcpy(CMSG_DATA(header), fds, sizeof fds);
    }
    if (sendmsg(peer->connection, &message, MSG_NOSIGNAL) != sizeof bytes)
        perror("slots_peer");
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void *answer_hello(void *argument)
{
    slots_peer *peer = argument;
    unsigned char hello[64];
    peer->connection = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    if (peer->manner == SLOTS_HANGS_UP_AT_ONCE) {
        close_descriptor(&peer->connection);
        return NULL;
    }
    ssize_t size = recv(peer->connection, hello, sizeof hello, 0);
    if (size < 0 || !crn_slots_parse_hello(hello, (size_t)size, &peer->hello))
        fprintf(stderr, "slots_peer: %zd bytes that are not a hello\n", size);
    if (peer->manner == SLOTS_SAYS_OTHER) {
        if (send(peer->connection, "no.", 3, MSG_NOSIGNAL) != 3)
            perror("slots_peer");
    } else if (peer->manner == SLOTS_HANGS_UP) {
        close_descriptor(&peer->connection);
    } else if (peer->manner != SLOTS_SAYS_NOTHING) {
        send_answer(peer, peer->manner != SLOTS_GIVES_NO_FDS && peer->answer.status == 0);
    }
    return NULL;
}

/* Connections that nobody accepts, until the queue takes no more. */
static void fill_queue(slots_peer *peer)
{
    struct sockaddr_un address = address_of(peer);
    for (int i = 0; i < 4; i++) {
        peer->fillers[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(peer->fillers[i], (struct sockaddr *)&address, sizeof address) < 0)
            return;
    }
    fail_msg("the queue of a socket that accepts nobody takes four connections");
}

void slots_peer_accept(slots_peer *peer)
{
    if (peer->manner == SLOTS_ACCEPTS_NOBODY) {
        fill_queue(peer);
        return;
    }
    if (peer->manner == SLOTS_GIVES_SHORT)
        assert_int_equal(ftruncate(peer->memory_fd, (off_t)(peer->answer.slots * SLOT_BYTES / 2)),
                         0);
    assert_int_equal(pthread_create(&peer->thread, NULL, answer_hello, peer), 0);
    peer->is_accepting = true;
}

void slots_peer_join(slots_peer *peer)
{
    if (peer->is_accepting)
        pthread_join(peer->thread, NULL);
    peer->is_accepting = false;
}

size_t slots_peer_receive(slots_peer *peer, unsigned char *bytes, size_t capacity)
{
    ssize_t size = recv(peer->connection, bytes, capacity, 0);
    assert_true(size >= 0);
    return (size_t)size;
}

void slots_peer_free_slot(slots_peer *peer, uint32_t slot)
{
    uint64_t generation =
        __atomic_load_n(peer->words + slot, __ATOMIC_ACQUIRE) >> CRN_SLOTS_STATE_BITS;
    __atomic_store_n(peer->words + slot, crn_slots_word(generation + 1, CRN_SLOTS_FREE),
                     __ATOMIC_RELEASE);
    const unsigned char wake = CRN_SLOTS_WAKE;
    if (send(peer->connection, &wake, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        assert_int_equal(errno, EAGAIN);
}

void slots_peer_die(slots_peer *peer)
{
    shutdown(peer->listener, SHUT_RDWR); /* for a thread that still waits for the hello */
    slots_peer_join(peer);
    close_descriptor(&peer->connection);
    close_descriptor(&peer->listener);
    for (int i = 0; i < 4; i++)
        close_descriptor(peer->fillers + i);
}

void slots_peer_close(slots_peer *peer)
{
    if (!peer->memory)
        return;
    slots_peer_die(peer);
    unlink(peer->path);
    munmap(peer->memory, peer->answer.slots * SLOT_BYTES);
    munmap(peer->words, crn_slots_states_bytes(peer->answer.slots));
    close_descriptor(&peer->memory_fd);
    close_descriptor(&peer->words_fd);
    peer->memory = NULL;
}
