/*
 * The defects of a view as the bytes of its fruit's verdict, in each format that an outlet uses,
 * and in MessagePack if the flight recorder keeps it. Workers pack them, because a thousand of them
 * take 0.5 ms in MessagePack and 20 ms in JSON; the line's thread joins the views of a fruit by
 * copying.
 *
 * `parent` alone depends on the views before, because it is an index in the whole verdict: where a
 * defect has one, the packed bytes have a gap (encoder.h), which is filled when they are joined.
 */
#ifndef CRN_SRC_PUBLISH_PACKED_DEFECTS_H
#define CRN_SRC_PUBLISH_PACKED_DEFECTS_H

#include "src/ingest/view.h"
#include "src/formats/encoding/encoder.h"
#include "src/publish/result_store.h"
#include "stages/cernita.h"

/* Formats of verdicts; arrays of them are indexed by crn_format. */
#define CRN_FORMATS (CRN_FORMAT_JSON + 1)

/* Where a defect lies. */
typedef enum crn_on_fruit {
    CRN_BESIDE_FRUIT,
    CRN_ON_FRUIT,
    CRN_ON_FRUIT_UNKNOWN,
} crn_on_fruit;

/* True if an outlet, or the flight recorder, has verdicts in that format. */
bool crn_format_is_used(const crn_config *config, crn_format format);

/* Sums over a view's defects of one class. */
typedef struct crn_packed_total {
    int32_t class_index;
    uint32_t count; /* contours that are not holes */
    double area_px; /* less that of the holes */
} crn_packed_total;

/* Packs the defects of one view at a time, and holds them until the next. */
typedef struct crn_defects_packer crn_defects_packer;

/* `config` is resolved and must outlive the packer. Returns 0 or -ENOMEM. */
int crn_defects_packer_create(const crn_config *config, crn_defects_packer **ret_packer);
void crn_defects_packer_free(crn_defects_packer **packer);

/* Bytes that a packer takes at most; one view in the store takes less. */
size_t crn_defects_packer_bytes(const crn_config *config);

/*
 * Packs a view's defects. `skipped`: a bit per step of the chain. Returns 0; -ETIME if the view's
 * deadline passed or it was cancelled (`limit`; NULL: neither); -ENOMEM. The view's settings
 * (crn_view.config) replace the packer's. `on_fruit`: of each defect; NULL: it is not told.
 */
int crn_defects_pack(crn_defects_packer *packer, const crn_defects *defects,
                     const crn_on_fruit *on_fruit, uint32_t view_index, uint32_t skipped,
                     const crn_view *limit);

/* Copies what was packed into the store. *ret_handle is CRN_RESULT_NONE if there are no defects and
 * none were truncated. Returns 0 or -ENOBUFS. */
int crn_packed_defects_put(const crn_defects_packer *packer, crn_result_store *store,
                           uint32_t *ret_handle);

#define CRN_ATTACHED_MAX 4

/* The same, with up to CRN_ATTACHED_MAX further pieces behind it: there is always a handle then. */
int crn_packed_defects_put_with(const crn_defects_packer *packer, const crn_result_part *attached,
                                int attached_count, crn_result_store *store, uint32_t *ret_handle);

/* At the first of these pieces; by any thread, while the result is not released. */
crn_result_reader crn_packed_defects_attached(const crn_result_store *store, uint32_t handle);

/* A view's packed defects in the store. */
typedef struct crn_packed_defects {
    uint32_t count;
    bool truncated;
    uint32_t total_count;
    crn_packed_total totals[CRN_CLASSES_MAX]; /* of the classes that have defects */
    uint64_t bytes[CRN_FORMATS];
    uint32_t gaps[CRN_FORMATS];
    crn_result_reader reader; /* at the gaps of the first format */
} crn_packed_defects;

/* CRN_RESULT_NONE stands for no defects. */
void crn_packed_defects_open(const crn_result_store *store, uint32_t handle,
                             crn_packed_defects *ret_packed);

/* Writes the defects into an array that the encoder has begun, and that has `before` defects. The
 * encoder's format is one that the packer had. */
void crn_packed_defects_join(const crn_packed_defects *packed, uint64_t before,
                             crn_encoder *encoder);

#endif
