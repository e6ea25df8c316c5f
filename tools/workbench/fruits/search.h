/* Which recorded fruits are asked for. */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_SEARCH_H
#define CRN_TOOLS_WORKBENCH_FRUITS_SEARCH_H

#include "src/formats/encoding/encoder.h"
#include "tools/workbench/fruits/index.h"

/* What of a search is answered at once. */
#define CRN_FRUITS_SHOWN_MAX 60

typedef struct crn_fruit_search {
    int64_t from_ns, to_ns; /* of arrival: from <= time < to */
    int64_t lane;           /* -1: any */
    int32_t kind;           /* crn_verdict_kind; -1: any */
    bool is_one;            /* only fruits of this number */
    uint64_t fruit;
    const char *class, *lot; /* NULL: any */
    int64_t skip;            /* so many of those found are passed over */
} crn_fruit_search;

/* Finds the fruits: their numbers in the table, CRN_FRUITS_SHOWN_MAX at most. Returns how many. */
int32_t crn_fruits_find(const crn_fruit_table *table, const crn_fruit_search *search,
                        int64_t ret_numbers[CRN_FRUITS_SHOWN_MAX], uint64_t *ret_total);

/* Writes {total, fruits: [{number, lane, epoch, fruit, time_ms, views: [..], kind, lot, classes}]}.
 */
void crn_fruits_write(const crn_fruit_table *table, const crn_fruit_search *search,
                      crn_encoder *encoder);

/* Writes what there is: {fruits, views, verdicts, from_ms, to_ms, lanes, classes, lots, notes…}. */
void crn_fruits_write_summary(const crn_fruit_table *table, crn_encoder *encoder);

#endif
