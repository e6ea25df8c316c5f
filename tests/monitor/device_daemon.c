/*
 * A daemon with a simulated device, to show on any machine what one that fails looks like from
 * outside: it vanishes on SIGUSR1, is kept busy from one SIGUSR2 to the next, and does not start if
 * the environment has DEVICE_FAILS. check_conditions.py and tests/service/check_service.py start
 * it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/base/log.h"
#include "stages/config/config.h"
#include "src/line/line.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"

#define CORES 2

/* The device stands still so often, */
#define BUSY_EVERY_NS (1500 * CRN_NS_PER_MS)

/* and longer each time: more than half of the time after which it would count as lost, which grows
 * with the batches that it saw, up to half of a budget of 4 s. */
static const int64_t busy_ns[] = {650 * CRN_NS_PER_MS, 900 * CRN_NS_PER_MS, 1100 * CRN_NS_PER_MS};

static crn_line *line;
static sem_t toggled;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    else if (number == SIGUSR2)
        sem_post(&toggled);
    else
        crn_line_stop(line);
}

static bool await_toggle(int64_t for_ns)
{
    return crn_sem_wait_until(&toggled, crn_now_ns() + for_ns) == 0;
}

static void *keep_busy(void *unused)
{
    for (;;) {
        while (sem_wait(&toggled) != 0)
            continue;
        size_t last = sizeof busy_ns / sizeof *busy_ns - 1;
        bool ended = false;
        for (size_t i = 0; !ended; i += i < last) {
            crn_faulty_gpu_set(CRN_GPU_HANGS, 0);
            ended = await_toggle(busy_ns[i]);
            crn_faulty_gpu_set(CRN_GPU_SOUND, 0);
            ended = ended || await_toggle(BUSY_EVERY_NS - busy_ns[i]);
        }
    }
    return unused;
}

static int run(const crn_config *config)
{
    crn_error error = {""};
    char starting[CRN_SERVICE_STATUS_BYTES];
    crn_line_starting(starting);
    crn_service_start(starting);
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(1, false));
    if (getenv("DEVICE_FAILS"))
        crn_faulty_gpu_set(CRN_GPU_FAILS, 0);
    int r = crn_line_open(config, gpu, &line, &error);
    pthread_t busy;
    if (r == 0 && (r = -pthread_create(&busy, NULL, keep_busy, NULL)) == 0) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGUSR2, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        r = crn_line_run(line, &error);
        crn_line_close(&line);
        crn_service_stop("");
    }
    if (r < 0)
        fprintf(stderr, "device_daemon: %s\n", error.text);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static crn_config config;
    if (argc != 3) {
        fprintf(stderr, "usage: device_daemon --config FILE\n");
        return 2;
    }
    if (crn_config_load(argv[2], stderr, &config) < 0)
        return EXIT_FAILURE;
    config.file = argv[2];
    crn_config_hash(&config, &config.hash, NULL);
    crn_config_resolve(&config, CORES);
    crn_log_set_level((crn_log_level)config.log.level);
    sem_init(&toggled, 0, 0);
    int status = run(&config);
    crn_config_done(&config);
    return status;
}
