/* Files of text that the state folder keeps: replaced as a whole, and on the disk when the
 * call returns. */
#ifndef CRN_SRC_CONTROL_KEPT_KEPT_TEXT_H
#define CRN_SRC_CONTROL_KEPT_KEPT_TEXT_H

#include "stages/base/error.h"

/* Of what the daemon keeps: for its user and group. */
#define CRN_KEPT_MODE 0640

/* Returns 0, or a negative errno with *error, which names the path. */
int crn_kept_text_write(const char *path, const char *text, crn_error *error);

#endif
