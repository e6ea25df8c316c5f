/*
 * cernita-apply: one operator on one file. What its operators share: the common options, the
 * choice of the operators' table, timing, memory, and faults in a person's words.
 *
 * Exit status: 2 when the command line cannot mean anything, 1 when it did not work out with the
 * files that it names.
 */
#ifndef CRN_TOOLS_APPLY_APPLY_H
#define CRN_TOOLS_APPLY_APPLY_H

#include "stages/base/error.h"
#include "stages/backend.h"
#include "stages/picture/picture.h"
#include "tools/common/options.h"

/* The last rows of every operator's table of options. */
#define CRN_APPLY_OPTIONS                                                                          \
    {"backend", "B", "auto, serial, openmp or cuda (auto)"},                                       \
        {"threads", "N", "threads that openmp may use, 1 to 1024 (as many as there are cores)"},   \
        {"time", NULL,                                                                             \
         "print how long the operator took, reading and writing excluded:\n"                       \
         "time_ms median=... min=... max=... n=...; with cuda this counts the transfers, and\n"    \
         "kernel_ms, upload_ms, download_ms say what it is made of"},                              \
        {"repeat", "N", "with --time: run it N times, 1 to 10000 (1); all runs count"},            \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }

/* What is timed of each run; a device's own parts only with cuda. */
typedef enum crn_apply_clock {
    CRN_APPLY_ALL,
    CRN_APPLY_KERNEL,
    CRN_APPLY_UPLOAD,
    CRN_APPLY_DOWNLOAD,
    CRN_APPLY_CLOCKS,
} crn_apply_clock;

/* One run of the program. */
typedef struct crn_apply {
    const crn_tool *tool;
    int32_t backend; /* crn_backend */
    int32_t threads, repeat;
    bool timed;
    const crn_ops *ops;
    crn_context *context;
    int64_t *run_ns[CRN_APPLY_CLOCKS]; /* what each of the `repeat` runs took so far */
} crn_apply;

void crn_apply_init(const crn_tool *tool, crn_apply *ret_apply);

/* Takes a common option, numbered from the first of CRN_APPLY_OPTIONS. */
void crn_apply_option(crn_apply *apply, int number, const char *text);

/* After the last option: finds the backend, which must offer that operator, makes the context, and
 * sees whether a file can be made at `out`: before the work, not after it. 0 or negative errno. */
int crn_apply_open(crn_apply *apply, const char *operator_name, const char *out, crn_error *error);

/* Says what went wrong when r < 0, else how long it took if that was asked for; frees what it owns.
 * Returns the exit status. */
int crn_apply_close(crn_apply *apply, int r, const crn_error *error);

/*
 * Calls the operator `repeat` times and adds what each took to its run: an operator called for
 * several windows has the sum. 0, or the operator's fault at once.
 */
typedef int crn_apply_call(const crn_apply *apply, void *argument);
int crn_apply_run(crn_apply *apply, crn_apply_call *call, void *argument);

/* Forgets what the runs took so far. */
void crn_apply_forget(crn_apply *apply);

/* --- files --- */

/* Does the path end so, in letters of either case? */
bool crn_apply_ends(const char *path, const char *end);

/* OUT must end in one of `ends` (NULL-ended; else exit 2). */
void crn_apply_check_ending(const crn_apply *apply, const char *path, const char *const *ends);

/* Could a result of the picture's pages, samples and size be written there, a PNG in 8 bits? 0 or
 * negative errno. */
int crn_apply_check_shape(const char *out, const crn_picture *picture, crn_error *error);

/* A page's or plane's bytes. */
uint64_t crn_apply_plane_bytes(const crn_image *image, crn_type type);

/*
 * Is there memory for the picture `path`, as probed, and `more_bytes` of results and scratch? Asked
 * before anything is allocated. 0 or -ENOMEM.
 */
int crn_apply_check_memory(const char *path, const crn_picture *probed, uint64_t more_bytes,
                           crn_error *error);

/* --- faults --- */

/* An operator returned r < 0 in spite of all checks: as much as can be said. Returns r. */
int crn_apply_refused(const crn_apply *apply, int r, const char *path, const crn_image *image,
                      crn_error *error);

/* --- the operators: each takes what follows its name (argv[0]) and returns the exit status --- */

int crn_apply_contours(int argc, char **argv);
int crn_apply_morphology(int argc, char **argv);
int crn_apply_convolve(int argc, char **argv);
int crn_apply_haar(int argc, char **argv);
int crn_apply_ranklet(int argc, char **argv);
int crn_apply_diamond_square(int argc, char **argv);

#endif
