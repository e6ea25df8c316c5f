/* A folder for the files of a test program, made by its set-up and removed with all that is in it.
 */
#ifndef CRN_TESTS_SUPPORT_FOLDER_H
#define CRN_TESTS_SUPPORT_FOLDER_H

/* Its path, between both. */
extern char test_folder[64];

/* Set-up and tear-down of cmocka, for a test or for a group. */
int test_folder_make(void **state);
int test_folder_remove(void **state);

#endif
