/* The lot in force, in the file `lot` of the state folder. */
#ifndef CRN_SRC_CONTROL_KEPT_KEPT_LOT_H
#define CRN_SRC_CONTROL_KEPT_KEPT_LOT_H

#include "src/fruit/lot.h"
#include "stages/base/error.h"
#include "stages/config/config.h"

/* As crn_kept_file_write. */
int crn_kept_lot_write(const char *dir, const char *line_file, const crn_lot *lot,
                       crn_error *error);

/* The lot that was in force before the start, none where that is not certain: a verdict without a
 * lot is better than one with a wrong lot. Logs what it did. `config` is resolved, with the folders
 * of its unit. */
void crn_kept_lot_resume(const crn_config *config, crn_lot *ret_lot);

#endif
