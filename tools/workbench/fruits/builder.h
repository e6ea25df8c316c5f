/* The index while it is made: index.c reads recordings into it, archive.c or log.c adds what
 * verdicts say. */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_BUILDER_H
#define CRN_TOOLS_WORKBENCH_FRUITS_BUILDER_H

#include "tools/workbench/fruits/index.h"

/* A view as it was met. */
typedef struct crn_met_view {
    uint64_t epoch, fruit;
    int64_t time_ns;
    uint32_t lane;
    crn_view_place at;
} crn_met_view;

typedef struct crn_fruit_builder {
    crn_fruit_index head;
    crn_met_view *met; /* by lane, epoch, fruit, view once all are read */
    size_t met_count;
    crn_recorded_fruit *fruits; /* in the same order; by time at the end */
    char (*lots)[CRN_CLASS_NAME_MAX];
    char *notes;
} crn_fruit_builder;

/* What a verdict says of a fruit. */
typedef struct crn_fruit_verdict {
    uint64_t lane, epoch, fruit;
    int32_t kind;
    uint32_t shown_view;
    uint64_t found;  /* by crn_fruit_builder_class() */
    const char *lot; /* "" or NULL: none */
    crn_verdict_place place;
} crn_fruit_verdict;

/* The class's bit; 0 if there is no room for one more class. */
uint64_t crn_fruit_builder_class(crn_fruit_builder *builder, const char *name);

/* Keeps the verdict if its fruit was recorded; the last one of several. 0 or -ENOMEM. */
int crn_fruit_builder_judge(crn_fruit_builder *builder, const crn_fruit_verdict *verdict);

/* The time in which verdicts of the recorded fruits can lie. */
void crn_fruit_builder_span(const crn_fruit_builder *builder, int64_t *ret_from_ns,
                            int64_t *ret_to_ns);

/* Each reads the verdicts of that time. 0, or negative errno with one line. */
int crn_fruit_read_archive(crn_fruit_builder *builder, const char *path, crn_error *error);
int crn_fruit_read_log(crn_fruit_builder *builder, const char *path, crn_error *error);

#endif
