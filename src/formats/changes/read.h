/* An entry of the log of changes, read back. */
#ifndef CRN_SRC_FORMATS_CHANGES_READ_H
#define CRN_SRC_FORMATS_CHANGES_READ_H

#include "src/formats/changes/entry.h"

CRN_C_BEGIN

/*
 * Reads a whole line (crn_change_look) as it was packed. Keys that are missing, as in the entry of
 * another version, read as empty or 0, and texts that do not fit likewise; `keys` as many whole
 * lines as fit. Returns 0; -EBADMSG if it has no time; or -ENOMEM.
 */
int crn_change_read(const char *line, size_t length, crn_change *ret_change);

CRN_C_END

#endif
