/*
 * A received verdict as a plain struct, for tools to print, draw and count. MessagePack and JSON
 * verdicts decode to the same struct.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_DECODE_H
#define CRN_SRC_FORMATS_VERDICT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "src/formats/verdict/kind.h"
#include "src/formats/view/wire.h"
#include "stages/config/config.h"
#include "stages/stage/classes.h"
#include "src/formats/encoding/messagepack_json.h"

#define CRN_DECODED_TIMES_MAX 32
#define CRN_DECODED_LANES_MAX 256

/*
 * Texts are truncated to this and made safe to print: control characters and invalid UTF-8 become
 * \xNN.
 */
#define CRN_DECODED_TEXT_BYTES CRN_CLASS_NAME_MAX

typedef struct crn_decoded_time {
    char name[CRN_DECODED_TEXT_BYTES]; /* "queue", a stage, "total" */
    double ms;
} crn_decoded_time;

typedef struct crn_decoded_total {
    char name[CRN_DECODED_TEXT_BYTES]; /* class */
    uint64_t count;
    double area_px, level; /* level: NaN if missing, of daemons up to 0.1.0 */
} crn_decoded_total;

/* State of one view, in the verdict's own words. */
typedef struct crn_decoded_view {
    uint64_t view;
    char state[CRN_DECODED_TEXT_BYTES], reason[CRN_DECODED_TEXT_BYTES];
    char backend[CRN_DECODED_TEXT_BYTES];
    uint64_t captured_ns, encoder;        /* 0 if it was not received */
    double received_ms, queue_ms, run_ms; /* NaN if it was not received or did not start */
    char name[CRN_DECODED_TEXT_BYTES];    /* class with invalid values; else empty */
    uint64_t count;                       /* number of invalid values */
} crn_decoded_view;

typedef struct crn_decoded_defect {
    uint64_t view;
    char name[CRN_DECODED_TEXT_BYTES]; /* class */
    bool closed, hole, on_fruit;       /* on_fruit: false only where the verdict says so */
    double area_px, mean_probability;
    double bbox[4];     /* x0, y0, x1, y1 */
    double centroid[2]; /* x, y */
    uint32_t first_point, point_count;
} crn_decoded_defect;

/* Measures of one class, and of one defect of the fruit. */
typedef struct crn_decoded_measure {
    char name[CRN_DECODED_TEXT_BYTES]; /* class */
    uint64_t count;
    double area_mm2, largest_mm2, longest_mm;
} crn_decoded_measure;

typedef struct crn_decoded_spot {
    char name[CRN_DECODED_TEXT_BYTES]; /* class */
    double area_mm2, length_mm, width_mm;
    double lambda_deg, v;
} crn_decoded_spot;

/* Where a view shows the fruit; NaN: not known. */
typedef struct crn_decoded_pose {
    uint64_t view;
    double x, y, rx, ry, tilt_deg, roll_deg, confidence, roll_confidence;
    double from_deg, to_deg; /* its strip; from < to only where it owns one */
    char source[CRN_DECODED_TEXT_BYTES], roll_source[CRN_DECODED_TEXT_BYTES];
} crn_decoded_pose;

typedef struct crn_decoded_surface {
    bool is_measured;                                  /* otherwise only poses are there, if they */
    double diameter_mm, length_mm, coverage, seen_mm2; /* NaN if it is not */
    char roll_axis[CRN_DECODED_TEXT_BYTES];            /* "y" or "x"; empty: not said */
    uint32_t pose_count, measure_count, spot_count;
    crn_decoded_pose poses[CRN_FRUIT_VIEWS_MAX];
    crn_decoded_measure measures[CRN_CLASSES_MAX];
    crn_decoded_spot *spots;
} crn_decoded_surface;

typedef struct crn_decoded {
    char run[CRN_DECODED_TEXT_BYTES]; /* decimal text if it came as a number */
    char settings[CRN_DECODED_TEXT_BYTES], recipe[CRN_DECODED_TEXT_BYTES];
    char lot[CRN_DECODED_TEXT_BYTES]; /* empty: none, or of a daemon without lots */
    uint64_t lane, epoch, fruit, sequence;
    crn_verdict_kind kind;
    bool stale, truncated;
    uint64_t encoder, captured_ns, published_ns, deadline_ns;
    uint64_t views_expected, views_received, views_judged;
    double budget_ms, total_ms, assembly_ms; /* NaN if missing */
    char closed_by[CRN_DECODED_TEXT_BYTES];  /* empty if missing */
    uint32_t time_count, total_count, skipped_count, view_count, defect_count, point_count;
    crn_decoded_time times[CRN_DECODED_TIMES_MAX]; /* in the message's order; "total" among them */
    crn_decoded_total totals[CRN_CLASSES_MAX];     /* in the message's order */
    char skipped[CRN_STAGES_MAX][CRN_DECODED_TEXT_BYTES];
    crn_decoded_view views[CRN_FRUIT_VIEWS_MAX]; /* in the message's order */
    crn_decoded_surface surface;
    crn_decoded_defect *defects; /* in the message's order */
    float *xy;                   /* point_count x, y pairs; always finite */
} crn_decoded;

/* True if the message names another version of verdicts than is decoded here: it is one of a newer
 * daemon rather than none. */
bool crn_decode_is_other_version(const crn_messagepack_json *packed);

/*
 * Decodes a verdict from a message's tree. The caller owns *ret_decoded. 0, -EBADMSG with one
 * clause in *error that names the key, or -ENOMEM.
 */
int crn_decode(const crn_messagepack_json *packed, crn_decoded **ret_decoded, crn_error *error);

/* The same without defects and points, which are most of a large verdict: for those who count. */
int crn_decode_head(const crn_messagepack_json *packed, crn_decoded **ret_decoded,
                    crn_error *error);

/* The entry of that view, or NULL. */
const crn_decoded_view *crn_decoded_find_view(const crn_decoded *decoded, uint64_t view);

bool crn_decoded_view_is(const crn_decoded_view *view, const char *state);
bool crn_decoded_on_device(const crn_decoded_view *view);

/* True if the verdict left later than budget_ms after the close, or after its deadline. */
static inline bool crn_is_over_budget(const crn_decoded *verdict)
{
    return verdict->total_ms > verdict->budget_ms || verdict->stale;
}

/* Frees *decoded and sets it to NULL; NULL is fine. */
void crn_decoded_free(crn_decoded **decoded);

/* The daemon's status message (topic `status`, once a second), as far as tools use it. */
typedef struct crn_decoded_status {
    char run[CRN_DECODED_TEXT_BYTES], state[CRN_DECODED_TEXT_BYTES];
    uint64_t alive_ms;    /* of `alive` messages alone; 0: not told */
    uint64_t slots;       /* 0: a daemon that does not say */
    uint32_t class_count; /* 0: likewise */
    char classes[CRN_CLASSES_MAX][CRN_DECODED_TEXT_BYTES];
    uint32_t lane_count; /* lanes with a verdict so far */
    struct {
        uint64_t lane, sequence; /* of its last verdict */
    } lanes[CRN_DECODED_LANES_MAX];
} crn_decoded_status;

int crn_decode_status(const crn_messagepack_json *packed, crn_decoded_status *ret_status,
                      crn_error *error);

#endif
