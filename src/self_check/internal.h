/* Shared by the files of this folder only: one function per concern, and how they read and add. */
#ifndef CRN_SRC_SELF_CHECK_INTERNAL_H
#define CRN_SRC_SELF_CHECK_INTERNAL_H

#include <sched.h>

#include "src/self_check/self_check.h"

/* In printing order. */
void crn_self_check_frequency(crn_self_check *check);
void crn_self_check_idle(crn_self_check *check);
void crn_self_check_topology(crn_self_check *check);
void crn_self_check_limits(crn_self_check *check);
void crn_self_check_cgroup(crn_self_check *check);
void crn_self_check_memory(crn_self_check *check);
void crn_self_check_clock(crn_self_check *check);
void crn_self_check_wake_up(crn_self_check *check);
void crn_self_check_network(crn_self_check *check);
void crn_self_check_disk(crn_self_check *check);
void crn_self_check_pcie(crn_self_check *check);
void crn_self_check_gpu(crn_self_check *check);

/* Adds a row; cost and cure (NULL: none) are dropped from rows that are OK. */
__attribute__((format(printf, 6, 7))) void
crn_self_check_add(crn_self_check *check, const char *name, crn_finding_level level,
                   const char *cost, const char *cure, const char *format, ...);

#define CRN_SELF_CHECK_TEXT 1024

/* The first line of a file below the root, without surrounding blanks. False if there is none. */
__attribute__((format(printf, 3, 4))) bool crn_self_check_read(const crn_self_check *check,
                                                               char ret_text[CRN_SELF_CHECK_TEXT],
                                                               const char *format, ...);

/* The file's number. */
__attribute__((format(printf, 3, 4))) bool crn_self_check_read_number(const crn_self_check *check,
                                                                      int64_t *ret_number,
                                                                      const char *format, ...);

/* What stands behind `label` in a file of labelled lines, as /proc/self/status. */
bool crn_self_check_read_field(const crn_self_check *check, const char *path, const char *label,
                               char ret_text[CRN_SELF_CHECK_TEXT]);
bool crn_self_check_read_field_number(const crn_self_check *check, const char *path,
                                      const char *label, int64_t *ret_number);

/* A file's list of CPUs. */
__attribute__((format(printf, 3, 4))) bool
crn_self_check_read_cpus(const crn_self_check *check, cpu_set_t *ret_cpus, const char *format, ...);

/* part / whole, `whole` above 0, in hundredths; what no 64 bits hold is the nearest that they do.
 */
int64_t crn_self_check_percent(int64_t part, int64_t whole);

/* CPUs that the file gives to the line's thread, libzmq's and the workers; else all online. */
cpu_set_t crn_self_check_cpus(const crn_self_check *check);

/* True if the process has the capability CAP_…. */
bool crn_self_check_capable(const crn_self_check *check, int capability);

#endif
