/* A README's generated reference: the table of the code must stand in it. */
#ifndef CRN_TESTS_SUPPORT_README_REFERENCE_H
#define CRN_TESTS_SUPPORT_README_REFERENCE_H

#include <stdio.h>

/* Fails the test unless `readme`, a path from the repository's root, contains the table that
 * `print` writes; with CRN_RENEW in the environment writes it there instead. */
void readme_expect_reference(const char *readme, void (*print)(FILE *out));

/* The same of a whole file. */
void readme_expect_file(const char *file, void (*print)(FILE *out));

/* Fails the test unless `readme` has a row of a table that begins with `key`, after `heading`. */
void readme_expect_row(const char *readme, const char *heading, const char *key);

#endif
