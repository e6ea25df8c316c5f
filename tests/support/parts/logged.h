/* Verdict logs for tests: verdicts that are a function of their number, and reading them back. */
#ifndef CRN_TESTS_SUPPORT_LOGGED_H
#define CRN_TESTS_SUPPORT_LOGGED_H

#include <stddef.h>
#include <stdint.h>

#include "src/formats/verdict_log/writer.h"

#define CRN_LOGGED_MAX 100000 /* verdicts in a log */

/* An empty folder for each test (cmocka's setup and teardown). */
extern char logged_folder[];
int logged_setup(void **state);
int logged_teardown(void **state);

/* Path of the segment with this number; valid until the next call. */
const char *logged_path(uint64_t number);

/* Number of files in the folder. */
int logged_files(void);

/* Verdicts have 8 to this many bytes; initially 3000. */
extern size_t logged_bytes_max;

/* Verdict `number`: its bytes, valid until the next call, and its size. */
const unsigned char *logged_verdict(uint64_t number, size_t *ret_size);
uint32_t logged_lane(uint64_t number);

/* A writer on the folder; appends the verdicts from `from` up to, but not including, `to`. Errors
 * fail the test. */
crn_verdict_writer *logged_writer(uint64_t segment_bytes, uint64_t keep_bytes);
void logged_append(crn_verdict_writer *writer, uint64_t from, uint64_t to);

/* What a reader found: the verdicts' numbers, each with its right bytes and lane, and notices. */
typedef struct logged_log {
    uint64_t numbers[CRN_LOGGED_MAX];
    size_t count, notices;
    char notice[1024]; /* the last one */
} logged_log;

/* Reads the folder's log; fails the test if a verdict is not the one that its number says. */
const logged_log *logged_read(void);

/* The same, and asserts that it holds exactly the verdicts from `from` to `to`, in order. */
void logged_expect(uint64_t from, uint64_t to, size_t notices);

/* A verdict without defects, of a budget of 100 ms. */
typedef struct logged_fruit {
    unsigned lane;
    uint64_t epoch;
    unsigned fruit;
    const char *kind;
    double total_ms;
} logged_fruit;

/* Adds a segment of these verdicts to a log, up to one without a kind. */
void logged_made_up(const char *dir, const logged_fruit *verdicts);

#endif
