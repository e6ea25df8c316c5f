/*
 * cernita-apply: one operator on one file. What the operators share: common options, choice of
 * backend, timing, memory checks and error messages.
 *
 * Exit status: 0 success, 1 failure with the given files, 2 usage error.
 */
#ifndef CRN_TOOLS_COMMON_OPERATORS_APPLY_H
#define CRN_TOOLS_COMMON_OPERATORS_APPLY_H

#include "stages/base/error.h"
#include "stages/backend.h"
#include "stages/picture/picture.h"
#include "tools/common/operators/operators.h"
#include "tools/common/options.h"

/* What is timed of each run; kernel and transfers only with cuda. */
typedef enum crn_apply_clock {
    CRN_APPLY_ALL,
    CRN_APPLY_KERNEL,
    CRN_APPLY_UPLOAD,
    CRN_APPLY_DOWNLOAD,
    CRN_APPLY_CLOCKS,
} crn_apply_clock;

/* One run of the program. */
typedef struct crn_apply {
    crn_tool tool;
    int32_t backend; /* crn_backend */
    int32_t threads, repeat;
    bool timed, dry;
    const crn_ops *ops;
    crn_context *context;
    int64_t start_ns; /* what starting the backend took */
    int64_t
        *run_ns[CRN_APPLY_CLOCKS]; /* duration of each run so far: the cold one, then `repeat` */
} crn_apply;

/* The last step before the work. 0, or with --dry-run -ECANCELED, which counts as success. */
int crn_apply_begin(const crn_apply *apply);

/*
 * Calls the operator once and `repeat` times more, and adds each call's duration to that run's, so
 * that an operator called once per window reports the sum. 0, or the operator's error at once.
 */
typedef int crn_apply_call(const crn_apply *apply, void *argument);
int crn_apply_run(crn_apply *apply, crn_apply_call *call, void *argument);

/* Resets the accumulated durations to 0. */
void crn_apply_forget(crn_apply *apply);

/* --- files --- */

/* True if the path ends in `end`, ignoring case. */
bool crn_apply_ends(const char *path, const char *end);

/* Checks that a result with the picture's pages, samples and size can be written to `out`, a PNG in
 * 8 bits. 0 or negative errno. */
int crn_apply_check_shape(const char *out, const crn_picture *picture, crn_error *error);

/* Bytes of one plane of the image in `type`. */
uint64_t crn_apply_plane_bytes(const crn_image *image, crn_type type);

/*
 * Checks that memory suffices for the probed picture `path` and `more_bytes` of results and
 * scratch, before anything is allocated. 0 or -ENOMEM.
 */
int crn_apply_check_memory(const char *path, const crn_picture *probed, uint64_t more_bytes,
                           crn_error *error);

/* --- errors --- */

/* Reports an operator's error r < 0 that no earlier
 * check caught, as precisely as r allows. Returns r. */
int crn_apply_refused(const crn_apply *apply, int r, const char *path, const crn_image *image,
                      crn_error *error);

/* --- the operators --- */

extern const crn_operator crn_apply_contours;
extern const crn_operator crn_apply_morphology;
extern const crn_operator crn_apply_convolve;
extern const crn_operator crn_apply_haar;
extern const crn_operator crn_apply_ranklet;
extern const crn_operator crn_apply_diamond_square;

#endif
