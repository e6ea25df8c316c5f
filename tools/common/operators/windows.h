/* The windows of cernita-apply ranklet: a list from the command line, or the pyramid. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_WINDOWS_H
#define CRN_TOOLS_COMMON_OPERATORS_WINDOWS_H

#include "stages/base/param.h"
#include "tools/common/options.h"

#define CRN_WINDOWS_MAX 64

typedef struct crn_windows {
    int32_t count;
    crn_size item[CRN_WINDOWS_MAX];
} crn_windows;

/* Parses "4,8x16": even sides from 2; exits with status 2 on errors. */
void crn_windows_parse(const crn_tool *tool, const char *text, crn_windows *ret_windows);

/*
 * The largest powers of two that fit a picture of width x height, halved together until one side is
 * 2; `square`: both start from the smaller. Empty for a picture with a side of 1.
 */
void crn_windows_pyramid(int32_t width, int32_t height, bool square, crn_windows *ret_windows);

#endif
