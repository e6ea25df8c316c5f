/*
 * Producers that are stopped in mid-write, come and die by the dozen, or do with what they were
 * given all that a program can: a line judges the views of an honest one beside them, whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/decoded_verdict.h"
#include "tests/support/random.h"
#include "tests/support/slots/coded_view.h"

#define HONEST    1 /* lanes */
#define OTHER     2
#define PRODUCERS 8
#define STORM     50

static line_fixture line;
static crn_raw_producer honest, other;
static uint64_t sequence;

static int tear_down(void **state)
{
    (void)state;
    crn_raw_producer_close(&honest);
    crn_raw_producer_close(&other);
    return 0;
}

static const char *start(void)
{
    line_configure(&line, CRN_CODED_YAML "run: {backend: openmp, workers: 1, threads: 1}\n"
                                         "latency: {budget_ms: 60000, assemble_ms: 100}\n"
                                         "limits: {view_mib: 1}\n"
                                         "log: {level: error}\n");
    line.config.ingest.slots.slots = 4;
    line.config.ingest.slots.producers = PRODUCERS;
    const char *path = line_use_slots(&line);
    line_run(&line, NULL);
    crn_raw_producer_open(path, 4, CRN_CODED_BYTES, &honest);
    return path;
}

static crn_view_header header_of(uint32_t lane, uint64_t fruit)
{
    crn_view_header header = line_header(&line, fruit, 0, 1, CRN_CODED_HEIGHT, CRN_CODED_WIDTH);
    header.payload_bytes = CRN_CODED_BYTES;
    header.lane = lane;
    header.sequence = fruit;
    return header;
}

/* Writes and sends a view of a fruit of its own; `middle` (may be NULL) is called when half of it
 * is written. */
static void send_fruit(crn_raw_producer *producer, const crn_view_header *header,
                       void (*middle)(void))
{
    uint32_t slot = crn_raw_producer_take(producer);
    uint32_t number = crn_coded_number(header->lane, header->epoch, header->fruit, 0);
    void *maps = crn_raw_producer_slot(producer, slot);
    crn_coded_write(maps, number, 0, CRN_CODED_BYTES / 2);
    if (middle)
        middle();
    crn_coded_write(maps, number, CRN_CODED_BYTES / 2, CRN_CODED_BYTES);
    crn_raw_producer_send(producer, slot, header);
}

/* Reads verdicts until the next one of that lane, whose view must be whole; its fruit. */
static uint64_t expect_whole(uint32_t lane)
{
    uint64_t of = OTHER, fruit = 0;
    for (of = !lane; of != lane;) {
        crn_decoded *verdict = line_receive_decoded(&line);
        of = verdict->lane;
        fruit = verdict->fruit;
        if (of == lane)
            assert_true(verdict->kind == CRN_VERDICT_COMPLETE && crn_coded_is_whole(verdict, 0));
        crn_decoded_free(&verdict);
    }
    return fruit;
}

/* The honest producer's next fruits, one after the other. */
static void expect_honest(uint64_t fruits)
{
    for (uint64_t end = sequence + fruits; sequence < end; sequence++) {
        crn_view_header header = header_of(HONEST, sequence);
        send_fruit(&honest, &header, NULL);
        assert_int_equal(expect_whole(HONEST), sequence);
    }
}

static pid_t start_process(void (*run)(uint32_t number), uint32_t number)
{
    pid_t child = crn_cleanup_fork();
    if (child == 0) {
        run(number);
        _exit(0);
    }
    return child;
}

/* --- stopped --- */

static void stop_here(void)
{
    raise(SIGSTOP);
}

static void send_and_stop_in_between(uint32_t fruits)
{
    crn_raw_producer_open(line.config.ingest.slots.path, 4, CRN_CODED_BYTES, &other);
    for (uint64_t fruit = 0; fruit < fruits; fruit++) {
        crn_view_header header = header_of(OTHER, fruit);
        send_fruit(&other, &header, stop_here);
    }
    pause();
}

