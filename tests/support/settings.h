/* A stage's settings for tests that run it alone: its defaults, but for what is said. */
#ifndef CRN_TESTS_SUPPORT_SETTINGS_H
#define CRN_TESTS_SUPPORT_SETTINGS_H

#include "stages/stage.h"

/*
 * Fresh settings of the stage, to be freed by the caller: every key's fallback, then key after key
 * the text that follows it, up to a NULL, each as it would stand in a file. They are not prepared.
 * What is no key or value of the stage fails the test.
 */
void *crn_stage_settings(const crn_stage *stage, ...) __attribute__((sentinel));

#endif
