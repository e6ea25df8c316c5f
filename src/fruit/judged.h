/*
 * Fruits that have their verdict, remembered so that none gets a second one, and so that a fruit
 * whose number was used before gets its own. For src/fruit alone.
 *
 * A view of a number that is remembered is a straggler if it was received, or captured, within the
 * time in which stragglers come (straggler_ns) after, or about, the fruit that was judged. Later it
 * is a straggler only if that fruit lacked it and nothing says when it was captured; otherwise the
 * number has returned, with another fruit. A view that the judged fruit had, and that comes again
 * within that time, captured after all of the judged fruit's (without capture times: with a new
 * sequence number), shows that the number has returned too early: its views are dropped like
 * stragglers, those too that come just after that time, and its fruit gets no verdict.
 *
 * Memory: as many verdicts as the table has entries, each for CRN_JUDGED_KEEP_NS at most.
 */
#ifndef CRN_SRC_FRUIT_JUDGED_H
#define CRN_SRC_FRUIT_JUDGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/view/wire.h"
#include "stages/base/clock.h"

#define CRN_JUDGED_KEEP_NS (600 * CRN_NS_PER_S)

/* Hash of a fruit's number. The constants: 2^64 divided by the golden ratio, and the two
 * multipliers of SplitMix64; odd, so that no bit of the number is lost. */
static inline uint32_t crn_fruit_hash(uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint64_t mixed = fruit * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32 ^ epoch) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 32 ^ lane) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(mixed >> 32);
}

typedef struct crn_judged_fruit {
    uint64_t epoch, fruit;
    uint64_t came;        /* bit v: view v came, before the verdict or after it */
    uint64_t stragglers;  /* of these, after it */
    uint64_t again;       /* views that came with the fruit that took the number too early */
    uint64_t captured_ns; /* latest of its views; 0: unknown */
    int64_t judged_ns;
    uint32_t lane;
    uint32_t known : 1;     /* 0: the entry is free, or a later fruit has the number */
    uint32_t again_ms : 31; /* from the verdict to the first of `again` */
} crn_judged_fruit;

/* The kinds of views that belong to no open fruit. */
typedef enum crn_judged_look {
    CRN_JUDGED_NEW,       /* its number is not remembered */
    CRN_JUDGED_RETURNS,   /* its number was another fruit's: this is a new one */
    CRN_JUDGED_STRAGGLER, /* of the judged fruit */
    CRN_JUDGED_EARLY,     /* of a fruit that took the number too early */
    CRN_JUDGED_EARLY_TOO, /* another view of that one */
} crn_judged_look;

typedef struct crn_judged crn_judged;

/* Memory for so many verdicts. */
size_t crn_judged_bytes(int32_t capacity);

/* Returns 0 or -ENOMEM. */
int crn_judged_create(int32_t capacity, crn_judged **ret_judged);
void crn_judged_free(crn_judged **judged);

/* NULL if the number is not remembered. Valid until the next call of crn_judged_remember. */
crn_judged_fruit *crn_judged_find(crn_judged *judged, uint32_t lane, uint64_t epoch,
                                  uint64_t fruit);

typedef struct crn_judged_times {
    int64_t now_ns, straggler_ns;
    int64_t assemble_ns; /* from a fruit's first view to its last */
} crn_judged_times;

/* Decides on a view whose number crn_judged_find found, and notes that it came. is_new: its
 * sequence number was not seen before. */
crn_judged_look crn_judged_view(crn_judged_fruit *fruit, const crn_view_header *header, bool is_new,
                                const crn_judged_times *times);

/* Whether the view was captured within that time of the judged fruit; `otherwise` if nothing tells.
 */
bool crn_judged_is_near(const crn_judged_fruit *fruit, const crn_view_header *header,
                        int64_t straggler_ns, bool otherwise);

/* Records a verdict; `known` is set. Returns false if it took the place of one given less than
 * straggler_ns before, whose stragglers would open their fruit again. */
bool crn_judged_remember(crn_judged *judged, const crn_judged_fruit *fruit, int64_t straggler_ns);

#endif
