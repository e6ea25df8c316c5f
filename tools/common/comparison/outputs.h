/* The forms of a report of two runs; used by report.c alone. Failed writes are left to who finishes
 * the stream. */
#ifndef CRN_TOOLS_COMMON_COMPARISON_OUTPUTS_H
#define CRN_TOOLS_COMMON_COMPARISON_OUTPUTS_H

#include <stdio.h>

#include "src/formats/encoding/encoder.h"
#include "tools/common/comparison/changes.h"

/* What a report says beside the changes. */
typedef struct crn_comparison_facts {
    const char *run[CRN_COMPARED_RUNS];
    uint64_t unreadable;      /* fruits of which a verdict cannot be decoded */
    uint64_t second;          /* verdicts on a fruit that has one of the same run */
    const crn_texts *outlets; /* their names; NULL: outlets were not decided */
    bool has_photos;          /* any view that was drawn has one */
} crn_comparison_facts;

/* A picture of one of the worst fruits, as PNG. */
typedef struct crn_comparison_picture {
    char *png; /* NULL: none */
    size_t bytes;
} crn_comparison_picture;

/* The outlet's name; NULL: it was not decided. */
static inline const char *crn_comparison_outlet(const crn_comparison_facts *facts,
                                                const crn_fruit_change *change, int run)
{
    bool is_decided = facts->outlets && change->outlet[run] != CRN_NO_OUTLET;
    return is_decided ? facts->outlets->item[change->outlet[run]] : NULL;
}

/* CSV: a row for each class of a fruit, or one if neither verdict names a class. Outlets have
 * columns where there are names. */
void crn_comparison_csv_begin(FILE *out, const crn_comparison_facts *facts);
void crn_comparison_csv_add(FILE *out, const crn_compared_fruit *fruit,
                            const crn_comparison_facts *facts);

/* JSON: an object per fruit, then the sums. 0 or -ENOMEM. */
void crn_comparison_json_begin(FILE *out);
int crn_comparison_json_add(FILE *out, crn_encoder *encoder, const crn_compared_fruit *fruit,
                            const crn_comparison_facts *facts, bool is_first);
int crn_comparison_json_end(FILE *out, crn_encoder *encoder, const crn_run_changes *changes,
                            const crn_comparison_facts *facts);

/* HTML; pictures[i] is that of changes->worst[i]. */
void crn_comparison_page(FILE *out, const crn_run_changes *changes,
                         const crn_comparison_facts *facts, const crn_comparison_picture *pictures);

#endif
