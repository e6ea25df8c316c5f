/* Runs cernita-apply as a program in a folder of its own; creates and reads its pictures. */
#ifndef CRN_TESTS_SUPPORT_APPLY_PROGRAM_H
#define CRN_TESTS_SUPPORT_APPLY_PROGRAM_H

#include "stages/picture/picture.h"

/* stdout and stderr of the last run. */
extern char apply_output[8192];

/* Set-up and tear-down of a test: an empty folder as working directory. */
int apply_setup(void **state);
int apply_teardown(void **state);

/* Runs the program with these arguments. Returns the exit status. */
#define crn_run_apply(...) apply_run_program(CRN_BIN "/cernita-apply", __VA_ARGS__)
__attribute__((format(printf, 2, 3))) int apply_run_program(const char *program, const char *format,
                                                            ...);

/* Expects success and no output. */
#define crn_expect_apply(...) apply_check_quiet(crn_run_apply(__VA_ARGS__))
void apply_check_quiet(int status);

void apply_write_text(const char *path, const char *text);

/* Allocates a picture of zeros. */
crn_picture apply_create(crn_type type, int32_t pages, int32_t samples, int32_t height,
                         int32_t width);

/* Writes a picture of random values to a file; returns it as read back. */
crn_picture apply_picture(const char *path, crn_type type, int32_t pages, int32_t samples,
                          bool alpha, int32_t height, int32_t width);

crn_picture apply_read(const char *path);
void apply_write(const char *path, const crn_picture *picture);

/* Asserts that the file holds the same picture bit by bit: type, pages, samples and alpha. */
void apply_expect_picture(const char *path, const crn_picture *wanted);

#endif
