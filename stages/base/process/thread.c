#include "stages/base/process/thread.h"

#include <signal.h>
#include <stddef.h>

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
