/*
 * The recorded fruits of the folders and files that the command line names: which views a fruit
 * has, where they lie, and what its verdict says, if an archive or a log has it. Made by a job as a
 * file in the pictures' folder (memory), which other jobs map and read only.
 *
 * It is renewed when it is asked for and files were added or changed: of the recordings those are
 * read, and of the verdicts those that may be of their fruits. A fruit keeps its number. What was
 * removed is told when it is opened.
 *
 * The file is this process's own: only a job of the same program has written it.
 */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_INDEX_H
#define CRN_TOOLS_WORKBENCH_FRUITS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict_log/reader.h"
#include "src/formats/view/wire.h"
#include "stages/base/error.h"
#include "stages/stage/classes.h"

/* In the pictures' folder, where no picture's name begins with a dot. */
#define CRN_FRUIT_INDEX_NAME ".fruits"

/* What to read. Texts are whole paths, valid as long as the job. */
typedef struct crn_fruit_sources {
    char **named; /* recordings and folders of them */
    int32_t named_count;
    const char *archive, *log; /* of the verdicts; NULL: none. Not both */
} crn_fruit_sources;

#define CRN_FRUIT_NO_VERDICT (-1)

/* Where a verdict is found again: in the log, or by its row in the archive. */
typedef struct crn_verdict_place {
    crn_verdict_position logged;
    int64_t fruit_id; /* of the archive */
} crn_verdict_place;

typedef struct crn_recorded_fruit {
    uint64_t epoch, fruit;
    int64_t time_ns;                 /* arrival of its first view, CLOCK_REALTIME */
    uint64_t found;                  /* classes, a bit each, that the verdict found */
    uint32_t first_view, view_count; /* in `views`, by index of view */
    uint32_t lane;
    uint32_t lot;              /* in `lots`; 0: none */
    int32_t kind;              /* crn_verdict_kind, or CRN_FRUIT_NO_VERDICT */
    crn_verdict_place verdict; /* of the last one; undefined without a kind */
    uint32_t shown_view;       /* that of the largest defect in the verdict, else its first */
} crn_recorded_fruit;

typedef struct crn_view_place {
    uint64_t offset;    /* of crn_recording_go_to() */
    uint32_t recording; /* in the index */
    uint32_t view;      /* the header's */
} crn_view_place;

/* A recording as it was when it was read. */
typedef struct crn_indexed_recording {
    uint64_t path; /* offset in the index's texts, which end with a zero each */
    int64_t bytes, modified_ns;
} crn_indexed_recording;

/* The file's begin. Fruits follow by their number, then their numbers by time, the oldest first,
 * views, recordings, lots (CRN_CLASS_NAME_MAX bytes each, the first is empty), paths, and notes: a
 * line for each recording that was not read whole. */
typedef struct crn_fruit_index {
    uint64_t fruit_count, view_count, recording_count, lot_count, path_bytes, note_bytes;
    uint64_t verdict_stamp;   /* changes with the archive or the log */
    uint64_t verdicts;        /* fruits that have one */
    int32_t has_verdicts;     /* an archive or a log was read */
    crn_classes classes;      /* of the recordings, and those that only verdicts name behind them */
    int32_t recorded_classes; /* how many of them are the recordings' */
} crn_fruit_index;

/* The bit of that class in `found`; 0: there is none. */
uint64_t crn_fruit_class_bit(const crn_fruit_index *index, const char *name);

/* A mapped index. */
typedef struct crn_fruit_table {
    const crn_fruit_index *head;
    const crn_recorded_fruit *fruits;
    const uint64_t *by_time; /* fruit_count numbers */
    const crn_view_place *views;
    const crn_indexed_recording *recordings;
    const char (*lots)[CRN_CLASS_NAME_MAX];
    const char *paths, *notes;
    size_t bytes;
} crn_fruit_table;

/* Maps the index of the current folder. 0, or -ENOENT with one line: it is not made yet. */
int crn_fruit_table_open(crn_fruit_table *ret_table, crn_error *error);
void crn_fruit_table_close(crn_fruit_table *table);

/* The fruit of that number, -ENOENT with one line if there is none. */
int crn_fruit_table_get(const crn_fruit_table *table, int64_t number,
                        const crn_recorded_fruit **ret_fruit, crn_error *error);

/* The path of a view's recording. */
static inline const char *crn_fruit_table_path(const crn_fruit_table *table,
                                               const crn_view_place *view)
{
    return table->paths + table->recordings[view->recording].path;
}

/*
 * Makes the index of the current folder, with progress, or renews it if the sources have changed. A
 * recording that cannot be read, or only in part, is a note; an archive or a log that cannot be
 * read is an error: 0, or negative errno with one line, and the former index stays.
 */
int crn_fruit_index_renew(const crn_fruit_sources *sources, crn_error *error);

/* Whether the archive or the log can be read at all: 0, or negative errno with one line. */
int crn_fruit_sources_check(const crn_fruit_sources *sources, crn_error *error);

#endif
