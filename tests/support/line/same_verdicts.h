/* Verdict logs of two runs, compared whole. */
#ifndef CRN_TESTS_SUPPORT_LINE_SAME_VERDICTS_H
#define CRN_TESTS_SUPPORT_LINE_SAME_VERDICTS_H

/* Fails unless both folders have `count` verdicts, up to 64, on the same fruits, each equal but for
 * the keys `but` (NULL after the last), at whatever depth. */
void crn_test_same_verdicts(const char *dir, const char *other, int count, const char *const *but);

#endif
