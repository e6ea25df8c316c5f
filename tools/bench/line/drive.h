/* Load generator of the line benchmark: sends fruits
 * on an absolute schedule and collects the answers. */
#ifndef CRN_TOOLS_BENCH_LINE_DRIVE_H
#define CRN_TOOLS_BENCH_LINE_DRIVE_H

#include "stages/base/error.h"
#include "src/formats/recording/recording.h"
#include "tools/bench/line/peer.h"
#include "tools/common/recordings.h"

/* The views in memory that are sent in a loop. */
typedef struct crn_bench_frames {
    uint32_t count, views; /* views per fruit; count is a multiple of it */
    crn_recorded_view *view;
} crn_bench_frames;

/* Reads the first views of the recordings in order, at most `max`: their maps alone, as the
 * receiver is measured with the same bytes, or with the photographs, which lie behind the maps. */
int crn_frames_load(const crn_recordings *recordings, uint32_t max, bool photographs,
                    crn_bench_frames *ret_frames, crn_error *error);
void crn_frames_free(crn_bench_frames *frames);

/* Bytes of the largest view. */
uint64_t crn_frames_largest(const crn_bench_frames *frames);

/* The header of view `number` of a run, counted from 0, of lane 0; captured now. */
crn_view_header crn_bench_header(const crn_bench_frames *frames, uint64_t number, uint64_t epoch);

void crn_bench_wait_until(int64_t when_ns);

typedef struct crn_drive_result {
    uint64_t sent, answered, complete, partial, late, repeated;
    double seconds;                   /* from the first view sent to the last */
    double fruits_per_s;              /* achieved send rate */
    double behind_ms;                 /* the sender's largest delay behind its schedule */
    bool given_up;                    /* it was more than behind_max_ms behind, and stopped */
    double p50_ms, p99_ms, max_ms;    /* from sending a fruit's last view to receiving its answer */
    double past_p999_ms, past_max_ms; /* how late verdicts past their deadlines were */
    double cpu_ms_per_fruit;
    double line_us_per_view; /* CPU time of the line's thread */
    int64_t resident_before_bytes,
        resident_after_bytes; /* after a quarter of the fruits, and at the end */
} crn_drive_result;

typedef struct crn_drive_load {
    uint64_t fruits;
    double rate;          /* fruits per second, 0: as fast as possible */
    double behind_max_ms; /* stops when it is further behind; 0: never */
    uint32_t at_once;     /* fruits without an answer at most; 0: any number */
} crn_drive_load;

/*
 * Sends fruits with evenly spaced views, after CRN_DRIVE_WARM_UP uncounted ones that wait until the
 * peer is there and touch the memory for the first time. 0 or negative errno; -ECHILD: the peer
 * ended meanwhile.
 */
#define CRN_DRIVE_WARM_UP 10
int crn_drive(const crn_peer *peer, const crn_bench_frames *frames, const crn_drive_load *load,
              crn_drive_result *ret_result);

#endif
