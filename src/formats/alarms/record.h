/*
 * The bytes of the file of the alarm list; README.md of this folder describes them. No threads, no
 * files.
 */
#ifndef CRN_SRC_FORMATS_ALARMS_RECORD_H
#define CRN_SRC_FORMATS_ALARMS_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_ALARMS_FILE "alarms" /* in state.dir */

/* Alarms that a file has; one more takes the place of the oldest. */
#define CRN_ALARMS_KEPT 16384

#define CRN_ALARM_RECORD_BYTES 512

/* What most disks write as a whole or not at all. */
#define CRN_ALARM_BLOCK_BYTES 4096

/* The file: a block with the head, then halves of whole blocks, each with a record for each alarm:
 * no block holds both records of an alarm. */
#define CRN_ALARM_HALVES 2

/* Room for texts, with their ends. */
#define CRN_ALARM_CONDITION_BYTES 32
#define CRN_ALARM_BY_BYTES        48
#define CRN_ALARM_NAME_BYTES      160

/* Times in ms since 1970; the figures are what the condition's texts are filled with. */
typedef struct crn_alarm_record {
    uint64_t number;                           /* from 1; 16384 apart they share a place */
    char condition[CRN_ALARM_CONDITION_BYTES]; /* its id */
    int64_t lane;                              /* -1: of the whole line */
    double count, percent, seconds, hours;
    char name[CRN_ALARM_NAME_BYTES]; /* of a class, a disk and the like */
    int64_t raised_ms;
    int64_t cleared_ms;                       /* 0: it is active */
    int64_t acknowledged_ms;                  /* 0: it is not acknowledged */
    char acknowledged_by[CRN_ALARM_BY_BYTES]; /* "" until then */
    int64_t shelved_until_ms;                 /* 0: it was never shelved */
} crn_alarm_record;

static inline off_t crn_alarm_record_offset(uint64_t number, unsigned half)
{
    return CRN_ALARM_BLOCK_BYTES +
           (off_t)(half * CRN_ALARMS_KEPT + number % CRN_ALARMS_KEPT) * CRN_ALARM_RECORD_BYTES;
}

#define CRN_ALARMS_FILE_BYTES crn_alarm_record_offset(0, CRN_ALARM_HALVES)

/* `written` numbers the records of a file in the order in which they were written, from 1. */
void crn_alarm_record_pack(const crn_alarm_record *record, uint64_t written,
                           unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES]);

/* True unless nothing was ever written there: all bytes are 0. */
bool crn_alarm_record_is_used(const unsigned char bytes[CRN_ALARM_RECORD_BYTES]);

/* Number of the writing; 0 if the record is torn, damaged, or was never written. */
uint64_t crn_alarm_record_written(const unsigned char bytes[CRN_ALARM_RECORD_BYTES]);

/* Its checksum, as it is written there. */
uint32_t crn_alarm_record_checksum(const unsigned char bytes[CRN_ALARM_RECORD_BYTES]);

/* Reads a record that was written; its texts are UTF-8. */
void crn_alarm_record_unpack(const unsigned char bytes[CRN_ALARM_RECORD_BYTES],
                             crn_alarm_record *ret_record);

/* The first bytes of a file, which say of which version it is. */
void crn_alarm_record_pack_head(unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES]);

CRN_C_END

#endif
