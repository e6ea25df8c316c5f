/* An alarm as the bytes of the alarm file. Private to this folder. */
#ifndef CRN_SRC_MONITOR_ALARMS_RECORD_H
#define CRN_SRC_MONITOR_ALARMS_RECORD_H

#include <sys/types.h>

#include "src/monitor/alarms/book.h"

CRN_C_BEGIN

#define CRN_ALARM_RECORD_BYTES 512

/* What most disks write as a whole or not at all. */
#define CRN_ALARM_BLOCK_BYTES 4096

/* The file: a block with the head, then halves of whole blocks, each with a record for each alarm:
 * no block holds both records of an alarm. */
#define CRN_ALARM_HALVES 2

static inline off_t crn_alarm_record_offset(uint64_t number, unsigned half)
{
    return CRN_ALARM_BLOCK_BYTES +
           (off_t)(half * CRN_ALARMS_KEPT + number % CRN_ALARMS_KEPT) * CRN_ALARM_RECORD_BYTES;
}

/* `written` numbers the records of a file in the order in which they were written, from 1. */
void crn_alarm_record_pack(const crn_alarm *alarm, uint64_t written,
                           unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES]);

/* True unless nothing was ever written there: all bytes are 0. */
bool crn_alarm_record_is_used(const unsigned char bytes[CRN_ALARM_RECORD_BYTES]);

/* Number of the writing; 0 if the record is torn, damaged, or was never written. */
uint64_t crn_alarm_record_written(const unsigned char bytes[CRN_ALARM_RECORD_BYTES]);

/* Reads a record that was written. False if this version knows no such condition. */
bool crn_alarm_record_unpack(const unsigned char bytes[CRN_ALARM_RECORD_BYTES],
                             crn_alarm *ret_alarm);

/* The first record of a file, which says of which version it is. */
void crn_alarm_record_pack_head(unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES]);

CRN_C_END

#endif
