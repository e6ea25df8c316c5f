/*
 * A fruit and its results as bytes: the verdict, in MessagePack or JSON. No sockets.
 *
 * Everything that packing needs is reserved when the packer is created; a verdict allocates nothing
 * once the emitter's buffer has grown to the largest one.
 */
#ifndef CRN_VERDICT_H
#define CRN_VERDICT_H

#include "src/emit.h"
#include "src/fruit.h"
#include "src/store.h"

#define CRN_VERDICT_VERSION 1

typedef struct crn_verdict crn_verdict;

/* What a verdict says beside its fruit and the results. */
typedef struct crn_verdict_facts {
    const char *run; /* id of the daemon's start */
    uint32_t lane;
    uint64_t sequence; /* of the lane's verdicts */
    crn_verdict_kind kind;
    uint64_t published_ns; /* CLOCK_REALTIME */
    int64_t now_ns;        /* the same moment on CLOCK_MONOTONIC */
    bool without_defects; /* leaves all defects out and says so (truncated, complete turns partial):
                             for when the memory for a whole verdict cannot be had */
} crn_verdict_facts;

/* A packed verdict; the bytes are the emitter's and valid until it begins again. */
typedef struct crn_verdict_bytes {
    const unsigned char *bytes;
    size_t size;
    size_t stale_at; /* where `stale` stands, false: crn_emit_set_bool turns it without repacking */
} crn_verdict_bytes;

/* `config` is resolved, the caller's, and outlives the packer. 0, -ENOMEM. */
int crn_verdict_create(const crn_config *config, crn_verdict **ret_verdict);
void crn_verdict_free(crn_verdict **verdict);

/* Packs one verdict. `fruit->views` has config->limits.views entries. 0, -ENOMEM. */
int crn_verdict_pack(crn_verdict *verdict, crn_emit *emit, const crn_fruit *fruit,
                     const crn_verdict_facts *facts, const crn_store *store,
                     crn_verdict_bytes *ret_bytes);

#endif
