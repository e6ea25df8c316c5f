/* Shared by the files of this folder only: what they report to, and the checks. */
#ifndef CRN_SRC_PREFLIGHT_INTERNAL_H
#define CRN_SRC_PREFLIGHT_INTERNAL_H

#include <stdbool.h>
#include <stdio.h>

#include "src/preflight/preflight.h"

typedef struct crn_preflight_check {
    const crn_config *config;
    FILE *faults, *notes;
    bool failed;
    char in_use[600]; /* what a running daemon has, perhaps this line's: one note for all */
} crn_preflight_check;

__attribute__((format(printf, 3, 4))) void
crn_preflight_fail(crn_preflight_check *check, const char *key, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
crn_preflight_note(const crn_preflight_check *check, const char *key, const char *format, ...);

/* Adds to the note of what a running daemon has; `holder`: its process, 0 for unknown. */
void crn_preflight_in_use(crn_preflight_check *check, const char *key, const char *what,
                          long holder);

/* True of --check for a folder that cernitad@NAME.service makes when it starts, and that is not
 * there yet; a note then says so. */
bool crn_preflight_is_left_to_unit(const crn_preflight_check *check, const char *key,
                                   const char *folder);

void crn_preflight_endpoint(crn_preflight_check *check, const char *key, const char *endpoint);
void crn_preflight_http(crn_preflight_check *check);
void crn_preflight_control(crn_preflight_check *check);
void crn_preflight_slots(crn_preflight_check *check, bool has_gpu);

void crn_preflight_memory(crn_preflight_check *check);
void crn_preflight_descriptors(crn_preflight_check *check);
void crn_preflight_threads(crn_preflight_check *check);
void crn_preflight_devices(crn_preflight_check *check, const crn_gpu *gpu);
void crn_preflight_realtime(crn_preflight_check *check);

#endif
