/* A README's generated reference: the table of the code must stand in it. */
#ifndef CRN_TESTS_SUPPORT_README_REFERENCE_H
#define CRN_TESTS_SUPPORT_README_REFERENCE_H

#include <stdio.h>

/* Fails the test unless `readme`, a path from the repository's root, contains what `print` writes;
 * on a difference leaves that as the file `fresh` in the programs' folder. */
void readme_expect_reference(const char *readme, const char *fresh, void (*print)(FILE *out));

#endif
