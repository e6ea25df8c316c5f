/* Isolated CPUs, hyper-threads and NUMA nodes, against the CPUs that the file gives to threads. */
#include "src/realtime/realtime.h"
#include "src/self_check/internal.h"
#include "stages/base/process/cpus.h"

#define COST_SHARED                                                                                \
    "other programs and the kernel's own work run on these CPUs: the scheduler lets them finish "  \
    "a time slice of some milliseconds unless the line is in real time"
#define COST_UNUSED "these CPUs stand idle: no thread runs there unless it is assigned to them"
#define COST_SIBLINGS                                                                              \
    "two hardware threads share one core's units and caches: while a worker computes, the line's " \
    "thread runs at about half its speed"
#define COST_NODES                                                                                 \
    "memory of the other node is slower by half or more, and slots lie where they are first "      \
    "written"

static void check_isolation(crn_self_check *check)
{
    cpu_set_t isolated, tickless, pinned, outside;
    char text[CRN_CPUS_TEXT], more[CRN_CPUS_TEXT], ticks[CRN_CPUS_TEXT];
    if (!crn_self_check_read_cpus(check, &isolated, "/sys/devices/system/cpu/isolated"))
        CPU_ZERO(&isolated);
    if (!crn_self_check_read_cpus(check, &tickless, "/sys/devices/system/cpu/nohz_full"))
        CPU_ZERO(&tickless);
    CPU_ZERO(&pinned);
    for (int role = 0; check->config && role <= CRN_THREAD_WORKER; role++) {
        cpu_set_t cpus = crn_realtime_cpus(check->config, (crn_thread_role)role, -1);
        CPU_OR(&pinned, &pinned, &cpus);
    }
    crn_cpus_text(&isolated, text);
    crn_cpus_text(&tickless, ticks);
    CPU_AND(&outside, &pinned, &isolated);
    CPU_XOR(&outside, &outside, &pinned);
    bool any = CPU_COUNT(&isolated) > 0, given = CPU_COUNT(&pinned) > 0;
    if (!given && any)
        crn_self_check_add(check, "isolated CPUs", CRN_FINDING_NOTE, COST_UNUSED,
                           "realtime: {line_cpus: …, worker_cpus: …} in the line's file",
                           "isolcpus %s, nohz_full %s; the line is pinned to none", text, ticks);
    else if (given && CPU_COUNT(&outside) > 0)
        crn_self_check_add(check, "isolated CPUs", CRN_FINDING_NOTE, COST_SHARED,
                           "isolcpus= and nohz_full= with these CPUs on the kernel's command line",
                           "isolcpus %s, nohz_full %s; the line also uses %s", text, ticks,
                           crn_cpus_text(&outside, more));
    else
        crn_self_check_add(check, "isolated CPUs", CRN_FINDING_OK, NULL, NULL,
                           "isolcpus %s, nohz_full %s; the line is pinned to %s", text, ticks,
                           crn_cpus_text(&pinned, more));
}

/* CPUs that share a core with one of `cpus`; false if the machine does not tell. */
static bool find_siblings(const crn_self_check *check, const cpu_set_t *cpus,
                          cpu_set_t *ret_siblings)
{
    bool known = false;
    CPU_ZERO(ret_siblings);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t core;
        if (!CPU_ISSET(cpu, cpus) ||
            !crn_self_check_read_cpus(
                check, &core, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
            continue;
        known = true;
        CPU_CLR(cpu, &core);
        CPU_OR(ret_siblings, ret_siblings, &core);
    }
    return known;
}

static void check_siblings(crn_self_check *check)
{
    static const char name[] = "hyper-threads";
    cpu_set_t all = crn_self_check_cpus(check), line, workers, siblings;
    char text[CRN_CPUS_TEXT];
    CPU_ZERO(&line);
    CPU_ZERO(&workers);
    if (check->config) {
        line = crn_realtime_cpus(check->config, CRN_THREAD_LINE, 0);
        workers = crn_realtime_cpus(check->config, CRN_THREAD_WORKER, -1);
    }
    bool given = CPU_COUNT(&line) > 0;
    if (!find_siblings(check, given ? &line : &all, &siblings)) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "the machine does not say which CPUs share a core");
        return;
    }
    if (given && CPU_COUNT(&workers) > 0)
        CPU_AND(&siblings, &siblings, &workers);
    if (CPU_COUNT(&siblings) == 0)
        crn_self_check_add(check, name, CRN_FINDING_OK, NULL, NULL,
                           given ? "the line's thread shares its core with no worker"
                                 : "off: each CPU is a core");
    else if (given)
        crn_self_check_add(
            check, name, CRN_FINDING_NOTE, COST_SIBLINGS, "leave them out of realtime.worker_cpus",
            "CPUs %s share the core of the line's thread", crn_cpus_text(&siblings, text));
    else
        crn_self_check_add(check, name, CRN_FINDING_NOTE, COST_SIBLINGS,
                           "realtime.line_cpus with a core of its own, or echo off "
                           ">/sys/devices/system/cpu/smt/control",
                           "on: CPUs share cores, and the line may share one with a worker");
}

static void check_nodes(crn_self_check *check)
{
    static const char name[] = "NUMA nodes";
    cpu_set_t nodes, cpus = crn_self_check_cpus(check), here;
    int used = 0;
    if (!crn_self_check_read_cpus(check, &nodes, "/sys/devices/system/node/online")) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL,
                           "the machine does not say");
        return;
    }
    for (int node = 0; node < CPU_SETSIZE; node++)
        if (CPU_ISSET(node, &nodes) &&
            crn_self_check_read_cpus(check, &here, "/sys/devices/system/node/node%d/cpulist",
                                     node)) {
            CPU_AND(&here, &here, &cpus);
            used += CPU_COUNT(&here) > 0;
        }
    crn_self_check_add(check, name, used > 1 ? CRN_FINDING_NOTE : CRN_FINDING_OK, COST_NODES,
                       "numactl --cpunodebind=0 --membind=0 cernitad … (NUMAPolicy=bind, "
                       "NUMAMask=0 and CPUAffinity=numa in the unit)",
                       "%d, the line uses %d", CPU_COUNT(&nodes), used > 1 ? used : 1);
}

void crn_self_check_topology(crn_self_check *check)
{
    check_isolation(check);
    check_siblings(check);
    check_nodes(check);
}
