/*
 * The state folder of a line (state.dir) into an archive: its log of changes, the texts of its
 * settings, and its alarms, each once, also while the daemon writes them.
 *
 * One thread at a time.
 */
#ifndef CRN_TOOLS_ARCHIVE_STATE_STATE_H
#define CRN_TOOLS_ARCHIVE_STATE_STATE_H

#include <stdint.h>

#include "stages/base/error.h"
#include "tools/archive/database.h"
#include "tools/archive/intake.h"

typedef struct crn_state_import crn_state_import;

typedef struct crn_state_settings {
    const char *dir;
    crn_intake_teller *tell;
} crn_state_settings;

typedef struct crn_state_stats {
    uint64_t changes, texts, alarms; /* that were added */
} crn_state_stats;

/* The archive must outlive it. 0, or a negative errno with *error. */
int crn_state_import_open(crn_archive *archive, const crn_state_settings *settings,
                          crn_state_import **ret_state, crn_error *error);
void crn_state_import_close(crn_state_import **state);

/* Archives what is new, in transactions; little work where nothing is. What cannot be read is told
 * once and tried again, so that it keeps no verdicts waiting. 0, or a negative errno of the archive
 * with *error. */
int crn_state_import_step(crn_state_import *state, crn_error *error);

/* Why something could not be read when it was tried last, a negative errno; 0: all was. */
int crn_state_import_get_fault(const crn_state_import *state);

/* Of what is committed. */
crn_state_stats crn_state_import_get_stats(const crn_state_import *state);

#endif
