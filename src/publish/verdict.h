/**
 * @file
 * A fruit and its results as bytes: the verdict, in MessagePack or JSON. No sockets.
 *
 * Every message on the sockets has two parts: the topic `fruit/<lane>` and one map (MessagePack, or
 * JSON if configured). README.md documents its keys, which are those of fields.h.
 *
 * The defects are packed before (packed_defects.h) and only copied. A verdict allocates nothing
 * once the encoder's buffer has grown to the largest one.
 *
 * Prints the verdict on a fruit, as JSON:
 *
 * @code{.c}
 * int print_verdict(crn_verdict *packer, crn_encoder *encoder, const crn_fruit *fruit,
 *                   const crn_verdict_facts *facts, const crn_result_store *store)
 * {
 *     crn_verdict_bytes packed;
 *     int r = crn_verdict_pack(packer, encoder, fruit, facts, store, &packed);
 *     if (r < 0)
 *         return r;
 *     fwrite(packed.bytes, 1, packed.size, stdout);
 *     return 0;
 * }
 * @endcode
 *
 * `packer` comes from crn_verdict_create(), `encoder` from crn_encoder_create(CRN_FORMAT_JSON, …).
 */
#ifndef CRN_SRC_PUBLISH_VERDICT_H
#define CRN_SRC_PUBLISH_VERDICT_H

#include "stages/base/api.h"
#include "src/formats/encoding/encoder.h"
#include "src/fruit/fruit.h"
#include "src/publish/result_store.h"

CRN_C_BEGIN

/** Value of the key `v`: unchanged as long as keys are only added. */
#define CRN_VERDICT_VERSION 1

/** Packs verdicts, one at a time; holds the memory for that. */
typedef struct crn_verdict crn_verdict;

/** Contents of a verdict besides its fruit and the results. */
typedef struct crn_verdict_facts {
    const char *run; /**< id of the daemon's start */
    uint32_t lane;
    uint64_t sequence; /**< number of the lane's verdict */
    crn_verdict_kind kind;
    uint64_t published_ns; /**< CLOCK_REALTIME */
    int64_t now_ns;        /**< the same time on CLOCK_MONOTONIC */
    /** Omits all defects and says so (truncated; complete becomes partial): for when memory for a
     * whole verdict is not available. */
    bool without_defects;
    /** Lists no defects; totals and all else are as in the whole verdict. */
    bool totals_only;
} crn_verdict_facts;

/** The kind that the verdict tells: without its defects it is not complete. */
crn_verdict_kind crn_verdict_facts_kind(const crn_verdict_facts *facts);

/** What a verdict tells of a class, over all views. */
typedef struct crn_class_total {
    uint64_t count; /**< contours that are not holes */
    double area_px; /**< in px² */
} crn_class_total;

/** A packed verdict; the bytes belong to the encoder until its next begin. */
typedef struct crn_verdict_bytes {
    const unsigned char *bytes;
    size_t size;
    /** Offset of `stale`, false: crn_encoder_set_bool() changes it without repacking. */
    size_t stale_at;
} crn_verdict_bytes;

/** A verdict that was published. */
typedef struct crn_published {
    crn_verdict_facts facts;
    size_t grader_bytes; /**< its size in the grader's format */
    /** In MessagePack, as packed; `bytes` is NULL if no socket uses that format. */
    crn_verdict_bytes msgpack;
    const crn_class_total *totals; /**< by class; NULL: no memory, so that there is no verdict */
} crn_published;

/**
 * Creates a packer.
 *
 * @param config resolved; the caller's, must outlive the packer: the settings of fruits that name
 *        none (crn_fruit.config)
 * @param ret_verdict free it with crn_verdict_free()
 * @return 0 or -ENOMEM
 */
int crn_verdict_create(const crn_config *config, crn_verdict **ret_verdict);

/** Frees *verdict and sets it to NULL; NULL is allowed. */
void crn_verdict_free(crn_verdict **verdict);

/**
 * Packs one verdict.
 *
 * @param encoder in the format of the message, which an outlet of the configuration has
 * @param fruit its `views` has config->limits.views entries
 * @param store holds the results of the fruit's views
 * @return 0 or -ENOMEM
 */
int crn_verdict_pack(crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                     const crn_verdict_facts *facts, const crn_result_store *store,
                     crn_verdict_bytes *ret_bytes);

/** Totals of the verdict packed last, by class; NULL if that failed. */
const crn_class_total *crn_verdict_totals(const crn_verdict *verdict);

CRN_C_END

#endif
