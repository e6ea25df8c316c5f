/**
 * @file
 * Captures libtiff's messages instead of printing them.
 */
#ifndef CRN_STAGES_PICTURE_TIFF_FAULTS_H
#define CRN_STAGES_PICTURE_TIFF_FAULTS_H

#include <tiffio.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/**
 * Keeps the messages about files that are opened with these options. Both outputs must outlive the
 * file.
 *
 * @param first_error set to the first error, if it is empty
 * @param last_warning set to the last warning; NULL: warnings are discarded
 */
CRN_API void crn_tiff_keep_faults(TIFFOpenOptions *options, crn_error *first_error,
                                  crn_error *last_warning);

#endif
