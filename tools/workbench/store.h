/*
 * The pictures that are open: files in a folder of this process in memory (/dev/shm), folders of
 * labels there, and links to the files that the command line names. All names in the folder differ,
 * so that a job, which runs in the folder, names a picture as its user does.
 */
#ifndef CRN_TOOLS_WORKBENCH_STORE_H
#define CRN_TOOLS_WORKBENCH_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/encoding/encoder.h"
#include "stages/base/error.h"

#define CRN_STORE_PICTURES_MAX 128
#define CRN_STORE_NAME_BYTES   112
#define CRN_STORE_SPEC_BYTES   64

/* What a file is. */
typedef enum crn_picture_kind {
    CRN_PICTURE_PLAIN,
    CRN_PICTURE_MAPS,      /* several planes, as a CNN's class maps */
    CRN_PICTURE_RECORDING, /* of views; each can be taken out of it */
    CRN_PICTURE_CONTOURS,  /* JSON */
    CRN_PICTURE_TABLE,     /* CSV, or a TIFF whose pages differ: to be saved only */
    CRN_PICTURE_LABELS,    /* of recordings' views: CSV, or a folder */
} crn_picture_kind;

/* What a job found out about a file. Written by the job's process. */
typedef struct crn_picture_facts {
    int32_t kind; /* crn_picture_kind */
    int32_t width, height, pages, samples, planes, type /* crn_type */, alpha;
    int64_t views; /* of a recording */
} crn_picture_facts;

typedef struct crn_stored {
    uint64_t id; /* 0: the entry is free */
    char name[CRN_STORE_NAME_BYTES];
    char original[CRN_STORE_NAME_BYTES]; /* as its user calls it: another file may be called so, too
                                          */
    char spec[CRN_STORE_SPEC_BYTES];     /* of a generated one, as in addresses: field:9:7:0.5 */
    crn_picture_facts facts;
    uint64_t photograph; /* id of the photograph that goes with these maps; 0: none */
    bool result;         /* an operator's: dropped first, and not listed */
    bool given;          /* on the command line: never dropped */
    uint64_t bytes;      /* of memory */
    uint64_t used;       /* when it was last worked on: the longest unused is dropped first */
    int32_t pins;        /* jobs that wait or run with it: not dropped */
} crn_stored;

typedef struct crn_store {
    char folder[64];
    int folder_fd, lock_fd;
    uint64_t last_id, last_use, bytes_max;
    crn_stored at[CRN_STORE_PICTURES_MAX];
} crn_store;

/* Makes the folder, and removes those that killed programs of this user left. 0 or negative errno.
 */
int crn_store_open(crn_store *store, crn_error *error);
void crn_store_close(crn_store *store);

/*
 * Turns the wanted name into one that is free in the folder, without slashes, control characters
 * and leading dots and dashes, and reserves it by an empty file, which whoever reserves it removes
 * or adds. 0 or negative errno.
 */
int crn_store_reserve(const crn_store *store, const char *wanted,
                      char ret_name[CRN_STORE_NAME_BYTES]);

/* The same for a folder, of labels, which it makes. */
int crn_store_reserve_folder(const crn_store *store, const char *wanted,
                             char ret_name[CRN_STORE_NAME_BYTES]);

/* The same name without a number that sets it apart. */
void crn_store_original(const char *wanted, char ret_name[CRN_STORE_NAME_BYTES]);

/* Adds a file that lies in the folder; room for it is made by dropping results, then uploads, those
 * first that were not used for the longest time. NULL: there is no room, and the file is removed.
 */
crn_stored *crn_store_add(crn_store *store, const char *name, const crn_picture_facts *facts,
                          bool result);

/* Finds it and counts that as a use. NULL: there is none (any more). */
crn_stored *crn_store_find(crn_store *store, uint64_t id);
crn_stored *crn_store_find_spec(crn_store *store, const char *spec);

/* Whether so many more bytes may be taken; drops for that what may be dropped, or nothing if that
 * would not do. */
bool crn_store_has_room(crn_store *store, uint64_t bytes);

/* While a job needs it; each pin is undone by an unpin. An id that there is not is fine. */
void crn_store_pin(crn_store *store, uint64_t id);
void crn_store_unpin(crn_store *store, uint64_t id);

/* Removes a file or a folder of labels; one that is not there is fine. */
void crn_store_remove_file(const crn_store *store, const char *name);

/* Writes the picture as a map. */
void crn_stored_write(const crn_stored *picture, crn_encoder *encoder);

#endif
