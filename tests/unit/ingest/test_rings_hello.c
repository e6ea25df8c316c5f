/* Rings of slots: producers whose hello comes while the line has other work, or cannot start. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/gpu/fake_export.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/sanitized.h"
#include "tests/unit/ingest/rings_fixture.h"

static sem_t begun, go_on;

/* A device that takes long to pin a ring. */
static int pin_slowly(int32_t device, void *memory, size_t bytes)
{
    (void)device, (void)memory, (void)bytes;
    sem_post(&begun);
    while (sem_wait(&go_on) < 0)
        continue;
    return 0;
}

static void unpin(void *memory)
{
    (void)memory;
}

static int open_slow(void **state)
{
    (void)state;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    return open_slots_for(4, (crn_slots_devices){.pin = pin_slowly, .unpin = unpin});
}

static void say_hello(int connection)
{
    const crn_slots_hello hello = {1, CRN_SLOTS_MEMFD, 4, 4096, {0}};
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_slots_pack_hello(&hello, bytes);
    assert_int_equal(send(connection, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
}

static void expect_ring(int connection)
{
    unsigned char bytes[CRN_SLOTS_ANSWER_BYTES];
    crn_slots_answer answer;
    assert_int_equal(recv(connection, bytes, sizeof bytes, 0), sizeof bytes);
    assert_true(crn_slots_parse_answer(bytes, sizeof bytes, &answer));
    assert_int_equal(answer.status, 0);
}

/* Returns when the connections that were made before are accepted: they are in turn. */
static void wait_until_accepted(void)
{
    char byte = 0, answer[CRN_SLOTS_ANSWER_BYTES];
    int last = crn_raw_producer_connect(config.ingest.slots.path);
    assert_int_equal(send(last, &byte, 1, MSG_NOSIGNAL), 1);
    assert_int_equal(recv(last, answer, sizeof answer, 0), sizeof answer); /* refused */
    close(last);
}

static void a_hello_that_comes_while_a_ring_is_made_is_answered(void **state)
{
    (void)state;
    int one = crn_raw_producer_connect(config.ingest.slots.path);
    int other = crn_raw_producer_connect(config.ingest.slots.path);
    wait_until_accepted();
    say_hello(one);
    assert_int_equal(crn_sem_wait_until(&begun, crn_now_ns() + 60 * CRN_NS_PER_S), 0);
    say_hello(other);
    crn_clock_move(2 * CRN_NS_PER_S); /* so long the ring takes */
    sem_post(&go_on);
    sem_post(&go_on);
    expect_ring(one);
    expect_ring(other);
    close(one);
    close(other);
}

static void a_start_that_fails_closes_no_descriptor_of_others(void **state)
{
    (void)state;
#ifdef CRN_SANITIZED
    skip(); /* their calloc does not fail */
#endif
    struct rlimit before, little = {UINT64_C(1) << 33, 0};
    crn_error error;
    int null = open("/dev/null", O_RDONLY);
    assert_true(null >= 0 && dup2(null, 0) == 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    crn_config large = {.ingest.slots = {.path = "/nowhere", .slots = 1 << 30, .producers = 2}};
    int r = crn_slots_open(&large, 0, &(crn_slots_devices){0}, &slots, &error);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(r, -ENOMEM);
    assert_true(fcntl(0, F_GETFD) >= 0);
    close(null);
}

/* --- rings on a GPU that is lost --- */

static crn_gpu slow;

static int export_create_slowly(int32_t device, size_t bytes, crn_gpu_export *ret_export)
{
    sem_post(&begun);
    while (sem_wait(&go_on) < 0)
        continue;
    return crn_fake_gpu_export_create(device, bytes, ret_export);
}

static int open_on_gpu(void **state)
{
    (void)state;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    slow = *crn_fake_gpu(1, false);
    slow.export_create = export_create_slowly;
    crn_slots_devices devices = {.gpu = &slow, .gpus.count = 1};
    crn_fake_gpu_uuid(0, devices.gpus.of[0].uuid);
    return open_slots_for(4, devices);
}

/* Returns while the ring is made. */
static int say_hello_on_gpu(void)
{
    crn_slots_hello hello = {1, CRN_SLOTS_VMM, 4, 4096, {0}};
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_fake_gpu_uuid(0, hello.device);
    crn_slots_pack_hello(&hello, bytes);
    int connection = crn_raw_producer_connect(config.ingest.slots.path);
    assert_int_equal(send(connection, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    assert_int_equal(crn_sem_wait_until(&begun, crn_now_ns() + 60 * CRN_NS_PER_S), 0);
    return connection;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void a_ring_that_is_kept_before_it_was_offered_keeps_no_descriptor(void **state)
{
    (void)state;
    int before = count_descriptors(), exported = crn_fake_gpu_exported();
    int connection = say_hello_on_gpu();
    close(connection);
    crn_slots_lose(slots, 0);
    sem_post(&go_on);
    wait_until_accepted(); /* by the thread that made it, and left it, before */
    assert_true(crn_fake_gpu_exported() > exported);
    for (int ms = 0; ms < 10000 && count_descriptors() > before; ms++)
        poll(NULL, 0, 1); /* the last connection is closed after its answer */
    assert_int_equal(count_descriptors(), before);
}

/* The device was lost as the line ended, and no ring knows of it. */
static void a_ring_stays_where_memory_is_to_be_kept(void **state)
{
    (void)state;
    int exported = crn_fake_gpu_exported();
    int connection = say_hello_on_gpu();
    sem_post(&go_on);
    expect_ring(connection);
    crn_slots_keep(slots);
    crn_slots_close(&slots);
    assert_true(crn_fake_gpu_exported() > exported);
    close(connection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hello_that_comes_while_a_ring_is_made_is_answered,
                                        open_slow, close_slots),
        cmocka_unit_test_setup_teardown(
            a_ring_that_is_kept_before_it_was_offered_keeps_no_descriptor, open_on_gpu,
            close_slots),
        cmocka_unit_test_setup_teardown(a_ring_stays_where_memory_is_to_be_kept, open_on_gpu,
                                        close_slots),
        cmocka_unit_test(a_start_that_fails_closes_no_descriptor_of_others),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
