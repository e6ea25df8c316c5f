/*
 * The bytes and names of a verdict log's segments; README.md of this folder describes them.
 * No threads; the folder is only listed.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_FORMAT_H
#define CRN_SRC_FORMATS_VERDICT_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

/* Media type of a segment that is sent over HTTP. */
#define CRN_VERDICT_LOG_TYPE "application/x-cernita-verdicts"

#define CRN_VERDICT_LOG_HEADER_BYTES 16 /* of a segment */
#define CRN_VERDICT_RECORD_BYTES     12 /* that precede a verdict */

/* Size limit of a logged verdict. */
#define CRN_VERDICT_LOG_VERDICT_MAX (UINT32_C(64) << 20)

/* The last number of a segment: 18 digits. */
#define CRN_VERDICT_LOG_NUMBER_MAX UINT64_C(999999999999999999)

/* A segment's file. */
typedef struct crn_verdict_log_file {
    uint64_t number;
    uint64_t bytes;
    int64_t written_ns; /* last, CLOCK_REALTIME */
} crn_verdict_log_file;

typedef struct crn_verdict_log_files {
    crn_verdict_log_file *items; /* regular files, oldest (lowest number) first */
    size_t count;
    uint64_t last_number; /* highest in use, by whatever kind of file; 0: none */
    uint64_t bytes;       /* sum of all */
} crn_verdict_log_files;

/* Lists the segments in a folder; other files are ignored. 0, or a negative errno with a text in
 * *error. */
int crn_verdict_log_list(const char *dir, crn_verdict_log_files *ret_files, crn_error *error);
void crn_verdict_log_files_done(crn_verdict_log_files *files);

/* Writes the path of a segment: `<dir>/cernita-<number>.verdicts`. */
void crn_verdict_log_path(char *path, size_t size, const char *dir, uint64_t number);

void crn_verdict_log_pack_header(unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES],
                                 uint64_t created_ns);

/* Returns the offset of the first record, or -EBADMSG. */
int crn_verdict_log_parse_header(const unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES]);

/* When the segment was begun, CLOCK_REALTIME. */
uint64_t crn_verdict_log_created_ns(const unsigned char bytes[CRN_VERDICT_LOG_HEADER_BYTES]);

void crn_verdict_record_pack(unsigned char record[CRN_VERDICT_RECORD_BYTES], uint32_t lane,
                             const void *verdict, size_t size);

/* Reads the size and the lane; neither is checked yet. */
void crn_verdict_record_parse(const unsigned char record[CRN_VERDICT_RECORD_BYTES],
                              uint32_t *ret_lane, size_t *ret_size);

/* True if the checksum matches record and verdict. */
bool crn_verdict_record_is_whole(const unsigned char record[CRN_VERDICT_RECORD_BYTES],
                                 const void *verdict, size_t size);

#endif
