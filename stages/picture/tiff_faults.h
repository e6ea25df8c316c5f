/* Captures libtiff's messages instead of printing them. */
#ifndef CRN_STAGES_PICTURE_TIFF_FAULTS_H
#define CRN_STAGES_PICTURE_TIFF_FAULTS_H

#include <tiffio.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/* Files opened with these options store their first error in *first_error, if that is empty, and
 * their last warning in *last_warning (NULL: discarded). Both must outlive the file. */
CRN_API void crn_tiff_keep_faults(TIFFOpenOptions *options, crn_error *first_error,
                                  crn_error *last_warning);

#endif
