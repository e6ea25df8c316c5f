/* The measures of a fruit as the bytes of its verdict, in each format that an outlet uses: packed
 * by the thread that finds them, and copied by the line's. */
#ifndef CRN_SRC_SURFACE_PACKED_SURFACE_H
#define CRN_SRC_SURFACE_PACKED_SURFACE_H

#include "src/surface/measurement.h"

/* The encoders of one measurement, whose bytes stay until its next. */
typedef struct crn_surface_packer {
    crn_encoder *encoders[CRN_FORMATS]; /* NULL: no outlet uses the format */
} crn_surface_packer;

/* Returns 0 or -ENOMEM; crn_surface_packer_done() in every case. */
int crn_surface_packer_init(const crn_config *config, crn_surface_packer *packer);
void crn_surface_packer_done(crn_surface_packer *packer);

/* Packs poses and measures into measurement->packed; `fruit` NULL: not measured. Returns 0 or
 * -ENOMEM. */
int crn_surface_pack(crn_surface_packer *packer, const crn_surface_fruit *fruit,
                     crn_measurement *measurement);

#endif
