/* What writes to a disk, and what has to be there after a loss of power. */
#ifndef CRN_TESTS_FAULTS_POWER_WRITERS_H
#define CRN_TESTS_FAULTS_POWER_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/faults/power/disk.h"
#include "tests/support/cmocka_prelude.h"

/* What the power left. */
typedef struct power_moment {
    const char *folder;
    uint64_t acknowledged; /* what the writer said last */
    bool keeps_all;        /* nothing that was written is lost */
} power_moment;

typedef struct power_writer {
    const char *name;
    const char *ignored;                       /* end of names that are not noted; NULL: none */
    void (*work)(const char *folder);          /* writes, and acknowledges what is kept */
    void (*check)(const power_moment *moment); /* fails the test */
} power_writer;

extern const power_writer power_recording, power_verdict_log, power_archived, power_minutes,
    power_alarms, power_changes, power_recipe, power_archive;

/* A folder that no power loss reaches: the log that is archived. */
extern char power_log_folder[64];

#endif
