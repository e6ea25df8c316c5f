#include "src/self_check/self_check.h"

#include <stdlib.h>

#include "src/self_check/internal.h"

#define WAKE_UPS   1000
#define DISK_BYTES (16 << 20)

/* Fills in all rows. Takes some seconds, as it measures. */
static void run(crn_self_check *check)
{
    static void (*const concerns[])(crn_self_check *) = {
        crn_self_check_frequency, crn_self_check_idle,    crn_self_check_topology,
        crn_self_check_limits,    crn_self_check_cgroup,  crn_self_check_memory,
        crn_self_check_clock,     crn_self_check_wake_up, crn_self_check_network,
        crn_self_check_disk,      crn_self_check_pcie,    crn_self_check_gpu};
    for (size_t i = 0; i < sizeof concerns / sizeof *concerns; i++)
        concerns[i](check);
}

int crn_self_check_command(const crn_config *config, const crn_gpu *gpu, const char *no_gpu,
                           bool json)
{
    static crn_self_check check;
    check = (crn_self_check){.root = "",
                             .config = config,
                             .gpu = gpu,
                             .no_gpu = no_gpu,
                             .adjtimex = adjtimex,
                             .wake_ups = WAKE_UPS,
                             .disk_bytes = DISK_BYTES};
    run(&check);
    if (json)
        crn_self_check_print_json(&check, stdout);
    else
        crn_self_check_print(&check, stdout);
    return crn_self_check_count(&check, CRN_FINDING_BAD) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
