/* Connections that end, by either side, and what comes after them. */
#include "stages/producer/cernita_producer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/slots/slots_peer.h"

#define PATIENCE_MS 60000

typedef struct ends_fixture {
    slots_peer peer;
    crn_producer *producer;
} ends_fixture;

static const crn_producer_view view = {
    .height = 2, .width = 3, .channels = 4, .type = CRN_PRODUCER_U8, .layout = CRN_PRODUCER_CHW};

static void listen_for_producer(ends_fixture *f, uint32_t slots)
{
    char path[96];
    snprintf(path, sizeof path, "%s/slots", test_folder);
    slots_peer_listen(&f->peer, path, slots);
    slots_peer_accept(&f->peer);
}

static void connect_to_peer(ends_fixture *f, uint32_t slots)
{
    listen_for_producer(f, slots);
    assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), 0);
    slots_peer_join(&f->peer);
}

static int set_up(void **state)
{
    ends_fixture *f = calloc(1, sizeof *f);
    char path[96];
    *state = f;
    if (!f || test_folder_make(NULL) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/slots", test_folder);
    const crn_producer_settings settings = {.path = path, .view_bytes = 24};
    if (crn_producer_create(&settings, &f->producer) < 0)
        return -1;
    connect_to_peer(f, 3);
    return 0;
}

static int tear_down(void **state)
{
    ends_fixture *f = *state;
    crn_producer_free(&f->producer);
    slots_peer_close(&f->peer);
    free(f);
    return test_folder_remove(NULL);
}

static void take(ends_fixture *f, crn_producer_slot *ret_slot)
{
    assert_int_equal(crn_producer_take(f->producer, &view, 0, ret_slot), 0);
}

/* Receives a packet of that size; 0: the producer has left. */
static void receive(ends_fixture *f, size_t size)
{
    unsigned char packet[256];
    assert_int_equal(slots_peer_receive(&f->peer, packet, sizeof packet), size);
}

/* A daemon that was killed: the slot that is being written stays writable until it is sent; one
 * that is neither sent nor dropped keeps the memory. */
static void a_producer_outlives_its_daemon(void **state)
{
    ends_fixture *f = *state;
    crn_producer_slot slot, other;
    take(f, &slot);
    take(f, &other);
    slots_peer_close(&f->peer);
    memset(slot.tensor, 1, 24);
    assert_int_equal(crn_producer_send(f->producer, &view, &slot), -ENOTCONN);
    assert_non_null(strstr(crn_producer_error(f->producer), "the daemon has ended: call "));
    assert_null(slot.tensor);
    assert_int_equal(crn_producer_take(f->producer, &view, -1, &slot), -ENOTCONN);
    assert_int_equal(crn_producer_send_without(f->producer, &view), -ENOTCONN);
    assert_int_equal(crn_producer_connect(f->producer, 0), -EBUSY);
    assert_non_null(strstr(crn_producer_error(f->producer), "drop it first"));
    memset(other.tensor, 2, 24);
    crn_producer_drop(f->producer, &other);
    assert_int_equal(crn_producer_connect(f->producer, 0), -ENOENT);
    connect_to_peer(f, 4);
    take(f, &slot);
    assert_int_equal(crn_producer_send(f->producer, &view, &slot), 0);
    receive(f, 152);
}

/* One turn of the loop that cernita_producer.h shows. The daemon ends where maps would be
 * written. */
static int turn(ends_fixture *f, slots_peer *ends)
{
    crn_producer_slot slot;
    int result = crn_producer_take(f->producer, &view, 0, &slot);
    if (result == 0) {
        if (ends)
            slots_peer_close(ends);
        result = crn_producer_send(f->producer, &view, &slot);
        if (result == -EAGAIN)
            crn_producer_drop(f->producer, &slot);
    } else if (result == -EAGAIN) {
        result = crn_producer_send_without(f->producer, &view);
    } else if (result == -ENOTCONN) {
        result = crn_producer_connect(f->producer, PATIENCE_MS);
    }
    return result;
}

static void the_loop_of_the_header_connects_again(void **state)
{
    ends_fixture *f = *state;
    assert_int_equal(turn(f, &f->peer), -ENOTCONN);
    assert_int_equal(turn(f, NULL), -ENOENT);
    listen_for_producer(f, 1);
    assert_int_equal(turn(f, NULL), 0);
    slots_peer_join(&f->peer);
    assert_int_equal(turn(f, NULL), 0);
    receive(f, 152);
    assert_int_equal(turn(f, NULL), 0);
    receive(f, 128);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static int count_mappings(void)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, "memfd") != NULL;
    fclose(file);
    return count;
}

