/* When a device counts as lost because a batch, or a call, does not end. Arithmetic only. */
#ifndef CRN_SRC_ENGINE_LIMIT_H
#define CRN_SRC_ENGINE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/clock.h"

/* Lower bound of every limit. */
#define CRN_LIMIT_MIN_NS (20 * CRN_NS_PER_MS)

/* A limit is at least this share of the budget, and at most half of it: the rest is left for the
 * processor if the device does not respond. Through an MPS server another process's kernel, of
 * whatever length, goes first at any time, so that what was measured before promises nothing: there
 * every limit is half the budget. */
#define CRN_LIMIT_SHARE     4
#define CRN_LIMIT_SHARE_MAX 2

/* The longest of the recent batches is forgotten by this share with every batch. */
#define CRN_LIMIT_FORGET 64

/* Limit of a call, and lower bound of a batch's. */
static inline int64_t crn_limit_of_call_ns(int64_t budget_ns, bool mps)
{
    int64_t limit_ns = budget_ns / (mps ? CRN_LIMIT_SHARE_MAX : CRN_LIMIT_SHARE);
    return limit_ns < CRN_LIMIT_MIN_NS ? CRN_LIMIT_MIN_NS : limit_ns;
}

/* Limit of a batch: eight times its recent duration, or twice the longest of the device's recent
 * batches. */
static inline int64_t crn_limit_of_batch_ns(int64_t expected_ns, int64_t longest_ns,
                                            int64_t budget_ns, bool mps)
{
    int64_t limit_ns = 8 * expected_ns > 2 * longest_ns ? 8 * expected_ns : 2 * longest_ns;
    int64_t min_ns = crn_limit_of_call_ns(budget_ns, mps);
    int64_t max_ns = budget_ns / CRN_LIMIT_SHARE_MAX;
    if (limit_ns > max_ns)
        limit_ns = max_ns;
    return limit_ns > min_ns ? limit_ns : min_ns;
}

/* The longest of the recent batches, after one that took `took_ns`. */
static inline int64_t crn_limit_longest_ns(int64_t longest_ns, int64_t took_ns)
{
    longest_ns -= longest_ns / CRN_LIMIT_FORGET;
    return took_ns > longest_ns ? took_ns : longest_ns;
}

#endif
