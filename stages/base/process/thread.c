#include "stages/base/process/thread.h"

#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

/* A blocked fault would end the process without its handler. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

int crn_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* a new thread inherits the mask */
    int r = -pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static void *wait_for_end(void *end)
{
    while (sem_wait(end) != 0)
        continue;
    return NULL;
}

int crn_thread_room(int count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    sem_t end;
    int started = 0;
    if (!threads)
        return 0;
    sem_init(&end, 0, 0);
    while (started < count && crn_thread_start(&threads[started], wait_for_end, &end) == 0)
        started++;
    for (int i = 0; i < started; i++)
        sem_post(&end);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&end);
    free(threads);
    return started;
}
