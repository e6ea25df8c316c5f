/* cernita-apply as a program, in a folder of its own: runs it, makes its pictures, reads them. */
#ifndef CRN_TESTS_SUPPORT_APPLY_PROGRAM_H
#define CRN_TESTS_SUPPORT_APPLY_PROGRAM_H

#include "stages/picture/picture.h"

/* What the program printed last, to stdout and stderr. */
extern char apply_output[8192];

/* Set-up and tear-down of a test: an empty folder, and in it. */
int apply_setup(void **state);
int apply_teardown(void **state);

/* Runs the program with these arguments. Returns the exit status. */
#define crn_run_apply(...) apply_run_program(CRN_BIN "/cernita-apply", __VA_ARGS__)
__attribute__((format(printf, 2, 3))) int apply_run_program(const char *program, const char *format,
                                                            ...);

/* It ends well, and says nothing. */
#define crn_expect_apply(...) apply_check_quiet(crn_run_apply(__VA_ARGS__))
void apply_check_quiet(int status);

void apply_write_text(const char *path, const char *text);

/* A picture of zeros. */
crn_picture apply_create(crn_type type, int32_t pages, int32_t samples, int32_t height,
                         int32_t width);

/* A picture of noise in a file, and in memory as it is read back from there. */
crn_picture apply_picture(const char *path, crn_type type, int32_t pages, int32_t samples,
                          bool alpha, int32_t height, int32_t width);

crn_picture apply_read(const char *path);
void apply_write(const char *path, const crn_picture *picture);

/* The file holds the whole picture, bit by bit: type, pages, samples and alpha too. */
void apply_expect_picture(const char *path, const crn_picture *wanted);

#endif
