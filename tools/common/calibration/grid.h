/* The corners of a chequerboard as rows and columns. */
#ifndef CRN_TOOLS_COMMON_CALIBRATION_GRID_H
#define CRN_TOOLS_COMMON_CALIBRATION_GRID_H

#include "tools/common/calibration/corners.h"

/*
 * Joins corners whose edges lead to each other, and keeps those of the largest board that they
 * make, each with its column and row from 0: columns run along x more than along y. 0 or -ENOMEM.
 */
int crn_grid_join(crn_corners *corners);

#endif
