/* Daemons that start at once with the same control.path. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/service/listener.h"
#include "tests/support/cmocka_prelude.h"

#define DAEMONS 8
#define ROUNDS  300

static char folder[64], path[80];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cernita-listener-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/control", folder);
    return 0;
}

/* Fails if anything is left in the folder. */
static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* One of the daemons: an open file each, as processes have. */
typedef struct starter {
    pthread_t thread;
    pthread_barrier_t *all;
    int result;
    crn_error error;
    crn_listener listener;
} starter;

static void *start(void *context)
{
    starter *self = context;
    self->listener.descriptor = -1;
    pthread_barrier_wait(self->all);
    self->result = crn_listener_open("control.path", path, &self->listener, &self->error);
    return NULL;
}

/* What a killed daemon leaves: a socket's file that nobody listens on. */
static void leave_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    close(descriptor);
}

static void expect_listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    close(descriptor);
}

static void one_of_many_that_start_at_once_listens(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        starter starters[DAEMONS] = {0};
        pthread_barrier_t all;
        int listening = 0;
        if (round % 2)
            leave_socket();
        assert_int_equal(pthread_barrier_init(&all, NULL, DAEMONS), 0);
        for (int i = 0; i < DAEMONS; i++) {
            starters[i].all = &all;
            assert_int_equal(pthread_create(&starters[i].thread, NULL, start, &starters[i]), 0);
        }
        for (int i = 0; i < DAEMONS; i++) {
            assert_int_equal(pthread_join(starters[i].thread, NULL), 0);
            listening += starters[i].result == 0;
            if (starters[i].result != 0 && starters[i].result != -EADDRINUSE)
                fail_msg("%d: %s", starters[i].result, starters[i].error.text);
        }
        pthread_barrier_destroy(&all);
        assert_int_equal(listening, 1);
        expect_listener();
        for (int i = 0; i < DAEMONS; i++)
            crn_listener_close(&starters[i].listener);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* The message names the process that holds the path's lock; closing the listener frees it. */
static void the_one_that_listens_is_named(void **state)
{
    (void)state;
    crn_listener first, second;
    crn_error error;
    char holder[32];
    assert_int_equal(crn_listener_open("control.path", path, &first, &error), 0);
    assert_int_equal(crn_listener_open("control.path", path, &second, &error), -EADDRINUSE);
    snprintf(holder, sizeof holder, "(process %ld)", (long)getpid());
    assert_non_null(strstr(error.text, "is in use by another daemon"));
    assert_non_null(strstr(error.text, holder));
    crn_listener_close(&first);
    assert_int_equal(crn_listener_open("control.path", path, &second, &error), 0);
    crn_listener_close(&second);
}

/* One that cannot listen leaves nothing in the way of the next. */
static void a_start_that_fails_lets_go_of_the_path(void **state)
{
    (void)state;
    crn_listener listener;
    crn_error error;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), -EEXIST);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), 0);
    crn_listener_close(&listener);
}

/* As many producers may do after a restart of the daemon, before it accepts the first. */
static void many_may_connect_at_once(void **state)
{
    (void)state;
    crn_listener listener;
    crn_error error;
    int waiting[40];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), 0);
    for (int i = 0; i < 40; i++) {
        waiting[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_int_equal(connect(waiting[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    for (int i = 0; i < 40; i++)
        close(waiting[i]);
    crn_listener_close(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_of_many_that_start_at_once_listens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_one_that_listens_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_may_connect_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_that_fails_lets_go_of_the_path, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
