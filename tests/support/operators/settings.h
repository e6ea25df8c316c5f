/* Settings of a stage for tests that run it alone: defaults with overrides. */
#ifndef CRN_TESTS_SUPPORT_SETTINGS_H
#define CRN_TESTS_SUPPORT_SETTINGS_H

#include "stages/stage/stage.h"

/*
 * New settings of the stage, freed by the caller: every key's default, overridden by the following
 * key and value texts (as in a file) up to a NULL. They are not prepared. An invalid key or value
 * fails the test.
 */
void *crn_stage_settings(const crn_stage *stage, ...) __attribute__((sentinel));

#endif
