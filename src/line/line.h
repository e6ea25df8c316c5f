/*
 * The line: one thread that reads, assembles, dispatches, judges and publishes, around the engine's
 * workers.
 *
 * Because one thread owns the fruits, the slots and both sockets, there are no locks, and a view
 * that arrives with no slot free can be compared with those that wait. The thread never waits for a
 * worker, a peer or a disk.
 */
#ifndef CRN_SRC_LINE_LINE_H
#define CRN_SRC_LINE_LINE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "stages/config/config.h"
#include "src/fruit/lot.h"
#include "src/monitor/metrics.h"
#include "src/monitor/alarms/thread.h"
#include "src/monitor/conditions/conditions.h"
#include "src/monitor/snapshot.h"
#include "src/service/service.h"

typedef struct crn_line crn_line;

/* What a running line tells about itself. */
typedef struct crn_line_status {
    crn_state state;
    crn_settings_in_force settings;
    uint64_t fruits_open;
    uint64_t views, judged; /* views that were added to a fruit; of these, judged */
    uint64_t complete, partial, late;
} crn_line_status;

/* Reserves all memory, binds the sockets, starts devices and workers. `config` is resolved and must
 * outlive the line. `gpu` (NULL: none) is used by run.backend cuda and auto. */
int crn_line_open(const crn_config *config, const crn_gpu *gpu, crn_line **ret_line,
                  crn_error *error);

/*
 * Runs until crn_line_stop; then it stops reading and judges every open fruit by run.stop_ms or its
 * deadline. Returns 0, or a negative errno with *error if the line cannot continue (a worker is
 * gone, a socket failed).
 */
int crn_line_run(crn_line *line, crn_error *error);

/* The status until the line is open, for crn_service_start. */
void crn_line_starting(char text[CRN_SERVICE_STATUS_BYTES]);

/* Asks a running line to stop; async-signal-safe, and safe from any thread. */
void crn_line_stop(crn_line *line);

/*
 * For any one other thread, while the line runs: replaces the settings that fruits are judged by.
 * Fruits that are open keep theirs. `config` is resolved, with the hash set, and differs from that
 * of the start at most in live keys, levels and chain; on success its contents are the line's.
 * Waits until the line's thread has taken it in, which costs that thread next to nothing. Returns
 * 0; -EBUSY while CRN_GENERATIONS settings are in use; -ESHUTDOWN if the line stops; or another
 * negative errno; with *error. Then nothing has changed.
 */
int crn_line_change(crn_line *line, crn_config *config, crn_error *error);

/*
 * For the same thread, while the line runs: the lot of fruits that open from now on; those that are
 * open keep theirs. Waits until the line's thread has taken it in. Returns 0 or -ESHUTDOWN.
 */
int crn_line_set_lot(crn_line *line, const crn_lot *lot);

/* The same before the line runs, by the thread that opened it. */
void crn_line_begin_lot(crn_line *line, const crn_lot *lot);

/* For the same thread: frees settings that are no longer in use; call it from time to time. */
void crn_line_tidy(crn_line *line);

/* For the same thread; returns 0 or -ESHUTDOWN. */
int crn_line_status_get(crn_line *line, crn_line_status *ret_status);

/* What is wrong, a second old at most; from any thread. */
void crn_line_conditions(const crn_line *line, crn_condition_list *ret_list);

/* The alarm list, for any thread. */
crn_alarms *crn_line_alarms(const crn_line *line);

/* For the same thread: counts a reload, or a switch of the recipe, for the metrics. */
void crn_line_count_reload(crn_line *line, bool taken_in);

/* For the same thread: whether a restart keeps the recipe in force, for the conditions; 0, or the
 * negative errno with which it could not be written. */
void crn_line_note_kept(crn_line *line, int result);

/* The same of the lot. */
void crn_line_note_lot_kept(crn_line *line, int result);

/* The same of the log of changes; from any thread. */
void crn_line_note_changes_kept(crn_line *line, int result);

/* Since when (crn_now_ns) the first entry of the log of changes waits; 0: none does. One that waits
 * for CRN_CHANGES_LATE_NS is not kept, also where the disk hangs and no try returns. From any
 * thread. */
#define CRN_CHANGES_LATE_NS (10 * CRN_NS_PER_S)
void crn_line_note_changes_wait(crn_line *line, int64_t since_ns);

/*
 * Joins the workers, closes the sockets (libzmq lingers at most 500 ms), frees the line and sets
 * *line to NULL; NULL is allowed. Returns false if a lost device, and with it a thread, may still
 * be active.
 */
bool crn_line_close(crn_line **line);

/* All counters as of now; for the thread that runs the line, or after it returned. */
crn_metrics crn_line_metrics(const crn_line *line);

/* The address of the line's pages (monitor.http) as bound; "" if it has none. */
const char *crn_line_http(const crn_line *line);

/* Bytes that the line reserves under the limits, mostly address space until used. */
size_t crn_line_bytes(const crn_config *config);

/* Number of slots for kept maps, among all: monitor.keep_slots, 0 without monitor.http. */
int64_t crn_line_kept_slots(const crn_config *config);

static inline bool crn_line_records_all(const crn_config *config)
{
    return config->record.dir[0] && config->record.only == CRN_RECORD_ALL;
}

/* True if only views of bad fruits are recorded (record.only). */
static inline bool crn_line_records_bad_fruits(const crn_config *config)
{
    return config->record.dir[0] && config->record.only != CRN_RECORD_ALL;
}

/* Number of slots for views that wait for the disk, among all; 0 without a recorder. */
int64_t crn_line_recorded_slots(const crn_config *config);

#endif
