#include "tests/support/slots/raw_producer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_export.h"

#define PATIENCE_MS 60000

int crn_raw_producer_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(connection >= 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    return connection;
}

bool crn_raw_producer_ask(int connection, const void *hello, size_t size,
                          crn_slots_answer *ret_answer, int ret_descriptors[CRN_SLOTS_DESCRIPTORS])
{
    unsigned char bytes[CRN_SLOTS_ANSWER_BYTES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(CRN_SLOTS_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++)
        ret_descriptors[i] = -1;
    send(connection, hello, size, MSG_NOSIGNAL);
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return false;
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights)
        memcpy(ret_descriptors, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
    assert_true(crn_slots_parse_answer(bytes, (size_t)got, ret_answer));
    return true;
}

static void *map(int descriptor, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

/* The answer's status. */
static uint32_t say_hello(const char *path, const crn_slots_hello *hello,
                          crn_raw_producer *producer)
{
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_slots_pack_hello(hello, bytes);
    *producer = (crn_raw_producer){.connection = crn_raw_producer_connect(path)};
    assert_true(crn_raw_producer_ask(producer->connection, bytes, sizeof bytes, &producer->answer,
                                     producer->descriptor));
    if (producer->answer.status) {
        close(producer->connection);
        return producer->answer.status;
    }
    producer->slots =
        map(producer->descriptor[0], producer->answer.slots * producer->answer.slot_bytes);
    producer->kind = hello->kind;
    producer->states =
        map(producer->descriptor[1], crn_slots_page_bytes(hello->kind, producer->answer.slots));
    return 0;
}

static uint32_t try_open(const char *path, uint32_t slots, uint64_t slot_bytes,
                         crn_raw_producer *producer)
{
    const crn_slots_hello hello = {.version = CRN_SLOTS_VERSION,
                                   .kind = CRN_SLOTS_MEMFD,
                                   .slots = slots,
                                   .slot_bytes = slot_bytes};
    return say_hello(path, &hello, producer);
}

static uint32_t try_vmm(const char *path, int32_t device, uint64_t slot_bytes,
                        crn_raw_producer *producer)
{
    crn_slots_hello hello = {
        .version = CRN_SLOTS_VERSION, .kind = CRN_SLOTS_VMM, .slot_bytes = slot_bytes};
    crn_fake_gpu_uuid(device, hello.device);
    return say_hello(path, &hello, producer);
}

void crn_raw_producer_open_vmm(const char *path, int32_t device, uint64_t slot_bytes,
                               crn_raw_producer *ret_producer)
{
    if (try_vmm(path, device, slot_bytes, ret_producer) != 0)
        fail_msg("refused: %s", ret_producer->answer.text);
}

void crn_raw_producer_expect_refusal(const char *path, int32_t device, uint32_t status,
                                     const char *part)
{
    crn_raw_producer producer;
    assert_int_equal(try_vmm(path, device, 4096, &producer), status);
    if (!strstr(producer.answer.text, part))
        fail_msg("'%s' does not have '%s'", producer.answer.text, part);
    assert_true(strlen(producer.answer.text) < CRN_SLOTS_TEXT_BYTES - 1); /* nothing was cut off */
}

const unsigned char *crn_raw_producer_signal(const crn_raw_producer *producer, uint32_t slot)
{
    return (const unsigned char *)producer->states + crn_slots_signals_at(producer->answer.slots) +
           (size_t)slot * CRN_SLOTS_SIGNAL_BYTES;
}

void crn_raw_producer_open(const char *path, uint32_t slots, uint64_t slot_bytes,
                           crn_raw_producer *ret_producer)
{
    if (try_open(path, slots, slot_bytes, ret_producer) != 0)
        fail_msg("refused: %s", ret_producer->answer.text);
}

void crn_raw_producer_open_when_free(const char *path, uint32_t slots, uint64_t slot_bytes,
                                     crn_raw_producer *ret_producer)
{
    uint32_t status;
    while ((status = try_open(path, slots, slot_bytes, ret_producer)) == EUSERS)
        poll(NULL, 0, 1);
    if (status)
        fail_msg("refused: %s", ret_producer->answer.text);
}

void crn_raw_producer_hang_up(crn_raw_producer *producer)
{
    if (producer->connection >= 0)
        close(producer->connection);
    producer->connection = -1;
}

void crn_raw_producer_close(crn_raw_producer *producer)
{
    crn_raw_producer_hang_up(producer);
    if (!producer->slots)
        return;
    munmap(producer->slots, producer->answer.slots * producer->answer.slot_bytes);
    munmap((void *)producer->states, crn_slots_page_bytes(producer->kind, producer->answer.slots));
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++)
        close(producer->descriptor[i]);
    producer->slots = NULL;
}

bool crn_raw_producer_is_free(const crn_raw_producer *producer, uint32_t slot)
{
    uint64_t word = atomic_load_explicit(&producer->states[slot], memory_order_acquire);
    return (word & 3) == CRN_SLOTS_FREE;
}

/* Reads the wakes that have come; waits for the first. */
static void wait_for_wake(crn_raw_producer *producer)
{
    unsigned char byte;
    struct pollfd polled = {.fd = producer->connection, .events = POLLIN};
    if (poll(&polled, 1, PATIENCE_MS) != 1)
        fail_msg("no slot became free");
    while (recv(producer->connection, &byte, 1, MSG_DONTWAIT) == 1)
        assert_int_equal(byte, CRN_SLOTS_WAKE);
}

uint32_t crn_raw_producer_take(crn_raw_producer *producer)
{
    for (;;) {
        for (uint32_t slot = 0; slot < producer->answer.slots; slot++)
            if (crn_raw_producer_is_free(producer, slot)) {
                atomic_fetch_or(&producer->states[slot], CRN_SLOTS_FILLING);
                return slot;
            }
        wait_for_wake(producer);
    }
}

unsigned char *crn_raw_producer_slot(const crn_raw_producer *producer, uint32_t slot)
{
    return producer->slots + slot * producer->answer.slot_bytes;
}

crn_slots_reference crn_raw_producer_refer(const crn_raw_producer *producer, uint32_t slot)
{
    return (crn_slots_reference){.ring = producer->answer.ring,
                                 .slot = slot,
                                 .generation =
                                     atomic_load(&producer->states[slot]) >> CRN_SLOTS_STATE_BITS};
}

void crn_raw_producer_send_packet(crn_raw_producer *producer, const crn_view_header *header,
                                  const crn_slots_reference *reference)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES];
    crn_wire_pack(header, bytes);
    if (reference)
        crn_slots_pack_reference(reference, bytes + CRN_WIRE_HEADER_BYTES);
    size_t size = reference ? sizeof bytes : CRN_WIRE_HEADER_BYTES;
    assert_int_equal(send(producer->connection, bytes, size, MSG_NOSIGNAL), size);
}

void crn_raw_producer_send(crn_raw_producer *producer, uint32_t slot, const crn_view_header *header)
{
    crn_view_header in_slot = *header;
    crn_slots_reference reference = crn_raw_producer_refer(producer, slot);
    in_slot.flags |= CRN_SLOTS_FLAG_IN_SLOT;
    atomic_store_explicit(&producer->states[slot],
                          crn_slots_word(reference.generation, CRN_SLOTS_SENT),
                          memory_order_release);
    crn_raw_producer_send_packet(producer, &in_slot, &reference);
}

void crn_raw_producer_send_none(crn_raw_producer *producer, const crn_view_header *header)
{
    crn_view_header alone = *header;
    alone.flags |= CRN_SLOTS_FLAG_NO_SLOT;
    crn_raw_producer_send_packet(producer, &alone, NULL);
}

void crn_raw_producer_fill(crn_raw_producer *producer, uint32_t slot, const crn_view_header *header,
                           const void *maps, const void *intensity)
{
    unsigned char *at = crn_raw_producer_slot(producer, slot);
    memcpy(at, maps, header->payload_bytes);
    if (intensity)
        memcpy(at + crn_slots_intensity_at(header->payload_bytes), intensity,
               (size_t)header->height * header->width);
}
