/*
 * The log of changes of a line, and the texts of its settings, written to the state folder by a
 * thread of their own: a disk that is full or hangs keeps nobody waiting. What it does not take is
 * tried again each second; of what waits meanwhile the newest is left out, and counted in the next
 * entry. A text that cannot be kept keeps no entry waiting. Any thread may call these.
 */
#ifndef CRN_SRC_CONTROL_CHANGES_CHANGES_H
#define CRN_SRC_CONTROL_CHANGES_CHANGES_H

#include <sys/types.h>

#include "src/formats/changes/entry.h"

/* How many entries wait at most. */
#define CRN_CHANGES_WAITING 64

/* How many refused requests are recorded at most; more are counted in the next entry. */
#define CRN_CHANGES_REFUSED_A_MINUTE 20

typedef struct crn_changes crn_changes;

/* Who changes something. */
typedef struct crn_changed_by {
    const char *through; /* "control": a client; "signal"; "daemon": itself */
    uid_t user;
    pid_t process;
} crn_changed_by;

typedef struct crn_changes_plan {
    const char *dir; /* state.dir, the caller's; "": there are no changes to keep */
    /* Called by the thread after each try: 0, or the negative errno of what failed; may be NULL. */
    void (*note)(void *context, int result);
    /* Called by any thread, must not wait: since when (crn_now_ns) the first entry waits; 0: none
     * does; may be NULL. */
    void (*waits)(void *context, int64_t since_ns);
    void *context;
} crn_changes_plan;

/* Starts the thread; the log says where nothing is kept. Returns 0 with *ret_changes NULL where
 * there is no folder, or a negative errno. */
int crn_changes_open(const crn_changes_plan *plan, crn_changes **ret_changes);

/* Writes what waits, if the disk takes it now, joins the thread, frees, and sets *changes to NULL;
 * NULL is allowed. */
void crn_changes_close(crn_changes **changes);

/*
 * Adds an entry: what, through, user, process, refused, after and keys are the caller's, and the
 * rest is set here. Of `after` settings that are empty, and a lot without has_lot, are those of the
 * call before, whether or not its entry could be recorded. It is copied.
 *
 * @param changes NULL: nothing happens
 * @param text of the settings that are in force now, for the heap's free(), which takes place here
 *        in any case; NULL: they are no other ones
 */
void crn_changes_add(crn_changes *changes, const crn_change *change, char *text);

typedef struct crn_changes_summary {
    uint64_t number;                  /* of the last entry; 0: none */
    char hash[CRN_SHA256_TEXT_BYTES]; /* its */
} crn_changes_summary;

/* A change by that, of which nothing else is set yet. */
void crn_change_begin(crn_change *change, const char *what, const crn_changed_by *by);

/* Sets the lot after the change; "": none. */
void crn_change_set_lot(crn_change *change, const char *id);

/* Sets `keys` to these lines, as many whole ones as there is room for. */
void crn_change_set_keys(crn_change *change, const char *lines);

/* As of now; `changes` may be NULL. */
crn_changes_summary crn_changes_summarise(crn_changes *changes);

#endif
