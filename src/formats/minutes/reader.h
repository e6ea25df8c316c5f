/* Reads a file of minutes, also while a daemon writes it: what it writes meanwhile may or may not
 * be seen. */
#ifndef CRN_SRC_FORMATS_MINUTES_READER_H
#define CRN_SRC_FORMATS_MINUTES_READER_H

#include "src/formats/minutes/format.h"
#include "stages/base/error.h"

CRN_C_BEGIN

typedef struct crn_minutes_reader {
    int descriptor;
    bool owned; /* the descriptor is closed with the reader */
    uint32_t records;
    crn_minutes_name *names; /* CRN_MINUTES_NAMES of them, as of the opening; NULL: not open */
    uint32_t sequence;       /* of the newest record then; 0: there is none */
    uint32_t next, left;     /* what crn_minutes_next() looks at next, and how many more */
    uint32_t damaged;        /* records that it left out, as they are torn or damaged */
    unsigned char *piece;    /* records that were read at once, from `piece_first` on */
    uint32_t piece_first, piece_count;
} crn_minutes_reader;

/* Opens the file at `path`, finds its newest record, and begins with the oldest. Returns 0, or a
 * negative errno with a text in *error; crn_minutes_close() in every case. */
int crn_minutes_open(const char *path, crn_minutes_reader *reader, crn_error *error);

/* The same of a file that is open, which the caller closes after crn_minutes_close(). `name` is for
 * errors. */
int crn_minutes_open_file(int descriptor, const char *name, crn_minutes_reader *reader,
                          crn_error *error);
void crn_minutes_close(crn_minutes_reader *reader);

/* The next record, in the order of writing: 1, 0 at the end, or a negative errno. */
int crn_minutes_next(crn_minutes_reader *reader, crn_minute_record *ret_record);

/* Begins again with the oldest record, `sequence` being that of the newest now. */
void crn_minutes_rewind(crn_minutes_reader *reader, uint32_t sequence);

/* The text of a name, "" for one that is not there. */
const char *crn_minutes_text(const crn_minutes_reader *reader, uint32_t name);

CRN_C_END

#endif
