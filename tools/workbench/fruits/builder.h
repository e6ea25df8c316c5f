/* The index while it is made: renew.c takes over the former one, read.c adds recordings, builder.c
 * joins their views to fruits, archive.c or log.c adds what verdicts say. */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_BUILDER_H
#define CRN_TOOLS_WORKBENCH_FRUITS_BUILDER_H

#include "tools/workbench/fruits/index.h"

/* For qsort: below 0, 0 or above. */
#define CRN_FRUITS_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* A view as it was met. */
typedef struct crn_met_view {
    uint64_t epoch, fruit;
    int64_t time_ns;
    uint32_t lane;
    bool is_new;     /* not taken over from the former index */
    uint64_t number; /* of its fruit in the former index; CRN_FRUIT_NEW */
    crn_view_place at;
} crn_met_view;

#define CRN_FRUIT_NEW UINT64_MAX

/* A fruit while it is not known which number it gets. */
typedef struct crn_met_fruit {
    crn_recorded_fruit of;
    uint64_t number; /* CRN_FRUIT_NEW: the next free one */
} crn_met_fruit;

typedef struct crn_fruit_builder {
    crn_fruit_index head;
    crn_met_view *met; /* by lane, epoch, fruit, view once all are read */
    size_t met_count;
    crn_met_fruit *fruits; /* in the same order; by number at the end */
    crn_indexed_recording *recordings;
    char (*lots)[CRN_CLASS_NAME_MAX];
    char *paths, *notes;
    int64_t judged_to_ns; /* verdicts up to then are known, of all views that are not new */
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

/* Adds lines, without the last one's end, to the notes; too many are left out. 0 or -ENOMEM. */
int crn_fruit_builder_note(crn_fruit_builder *builder, const char *text, size_t length);

/* Reads the recordings that are not known as they are, with progress; *ret_changed is set if there
 * were any. 0, or negative errno with one line. */
int crn_fruit_read_recordings(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                              bool *ret_changed, crn_error *error);

/* Once all views are there: joins them to fruits. 0, or negative errno with one line. */
int crn_fruit_builder_join(crn_fruit_builder *builder, crn_error *error);

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
