/* Threads for the parallel regions of a library's caller. */
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "stages/library/library.h"

/* What this thread knows of its teams. */
typedef struct team {
    pid_t process;      /* in which it had one; 0: none yet */
    int32_t tried, had; /* threads tried at most; those that could be started */
} team;

static _Thread_local team mine;

static void *wait_for_end(void *held)
{
    pthread_mutex_t *end = held;
    pthread_mutex_lock(end);
    pthread_mutex_unlock(end);
    return NULL;
}

/* Starts so many threads side by side and ends them. Returns the number that could be. */
static int32_t start_threads(int32_t count)
{
    pthread_mutex_t end = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = malloc((size_t)count * sizeof *threads);
    int32_t started = 0;
    if (!threads)
        return 0;
    pthread_mutex_lock(&end);
    while (started < count && pthread_create(&threads[started], NULL, wait_for_end, &end) == 0)
        started++;
    pthread_mutex_unlock(&end);
    for (int32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started;
}

int32_t crn_library_team(int32_t wanted)
{
    pid_t process = getpid();
    /* The child of a fork has none of the threads that libgomp remembers for its only one. */
    if (mine.process && mine.process != process)
        return 1;
    /* Within a region of the caller's own libgomp starts none, unless it was told to. */
    if (omp_get_active_level() >= omp_get_max_active_levels())
        return wanted;
    mine.process = process;
    if (wanted > mine.tried) {
        mine.tried = wanted;
        /* Fewer than could be: what remains is for the stacks and the memory of the region. */
        int32_t started = start_threads(wanted - 1);
        mine.had = started == wanted - 1 ? wanted : 1 + started / 2;
    }
    return wanted < mine.had ? wanted : mine.had;
}
