/* cernita-replay as a program, and the line that it sends to, which receives and answers nothing.
 */
#ifndef CRN_TESTS_SUPPORT_REPLAY_PROGRAM_H
#define CRN_TESTS_SUPPORT_REPLAY_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

#include "src/formats/view/wire.h"
#include "stages/base/clock.h"
#include "tests/support/parts/recorded.h"

#define CRN_REPLAY_GAP_NS (20 * CRN_NS_PER_MS) /* between the views of a recording */

/* A cmocka group's: the folder of recorded.h, and the line. */
int replay_setup(void **state);
int replay_teardown(void **state);

extern char replay_endpoint[64], replay_output[4000]; /* of the line; of the program that ended */
extern FILE *replay_program;

/* View `number` of a recording of two alternating lanes, 0 and 7, two views per fruit: pixels of
 * recorded_small, numbers as a sender assigns them. */
crn_recorded_view replay_lane_view(uint64_t number);

/* Writes recorded_path with the views from `from` to below `to`. */
void replay_record(uint64_t from, uint64_t to);

/* Starts the program on recorded_path; reads its output until it ends, and returns its status. */
void replay_start(const char *arguments);
int replay_finish(void);

/* Receives the next message, checks its pixels against `want`, returns its header. */
crn_view_header replay_receive(const crn_recorded_view *want);
void replay_assert_nothing_more(void);

#endif
