/* What a benchmark prints with --json: an object in each line. */
#ifndef CRN_TESTS_SUPPORT_JSON_LINES_H
#define CRN_TESTS_SUPPORT_JSON_LINES_H

#include <yajl/yajl_tree.h>

/* The member of that name; fails the test if it is not a number. */
double crn_json_number(yajl_val object, const char *key);

/* Calls `check` for each line of the text, which is changed; returns their number. */
int crn_json_check_lines(char *text, void check(yajl_val line));

#endif
