/*
 * The line itself: one thread that reads, assembles, dispatches, judges and publishes, around the
 * engine's workers.
 *
 * One owner for the fruits, the slots and both sockets means no locks, and that a view which
 * arrives with no slot free can be weighed against those that wait. The thread never waits for a
 * worker, a peer or a disk.
 */
#ifndef CRN_SRC_LINE_H
#define CRN_SRC_LINE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "src/config/config.h"
#include "src/monitor/metrics.h"

typedef struct crn_line crn_line;

/* Reserves everything, binds the sockets, starts devices and workers. `config` is resolved and
 * outlives the line. `gpu` (NULL: none) is what run.backend cuda and auto use. */
int crn_line_open(const crn_config *config, const crn_gpu *gpu, crn_line **ret_line,
                  crn_error *error);

/*
 * Runs until crn_line_stop: then reading ends, every open fruit is judged by run.stop_ms or its
 * deadline. 0, or negative errno with *error when the line cannot go on (a worker is gone, a socket
 * failed).
 */
int crn_line_run(crn_line *line, crn_error *error);

/* Asks a running line to stop; safe in a signal handler and from any thread. */
void crn_line_stop(crn_line *line);

/* Tells a running line of a SIGHUP, which it logs and ignores: settings are read at the start
 * alone. Safe where crn_line_stop is. */
void crn_line_hang_up(crn_line *line);

/* Joins the workers, closes the sockets (libzmq lingers at most 500 ms), frees, nulls; NULL is
 * fine. False: a device that was lost may still be at work, and with it a thread. */
bool crn_line_close(crn_line **line);

/* Every counter, as of now; for the thread that runs the line, or once it returned. */
crn_metrics crn_line_metrics(const crn_line *line);

/* Bytes that the limits make the line reserve, most of them address space until used. */
size_t crn_line_bytes(const crn_config *config);

#endif
