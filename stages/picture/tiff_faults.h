/* What libtiff says, kept instead of printed: for those that read and write TIFFs. */
#ifndef CRN_STAGES_PICTURE_TIFF_FAULTS_H
#define CRN_STAGES_PICTURE_TIFF_FAULTS_H

#include <tiffio.h>

#include "stages/base/error.h"

/* A file opened with these options says its first error into *first_error, while that is empty, and
 * its last warning into *last_warning (NULL: nowhere). Both outlive the file. */
void crn_tiff_keep_faults(TIFFOpenOptions *options, crn_error *first_error,
                          crn_error *last_warning);

#endif
