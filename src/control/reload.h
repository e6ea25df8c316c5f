/*
 * New settings for a running line: from its file, or another of the file's recipes. Used by one
 * thread, the control thread.
 *
 * The file is read and checked as --check does, and the clients' keys (access.keys) with it; what
 * differs and cannot change while the line runs is a fault, too. With any fault, of the file or of
 * a key, nothing changes. Each call, also a refused one, is an entry of the log of changes.
 */
#ifndef CRN_SRC_CONTROL_RELOAD_H
#define CRN_SRC_CONTROL_RELOAD_H

#include <stdio.h>

#include "src/control/changes/changes.h"
#include "src/line/line.h"

typedef struct crn_reload_settings {
    crn_line *line;
    const crn_config *file;    /* the start's as loaded, with `file` and `hash`; not resolved */
    const crn_config *running; /* the same as the line has it, resolved */
    int32_t backend;           /* that of the command line; -1: the file's */
    crn_changes *changes;      /* the log of changes; NULL: none */
} crn_reload_settings;

typedef struct crn_reloader crn_reloader;

/* What `settings` points to, and it itself, must outlive the reloader. Returns 0 or -ENOMEM. */
int crn_reloader_create(const crn_reload_settings *settings, crn_reloader **ret_reloader);
void crn_reloader_free(crn_reloader **reloader);

/*
 * Reads the file again; the recipe stays. What is wrong, a line for each fault, or what is in force
 * now, goes to `out` and to the log. Returns 0, -EINVAL for a faulty file, or another negative
 * errno. Waits up to CRN_RELOAD_PATIENCE_NS for fruits of former settings.
 */
#define CRN_RELOAD_PATIENCE_NS (3 * CRN_NS_PER_S)
int crn_reloader_reload(crn_reloader *reloader, const crn_changed_by *by, FILE *out);

/* Switches to a recipe of the file as it was read last; "": the file's own settings. As reload;
 * -ENOENT if there is no such recipe. */
int crn_reloader_use_recipe(crn_reloader *reloader, const char *name, const crn_changed_by *by,
                            FILE *out);

/* Records that the daemon does `what`, "start" or "stop", with the settings in force and that lot.
 */
void crn_reloader_note(crn_reloader *reloader, const char *what, const char *lot);

/* Where the recipe in force could not be kept over restarts: tries it again, once a second. */
void crn_reloader_keep_again(crn_reloader *reloader);

/* The recipes of that file, a line each: `* NAME` for the one in force, `  NAME` for others; the
 * file's own settings first, as `--none`. */
void crn_reloader_list_recipes(const crn_reloader *reloader, FILE *out);

#endif
