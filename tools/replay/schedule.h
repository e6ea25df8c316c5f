/*
 * Recordings as one sequence of views to send again: due times, fruit numbers, and the header of
 * each view in a later run. Kept in memory if it fits.
 */
#ifndef CRN_TOOLS_REPLAY_SCHEDULE_H
#define CRN_TOOLS_REPLAY_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "src/formats/recording/recording.h"
#include "tools/common/options.h"
#include "tools/replay/filter.h"

typedef struct crn_replay_schedule_view {
    crn_recorded_view recorded; /* maps and intensity NULL unless preloaded */
    uint64_t due_ns;            /* since the first view */
    uint64_t fruit;             /* 0, 1, 2, … by first appearance */
    uint32_t lane, epoch, file; /* indices */
    uint64_t position;          /* number of the view in its file */
    bool first, last;           /* the first view of its fruit, the last one */
    uint32_t fruit_views;       /* of its fruit in the recordings; of the last one */
} crn_replay_schedule_view;

/* Ranges of a lane's numbers, from which the next loop continues. */
typedef struct crn_replay_schedule_lane {
    uint32_t number;
    uint64_t sequence_min, sequence_max, fruit_min, fruit_max;
} crn_replay_schedule_lane;

typedef struct crn_replay_schedule {
    crn_replay_schedule_view *views;
    size_t count;
    uint64_t fruits;
    uint64_t recorded_views, recorded_fruits; /* of which the filter took `count` and `fruits` */
    uint64_t period_ns;                       /* from one loop's first view to the next one's */
    uint64_t bytes;                           /* of all pixels */
    uint64_t latest_ns;                       /* arrival of the latest view so far */
    uint32_t views_max;                       /* of a fruit */
    uint32_t open_max;                        /* fruits that have begun and not ended, at most */
    bool in_memory;
    crn_classes classes; /* of the first view that names them; count 0: none does */

    char **paths; /* the caller's */
    crn_replay_schedule_lane *lanes;
    uint32_t lane_count;
    uint64_t *epochs;
    uint32_t epoch_count;
    unsigned char *memory;
    crn_recording_reader *reader; /* positioned in file reader_file, before view reader_view */
    int reader_file;
    uint64_t reader_view;
} crn_replay_schedule;

/*
 * Reads the recordings' headers, and their pixels too if all of them take at most preload_bytes.
 * The gaps follow the arrival times: none for a view that stands behind later ones, nor where the
 * clock went back, at most a second between files. Fruits that the filter does not take are left
 * out. Notices are printed as the tool's. The paths must outlive the schedule. 0 or negative errno
 * with *error, -ENODATA without any view.
 */
int crn_replay_schedule_open(const crn_tool *tool, char **paths, int files,
                             const crn_replay_filter *filter, uint64_t preload_bytes,
                             crn_replay_schedule *ret_schedule, crn_error *error);
void crn_replay_schedule_close(crn_replay_schedule *schedule);

/*
 * View `index` with its pixels, valid until the next call (preloaded: until
 * crn_replay_schedule_close). Indices should rise; a lower one restarts reading at the front.
 */
int crn_replay_schedule_read(crn_replay_schedule *schedule, size_t index,
                             crn_recorded_view *ret_view, crn_error *error);

/*
 * The header of a view in a run: a new epoch, sequence numbers and fruits that continue from loop
 * to loop, captured at now_ns (CLOCK_REALTIME), and the recorded distance from arrival to deadline.
 * A recording of several epochs (senders that restarted) keeps as many in every loop.
 */
crn_view_header crn_replay_schedule_header(const crn_replay_schedule *schedule, size_t index,
                                           uint64_t loop, uint64_t run_epoch, uint64_t now_ns);

#endif
