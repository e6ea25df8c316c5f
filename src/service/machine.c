#include "src/service/machine.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

void crn_machine_memory(uint64_t *ret_address_space_bytes, uint64_t *ret_resident_bytes)
{
    uint64_t pages = 0, resident = 0, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *sizes = fopen("/proc/self/statm", "re");
    if (sizes && fscanf(sizes, "%" SCNu64 " %" SCNu64, &pages, &resident) != 2)
        pages = resident = 0;
    if (sizes)
        fclose(sizes);
    *ret_address_space_bytes = pages * page_bytes;
    *ret_resident_bytes = resident * page_bytes;
}

static uint64_t open_descriptors(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count > 0 ? count - 1 : 0; /* one of them is the folder itself */
}

static double cpu_s(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

void crn_machine_read(crn_machine *ret_machine)
{
    uint64_t address_space_bytes, resident_bytes;
    crn_machine_memory(&address_space_bytes, &resident_bytes);
    *ret_machine = (crn_machine){
        .resident_bytes = resident_bytes,
        .descriptors = open_descriptors(),
        .cpu_s = cpu_s(),
    };
}
