/*
 * A whole line in this process: crn_line in its own thread, with a sender and a grader on ipc
 * sockets. All waiting is for events, with a timeout that only a failure reaches.
 */
#ifndef CRN_TESTS_SUPPORT_LINE_FIXTURE_H
#define CRN_TESTS_SUPPORT_LINE_FIXTURE_H

#include <pthread.h>

#include "src/line/line.h"
#include "tests/support/slots/raw_producer.h"

#define CRN_FIXTURE_PATIENCE_MS 60000

/* Static or on the heap: a failed test leaves its function, and the line is stopped after that. */
typedef struct line_fixture {
    char folder[64]; /* for sockets, configuration and recordings; removed by line_stop */
    crn_config config;
    crn_line *line;
    pthread_t thread;
    bool runs; /* the thread, until line_end */
    int run_status;
    crn_error error;
    crn_metrics metrics; /* valid after line_stop */
    void *zmq, *sender, *grader;
    uint64_t sequence;
    crn_raw_producer *producer; /* line_send leaves views in its slots; NULL: it sends them */
} line_fixture;

/* The parts of a verdict that these tests need. */
typedef struct seen_verdict {
    uint64_t fruit, sequence, lane;
    char verdict[16];
    uint64_t views_expected, views_received, views_judged;
    uint32_t defects;
    bool stale, truncated;
    double total_ms, budget_ms;
    char settings[20], recipe[64], lot[64];
} seen_verdict;

/* Prints the sections ingest and publish of a line whose sockets lie in the folder. */
void line_print_sockets(const char *folder, FILE *out);

/*
 * Starts a line with `yaml` (to which ingest and publish sections are added) and connects a sender
 * and a grader. Fails the test on errors.
 */
void line_start(line_fixture *fixture, const char *yaml);

/* A line on the processor with pages and time enough. */
extern const char line_with_pages[];

/* The same with these devices, NULL for none; line_start uses the machine's. */
void line_start_on(line_fixture *fixture, const char *yaml, const crn_gpu *gpu);

/* The same in two steps, between which the configuration may be changed. */
void line_configure(line_fixture *fixture, const char *yaml);
void line_run(line_fixture *fixture, const crn_gpu *gpu);

/* Between these two: the line gives out slots, at this path from now on. */
const char *line_use_slots(line_fixture *fixture);

/* The same, of this kind alone. */
const char *line_use_slots_of(line_fixture *fixture, const char *kind);

/* Stops the line, joins its thread, keeps its metrics,
 * frees everything; asserts that it returned 0. */
void line_stop(line_fixture *fixture);

/* The same in two steps, between which the line that has ended may be looked at. */
void line_end(line_fixture *fixture);
void line_close(line_fixture *fixture);

/* Moves the clocks forward: what is due by then is done. */
void line_move_clock(line_fixture *fixture, int64_t by_ns);

/* Sends one view of `header` (sequence and payload_bytes are filled in); intensity may be NULL.
 * Blocks while the line is busy. */
void line_send(line_fixture *fixture, crn_view_header header, const void *maps,
               const void *intensity);

/* Sends the parts unchanged, for bad input. */
void line_send_parts(line_fixture *fixture, const void *const *parts, const size_t *sizes,
                     int count);

/* The next verdict at the grader. False if none came within `wait_ms`. */
bool line_receive(line_fixture *fixture, int wait_ms, seen_verdict *ret_verdict);

/* The same as MessagePack bytes, freed by the caller; NULL if none came within `wait_ms`. */
unsigned char *line_receive_bytes(line_fixture *fixture, int wait_ms, size_t *ret_size);

/* A view header for a float map of that shape, HWC. */
crn_view_header line_header(const line_fixture *fixture, uint64_t fruit, uint16_t view,
                            uint16_t views, uint32_t height, uint32_t width);

/* Class maps with one bright disc per channel above 0: height
 * x width x channels floats, HWC; freed by the caller. */
float *line_discs(uint32_t height, uint32_t width, uint32_t channels);

#endif
