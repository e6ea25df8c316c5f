/* cernita-replay --rules: the outlets to which a sorter's rules send a fruit by both its verdicts.
 */
#ifndef CRN_TOOLS_REPLAY_EXPECT_EXPECT_OUTLETS_H
#define CRN_TOOLS_REPLAY_EXPECT_EXPECT_OUTLETS_H

#include <stdio.h>

#include "src/formats/encoding/messagepack_json.h"
#include "stages/base/error.h"
#include "tools/common/comparison/outlet_changes.h"

/*
 * Reads the outlets of a sorter's file; its faults are lines on stderr. 0, or a negative errno with
 * one line in *error; crn_outlets_done() in every case.
 */
int crn_expect_outlets_load(const char *path, crn_outlets *outlets, crn_error *error);

/*
 * Decides on both verdicts, as if they had arrived in time. ret_outlet: indexes; CRN_NO_OUTLET of
 * both if a verdict cannot be decoded. 0 or -ENOMEM.
 */
int crn_expect_outlets_decide(const crn_outlets *outlets, const crn_messagepack_json *expected,
                              const crn_messagepack_json *got, int32_t ret_outlet[2]);

/* "outlets: 3 of 12 fruits go to another one: first → waste 2, waste → first 1" */
void crn_expect_outlets_print(const crn_outlets *outlets, const crn_outlet_changes *changes,
                              FILE *out);

#endif
