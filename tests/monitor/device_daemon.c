/*
 * A daemon with a simulated device, which vanishes on SIGUSR1: to show on any machine what a lost
 * device looks like from outside. inject_faults.py and tests/service/check_service.py start it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/base/log.h"
#include "stages/config/config.h"
#include "src/line/line.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"

#define CORES 2

static crn_line *line;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    else
        crn_line_stop(line);
}

static int run(const crn_config *config)
{
    crn_error error = {""};
    char starting[CRN_SERVICE_STATUS_BYTES];
    crn_line_starting(starting);
    crn_service_start(starting);
    int r = crn_line_open(config, crn_faulty_gpu(crn_fake_gpu(1, false)), &line, &error);
    if (r == 0) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGUSR1, &action, NULL);
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
    int status = run(&config);
    crn_config_done(&config);
    return status;
}