static void a_producer_that_is_stopped_in_mid_write_holds_nobody_up(void **state)
{
    (void)state;
    int status;
    start();
    pid_t stopped = start_process(send_and_stop_in_between, 10);
    for (uint64_t fruit = 0; fruit < 10; fruit++) {
        assert_int_equal(waitpid(stopped, &status, WUNTRACED), stopped);
        assert_true(WIFSTOPPED(status));
        expect_honest(10);
        kill(stopped, SIGCONT);
        assert_int_equal(expect_whole(OTHER), fruit);
    }
    kill(stopped, SIGKILL);
    crn_cleanup_wait(stopped, NULL);
    expect_honest(10);
    line_stop(&line);
    assert_int_equal(line.metrics.slots.slots_taken_back, 0);
}

/* --- a storm --- */

/* Comes, and dies at one of the protocol's steps. */
static void come_and_die(uint32_t number)
{
    const char *path = line.config.ingest.slots.path;
    const crn_slots_hello hello = {CRN_SLOTS_VERSION, CRN_SLOTS_MEMFD, 4, CRN_CODED_BYTES, {0}};
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_random random = {number};
    for (int i = 0; i < 10; i++) {
        uint32_t step = crn_random_below(&random, 4);
        if (step == 3) { /* in mid-write, after some views */
            crn_raw_producer_open_when_free(path, 4, CRN_CODED_BYTES, &other);
            for (uint64_t fruit = crn_random_below(&random, 4); fruit > 0; fruit--) {
                crn_view_header header = header_of(OTHER + number, fruit);
                header.epoch = (uint64_t)getpid() * 10 + (uint64_t)i;
                send_fruit(&other, &header, NULL);
            }
            crn_raw_producer_take(&other);
            crn_raw_producer_close(&other);
            continue;
        }
        int connection = crn_raw_producer_connect(path);
        crn_slots_pack_hello(&hello, bytes);
        if (step > 0) /* before the hello, in its middle, or before the answer */
            send(connection, bytes, step == 1 ? 20 : sizeof bytes, MSG_NOSIGNAL);
        close(connection);
    }
}

static int count_descriptors(void)
{
    int count = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        count += fcntl(descriptor, F_GETFD) >= 0;
    return count;
}

/* The line closes connections once it has read their end. There may be fewer than before: who
 * answers a hello closes its descriptors a moment after that. */
static void expect_descriptors(int at_most)
{
    int64_t until_ns = crn_now_ns() + CRN_FIXTURE_PATIENCE_MS * CRN_NS_PER_MS;
    while (count_descriptors() > at_most && crn_now_ns() < until_ns)
        sched_yield();
    assert_true(count_descriptors() <= at_most);
}

static void a_storm_of_producers_leaves_nothing_behind(void **state)
{
    (void)state;
    static pid_t process[STORM];
    crn_raw_producer all[PRODUCERS - 1];
    const char *path = start();
    expect_honest(1);
    int before = count_descriptors();
    for (uint32_t i = 0; i < STORM; i++)
        process[i] = start_process(come_and_die, i);
    for (uint32_t i = 0; i < STORM; i++) {
        int status;
        expect_honest(4);
        assert_int_equal(crn_cleanup_wait(process[i], &status), process[i]);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < PRODUCERS - 1; i++) /* every ring is free again */
        crn_raw_producer_open_when_free(path, 4, CRN_CODED_BYTES, &all[i]);
    for (int i = 0; i < PRODUCERS - 1; i++)
        crn_raw_producer_close(&all[i]);
    crn_raw_producer_open_when_free(path, 4, CRN_CODED_BYTES, &other);
    crn_raw_producer_close(&other);
    expect_honest(10);
    expect_descriptors(before);
    line_stop(&line);
}

/* --- what a program can do with its descriptors --- */

