/* Recordings for tests: views that are a function of their number, and files of them. */
#ifndef CRN_TESTS_SUPPORT_RECORDED_H
#define CRN_TESTS_SUPPORT_RECORDED_H

#include "src/formats/recording/recording.h"

/* A new folder (a cmocka group's setup and teardown),
 * a recording's path in it, and that path's `.part`. */
extern char recorded_folder[], recorded_path[64], recorded_part[72];
int recorded_setup(void **state);
int recorded_teardown(void **state);

/* Removes all files of the folder. */
void recorded_clear(void);

/* View `number`, with extreme and irregular header
 * values; its bytes are valid until the next call. */
crn_recorded_view recorded_view(uint64_t number, crn_type type, crn_layout layout,
                                uint32_t channels, uint32_t height, uint32_t width, bool intensity);

/* The same, always of 3 x 5 x 7 bytes, HWC, with intensity. */
crn_recorded_view recorded_small(uint64_t number);

void recorded_assert_header(const crn_recorded_view *want, const crn_recorded_view *got);
void recorded_assert_same(const crn_recorded_view *want, const crn_recorded_view *got);

/* The functions of recording.h on recorded_path; errors fail the test. */
crn_recording_writer *recorded_create(void);
void recorded_add(crn_recording_writer *writer, const crn_recorded_view *view);
void recorded_finish(crn_recording_writer *writer);
crn_recording_reader *recorded_open(const char *file);

/* Writes recorded_path with `count` small views; reads a file back, checking each view, and returns
 * their number, the final result and message. */
void recorded_write_small(uint64_t count);
uint64_t recorded_read_small(const char *file, int *ret_end, crn_error *error);

/* Waits until a recorder's segments in the folder, which may have the names of unfinished ones,
 * hold so many views. */
void recorded_await(const char *folder, uint64_t views);

/* Loads a whole file; writes a file. */
size_t recorded_load(const char *file, unsigned char *bytes, size_t room);
void recorded_save(const char *file, const void *bytes, size_t size);

#endif
