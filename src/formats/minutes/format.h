/*
 * The bytes of the file of minutes: what fruits were judged in each minute, by lane and class;
 * README.md of this folder describes them. No threads, no files.
 *
 * Records add up: a minute has as many as its lanes and classes need, and further ones where the
 * settings changed within it, the daemon was restarted, or the clock was set back.
 */
#ifndef CRN_SRC_FORMATS_MINUTES_FORMAT_H
#define CRN_SRC_FORMATS_MINUTES_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/verdict/kind.h"
#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_MINUTES_FILE "minutes" /* in state.dir */

#define CRN_MINUTES_HEAD_BYTES   4096
#define CRN_MINUTES_NAME_BYTES   64 /* of an entry in the table of names */
#define CRN_MINUTES_RECORD_BYTES 96

/* Longest name of a class, recipe or lot, in bytes. */
#define CRN_MINUTES_TEXT_MAX 55

/* Numbers of names are below this; 0: none. */
#define CRN_MINUTES_NAMES 16384

/* Of these, numbers that no lot gets. */
#define CRN_MINUTES_NAMES_NO_LOTS 2048

/* Records that a daemon's file has, in 99 MB; src/monitor/minutes/README.md says for how long. */
#define CRN_MINUTES_RECORDS UINT32_C(1024000)

/* Areas are in hundredths of px2 and mm2. */
#define CRN_MINUTES_AREA_SCALE 100

#define CRN_MINUTE_NS (60 * INT64_C(1000000000))

/* --- the head --- */

void crn_minutes_pack_head(uint32_t records, unsigned char ret_bytes[CRN_MINUTES_HEAD_BYTES]);

/* Returns 0 with the number of records, or -EBADMSG: no such file, or of another version. */
int crn_minutes_parse_head(const unsigned char bytes[CRN_MINUTES_HEAD_BYTES],
                           uint32_t *ret_records);

/* Where a name's entry is; name 0 has none, and its place stays empty. */
static inline uint64_t crn_minutes_name_offset(uint32_t name)
{
    return CRN_MINUTES_HEAD_BYTES + (uint64_t)name * CRN_MINUTES_NAME_BYTES;
}

/* Where the record of a sequence number is. */
static inline uint64_t crn_minutes_record_offset(uint32_t records, uint32_t sequence)
{
    return crn_minutes_name_offset(CRN_MINUTES_NAMES) +
           (uint64_t)(sequence % records) * CRN_MINUTES_RECORD_BYTES;
}

static inline uint64_t crn_minutes_file_bytes(uint32_t records)
{
    return crn_minutes_name_offset(CRN_MINUTES_NAMES) +
           (uint64_t)records * CRN_MINUTES_RECORD_BYTES;
}

/* --- names --- */

typedef enum crn_minutes_name_kind {
    CRN_MINUTES_NO_NAME, /* the entry is free */
    CRN_MINUTES_CLASS,
    CRN_MINUTES_RECIPE,
    CRN_MINUTES_LOT,
} crn_minutes_name_kind;

typedef struct crn_minutes_name {
    crn_minutes_name_kind kind;
    char text[CRN_MINUTES_TEXT_MAX + 1]; /* UTF-8 */
} crn_minutes_name;

void crn_minutes_name_pack(const crn_minutes_name *name,
                           unsigned char ret_bytes[CRN_MINUTES_NAME_BYTES]);

/* False: the entry is free, or damaged. */
bool crn_minutes_name_parse(const unsigned char bytes[CRN_MINUTES_NAME_BYTES],
                            crn_minutes_name *ret_name);

/* --- records --- */

typedef struct crn_minute_lane {
    uint32_t lane;
    uint64_t verdicts[CRN_VERDICT_LATE + 1]; /* by kind */
    uint64_t with_defect;                    /* of these, fruits with a defect of any class */
} crn_minute_lane;

typedef struct crn_minute_class {
    uint32_t name;     /* number of its name */
    uint64_t fruits;   /* that had it */
    uint64_t area_px;  /* sum of their areas, in 1/CRN_MINUTES_AREA_SCALE px2 */
    uint64_t area_mm2; /* the same in mm2, of those that were measured */
} crn_minute_class;

#define CRN_MINUTE_RECORD_LANES   15 /* at most */
#define CRN_MINUTE_RECORD_CLASSES 19

typedef struct crn_minute_record {
    uint32_t sequence; /* number of the record, from 1 */
    uint32_t minute;   /* since 1970 */
    uint32_t recipe, lot;
    uint32_t lane_count, class_count;
    crn_minute_lane lanes[CRN_MINUTE_RECORD_LANES];
    /* Fruits in which `classes` were looked for, and how many of them were measured in mm2: not of
     * late verdicts, nor of those without defects. */
    uint64_t fruits, measured;
    crn_minute_class classes[CRN_MINUTE_RECORD_CLASSES];
} crn_minute_record;

/* Adds to a record that is packed later. False: it would not fit. Lanes come before classes, and
 * `fruits` and `measured` are set before the first of these. */
bool crn_minute_record_add_lane(crn_minute_record *record, const crn_minute_lane *lane);
bool crn_minute_record_add_class(crn_minute_record *record, const crn_minute_class *class);

void crn_minute_record_pack(const crn_minute_record *record,
                            unsigned char ret_bytes[CRN_MINUTES_RECORD_BYTES]);

/* Its sequence number; 0: it was never written, or is torn or damaged. */
uint32_t crn_minute_record_sequence(const unsigned char bytes[CRN_MINUTES_RECORD_BYTES]);

/* False: it has no sequence number, or entries that no daemon writes. */
bool crn_minute_record_parse(const unsigned char bytes[CRN_MINUTES_RECORD_BYTES],
                             crn_minute_record *ret_record);

CRN_C_END

#endif