static void spoil_descriptors(crn_random *random)
{
    static const int flags[] = {O_APPEND, O_NONBLOCK, O_APPEND | O_NONBLOCK | O_NOATIME, 0};
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++) {
        int fd = other.descriptor[i];
        off_t size = i == 0 ? (off_t)(other.answer.slots * other.answer.slot_bytes)
                            : (off_t)crn_slots_states_bytes(other.answer.slots);
        off_t at = crn_random_below(random, (uint32_t)size);
        assert_true(ftruncate(fd, at) < 0);
        assert_true(ftruncate(fd, size + 4096) < 0);
        assert_true(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0);
        assert_true(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0);
        fcntl(fd, F_SETFL, flags[crn_random_below(random, 4)]);
        fcntl(other.connection, F_SETFL, flags[crn_random_below(random, 4)] & ~O_NONBLOCK);
        fchmod(fd, 0);
        assert_int_equal(
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at & ~4095, size - at), 0);
        fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096);
        fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, size);
        flock(fd, LOCK_EX | LOCK_NB);
    }
    madvise(other.slots, other.answer.slots * other.answer.slot_bytes, MADV_REMOVE);
}

/* Its maps, and where its words lie, are its own matter. A hole reads as zeros. */
static void holes_and_flags_are_the_producers_own_matter(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    crn_raw_producer_open(start(), 4, CRN_CODED_BYTES, &other);
    for (uint64_t fruit = 0; fruit < 100; fruit++) {
        crn_view_header header = header_of(OTHER, fruit);
        uint32_t slot = (uint32_t)fruit % 4;
        crn_slots_reference reference = {other.answer.ring, fruit / 4, slot};
        header.flags = CRN_SLOTS_FLAG_IN_SLOT;
        spoil_descriptors(&random);
        crn_raw_producer_send_packet(&other, &header, &reference);
        spoil_descriptors(&random);
        expect_honest(1);
    }
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.complete, 200);
}

/* Sends a packet with descriptors; false: the kernel lets nobody send them to the line. */
static bool send_with_descriptors(int connection, const void *bytes, size_t size, const int *fds,
                                  int count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec vector = {(void *)(uintptr_t)bytes, size};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(rights), fds, (size_t)count * sizeof(int));
    ssize_t sent = sendmsg(connection, &message, MSG_NOSIGNAL);
    assert_true(sent == (ssize_t)size || (sent < 0 && errno == EPERM));
    return sent >= 0;
}

/* They could take as long to be closed as their sender likes. */
static void descriptors_that_are_sent_do_not_stay(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    crn_raw_producer_open(start(), 4, CRN_CODED_BYTES, &other);
    expect_honest(1);
    int before = count_descriptors();
    const int fds[] = {ends[0], ends[1], other.connection, other.descriptor[0], STDIN_FILENO};
    bool taken = false;
    for (int i = 0; i < 100; i++) {
        const crn_slots_hello hello = {CRN_SLOTS_VERSION, 9, 4, 4096, {0}};
        unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
        crn_slots_pack_hello(&hello, bytes);
        int connection = crn_raw_producer_connect(line.config.ingest.slots.path);
        taken |= send_with_descriptors(connection, bytes, sizeof bytes, fds, 5);
        close(connection);
        taken |= send_with_descriptors(other.connection, bytes, sizeof bytes, fds, 5);
        expect_honest(1);
    }
    close(ends[0]);
    close(ends[1]);
    expect_descriptors(before);
    line_stop(&line);
    if (taken)
        print_message("this kernel, before Linux 6.16, lets them be sent\n");
}

int main(void)
{
#define ON_LINE(test) cmocka_unit_test_teardown(test, tear_down)
    const struct CMUnitTest tests[] = {
        ON_LINE(a_producer_that_is_stopped_in_mid_write_holds_nobody_up),
        ON_LINE(a_storm_of_producers_leaves_nothing_behind),
        ON_LINE(holes_and_flags_are_the_producers_own_matter),
        ON_LINE(descriptors_that_are_sent_do_not_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
