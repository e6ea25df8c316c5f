/* Rings of slots: producers whose hello comes while the line has other work, or cannot start. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hello_that_comes_while_a_ring_is_made_is_answered,
                                        open_slow, close_slots),
        cmocka_unit_test(a_start_that_fails_closes_no_descriptor_of_others),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
