/*
 * The texts of all settings that were in force, in the folder `settings` of the state folder: a
 * file HASH.yaml each, by the hash that verdicts have. Written once, never changed or removed.
 */
#ifndef CRN_SRC_CONTROL_CHANGES_SETTINGS_TEXTS_H
#define CRN_SRC_CONTROL_CHANGES_SETTINGS_TEXTS_H

#include "stages/base/error.h"

/* What all of them may take on the disk, in blocks of 4 KiB. */
#define CRN_SETTINGS_BYTES_MAX (256L << 20)

/* Keeps the text unless it is there, byte for byte. On the disk when it returns 0; otherwise a
 * negative errno with *error, which names the file and the cure. */
int crn_settings_text_keep(const char *dir, const char *hash, const char *text, crn_error *error);

#endif
