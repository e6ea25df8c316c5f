/* What disk.c notes, for image.c. */
#ifndef CRN_TESTS_FAULTS_POWER_NOTED_H
#define CRN_TESTS_FAULTS_POWER_NOTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRN_NOTED_NAME_BYTES 160

typedef enum noted_kind {
    NOTED_NAME,        /* `file` has `name` from now on */
    NOTED_RENAME,      /* `name` leads to what `from` led to */
    NOTED_REMOVE,      /* `name` */
    NOTED_FOLDER,      /* `name` is a folder */
    NOTED_WRITE,       /* `bytes` of `file` at `offset` */
    NOTED_SIZE,        /* `file` has `offset` bytes */
    NOTED_SYNC,        /* of `file` */
    NOTED_SYNC_FOLDER, /* of `name`, "" for the watched one */
    NOTED_ACKNOWLEDGED /* `offset` */
} noted_kind;

/* Names are relative to the folder that is watched. */
typedef struct noted_call {
    noted_kind kind;
    bool is_direct; /* a write past the page cache */
    uint32_t file;
    char name[CRN_NOTED_NAME_BYTES], from[CRN_NOTED_NAME_BYTES];
    uint64_t offset, size;
    unsigned char *bytes;
} noted_call;

extern noted_call *noted_calls;
extern size_t noted_count;
extern uint32_t noted_files;

#endif