static void connecting_again_leaves_nothing_behind(void **state)
{
    ends_fixture *f = *state;
    int descriptors = count_descriptors(), mappings = count_mappings();
    slots_peer_close(&f->peer);
    connect_to_peer(f, 3);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_mappings(), mappings);
}

static void a_slot_of_an_earlier_connection_is_refused(void **state)
{
    ends_fixture *f = *state;
    crn_producer_slot slot, old;
    take(f, &slot);
    old = slot;
    crn_producer_drop(f->producer, &slot);
    slots_peer_close(&f->peer);
    connect_to_peer(f, 3);
    assert_int_equal(crn_producer_send(f->producer, &view, &old), -ESTALE);
    assert_int_equal(crn_producer_send(f->producer, &view, &slot), -ESTALE);
    crn_producer_drop(f->producer, &old);
    assert_int_equal(f->peer.words[0], 0);
}

/* A child that has a copy of all: it frees it where `frees`, and lives on. Returns when it has. */
static void fork_child(ends_fixture *f, bool frees)
{
    int said[2];
    char byte = 1;
    assert_int_equal(pipe(said), 0);
    if (crn_cleanup_fork() == 0) {
        close(f->peer.connection);
        if (frees)
            crn_producer_free(&f->producer);
        if (write(said[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    close(said[0]);
}

/* What the daemon receives now: 0 where the producer has left, -EAGAIN where it is silent. */
static ssize_t receive_now(const ends_fixture *f)
{
    char byte;
    ssize_t size = recv(f->peer.connection, &byte, 1, MSG_DONTWAIT);
    return size < 0 ? -errno : size;
}

static void it_leaves_though_a_forked_child_lives(void **state)
{
    ends_fixture *f = *state;
    fork_child(f, false);
    assert_int_equal(crn_producer_send_without(f->producer, &view), 0);
    crn_producer_free(&f->producer);
    receive(f, 128); /* what was sent before still arrives */
    assert_int_equal(receive_now(f), 0);
}

static void connecting_again_ends_the_former_connection_though_a_child_lives(void **state)
{
    ends_fixture *f = *state;
    slots_peer former = f->peer;
    fork_child(f, false);
    connect_to_peer(f, 3);
    slots_peer latter = f->peer;
    f->peer = former;
    ssize_t received = receive_now(f);
    slots_peer_close(&f->peer);
    f->peer = latter;
    assert_int_equal(received, 0);
}

static void a_forked_child_that_frees_its_copy_ends_nothing(void **state)
{
    ends_fixture *f = *state;
    fork_child(f, true);
    assert_int_equal(receive_now(f), -EAGAIN);
    assert_int_equal(crn_producer_send_without(f->producer, &view), 0);
    receive(f, 128);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_producer_outlives_its_daemon),
        cmocka_unit_test(the_loop_of_the_header_connects_again),
        cmocka_unit_test(connecting_again_leaves_nothing_behind),
        cmocka_unit_test(a_slot_of_an_earlier_connection_is_refused),
        cmocka_unit_test(it_leaves_though_a_forked_child_lives),
        cmocka_unit_test(connecting_again_ends_the_former_connection_though_a_child_lives),
        cmocka_unit_test(a_forked_child_that_frees_its_copy_ends_nothing),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
