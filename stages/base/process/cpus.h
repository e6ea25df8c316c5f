/**
 * @file
 * Sets of CPUs in the kernel's notation: `0-3,8`, as in taskset, isolcpus= and sysfs.
 */
#ifndef CRN_STAGES_BASE_PROCESS_CPUS_H
#define CRN_STAGES_BASE_PROCESS_CPUS_H

#include <sched.h>

#include "stages/base/api.h"

/** Room for the text of a set; a longer one ends in `...`. */
#define CRN_CPUS_TEXT 160

/**
 * Parses a list of CPUs and ranges of them, in increasing order or not; an empty text is an empty
 * set.
 *
 * @param ret_cpus unchanged on failure
 * @return 0 or -EINVAL
 */
CRN_API int crn_cpus_parse(const char *text, cpu_set_t *ret_cpus);

/** The set's list, "none" if it is empty; returns `text`. */
CRN_API const char *crn_cpus_text(const cpu_set_t *cpus, char text[CRN_CPUS_TEXT]);

/** Leaves `count` CPUs of the set, from the `first` one on, counted from 0. */
CRN_API cpu_set_t crn_cpus_slice(const cpu_set_t *cpus, int first, int count);

#endif
