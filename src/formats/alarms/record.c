#include "src/formats/alarms/record.h"

#include <string.h>
#include <zlib.h>

#include "stages/base/little_endian.h"
#include "stages/base/utf8.h"

/* Another one for another layout. */
#define VERSION 2

/* Offsets; what lies between and behind is 0. */
enum {
    AT_CRC = 0, /* of all that follows */
    AT_WRITTEN = 8,
    AT_NUMBER = 16,
    AT_RAISED = 24, /* times in ms since 1970 */
    AT_CLEARED = 32,
    AT_ACKNOWLEDGED = 40,
    AT_SHELVED_UNTIL = 48,
    AT_LANE = 56,
    AT_FIGURES = 64, /* count, percent, seconds, hours: f64 */
    AT_ID = 96,      /* of the condition */
    AT_BY = 128,
    AT_NAME = 176,
    AT_END = AT_NAME + CRN_ALARM_NAME_BYTES,
};

_Static_assert(AT_ID + CRN_ALARM_CONDITION_BYTES == AT_BY, "condition has its place");
_Static_assert(AT_BY + CRN_ALARM_BY_BYTES == AT_NAME, "acknowledged_by has its place");
_Static_assert(AT_END <= CRN_ALARM_RECORD_BYTES, "the record holds all");
_Static_assert(CRN_ALARMS_KEPT *CRN_ALARM_RECORD_BYTES % CRN_ALARM_BLOCK_BYTES == 0,
               "the halves are whole blocks");

static void put_real(unsigned char *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    crn_put_le64(at, bits);
}

static double get_real(const unsigned char *at)
{
    double value;
    uint64_t bits = crn_get_le64(at);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_text(unsigned char *at, const char *text, size_t capacity)
{
    memcpy(at, text, strnlen(text, capacity - 1));
}

static void get_text(const unsigned char *at, char *text, size_t capacity)
{
    memcpy(text, at, capacity);
    text[capacity - 1] = '\0';
    crn_utf8_clean(text); /* it goes to pages, files and terminals */
}

static uint32_t checksum(const unsigned char *bytes)
{
    return (uint32_t)crc32_z(0, bytes + AT_CRC + 4, CRN_ALARM_RECORD_BYTES - AT_CRC - 4);
}

void crn_alarm_record_pack(const crn_alarm_record *record, uint64_t written,
                           unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES])
{
    memset(ret_bytes, 0, CRN_ALARM_RECORD_BYTES);
    crn_put_le64(ret_bytes + AT_WRITTEN, written);
    crn_put_le64(ret_bytes + AT_NUMBER, record->number);
    crn_put_le64(ret_bytes + AT_RAISED, (uint64_t)record->raised_ms);
    crn_put_le64(ret_bytes + AT_CLEARED, (uint64_t)record->cleared_ms);
    crn_put_le64(ret_bytes + AT_ACKNOWLEDGED, (uint64_t)record->acknowledged_ms);
    crn_put_le64(ret_bytes + AT_SHELVED_UNTIL, (uint64_t)record->shelved_until_ms);
    crn_put_le64(ret_bytes + AT_LANE, (uint64_t)record->lane);
    put_real(ret_bytes + AT_FIGURES, record->count);
    put_real(ret_bytes + AT_FIGURES + 8, record->percent);
    put_real(ret_bytes + AT_FIGURES + 16, record->seconds);
    put_real(ret_bytes + AT_FIGURES + 24, record->hours);
    put_text(ret_bytes + AT_ID, record->condition, CRN_ALARM_CONDITION_BYTES);
    put_text(ret_bytes + AT_BY, record->acknowledged_by, CRN_ALARM_BY_BYTES);
    put_text(ret_bytes + AT_NAME, record->name, CRN_ALARM_NAME_BYTES);
    crn_put_le32(ret_bytes + AT_CRC, checksum(ret_bytes));
}

bool crn_alarm_record_is_used(const unsigned char bytes[CRN_ALARM_RECORD_BYTES])
{
    static const unsigned char zeros[CRN_ALARM_RECORD_BYTES];
    return memcmp(bytes, zeros, sizeof zeros) != 0;
}

uint32_t crn_alarm_record_checksum(const unsigned char bytes[CRN_ALARM_RECORD_BYTES])
{
    return crn_get_le32(bytes + AT_CRC);
}

uint64_t crn_alarm_record_written(const unsigned char bytes[CRN_ALARM_RECORD_BYTES])
{
    uint64_t written = crn_get_le64(bytes + AT_WRITTEN);
    return written > 0 && crn_alarm_record_checksum(bytes) == checksum(bytes) ? written : 0;
}

void crn_alarm_record_unpack(const unsigned char bytes[CRN_ALARM_RECORD_BYTES],
                             crn_alarm_record *ret_record)
{
    *ret_record =
        (crn_alarm_record){.number = crn_get_le64(bytes + AT_NUMBER),
                           .lane = (int64_t)crn_get_le64(bytes + AT_LANE),
                           .count = get_real(bytes + AT_FIGURES),
                           .percent = get_real(bytes + AT_FIGURES + 8),
                           .seconds = get_real(bytes + AT_FIGURES + 16),
                           .hours = get_real(bytes + AT_FIGURES + 24),
                           .raised_ms = (int64_t)crn_get_le64(bytes + AT_RAISED),
                           .cleared_ms = (int64_t)crn_get_le64(bytes + AT_CLEARED),
                           .acknowledged_ms = (int64_t)crn_get_le64(bytes + AT_ACKNOWLEDGED),
                           .shelved_until_ms = (int64_t)crn_get_le64(bytes + AT_SHELVED_UNTIL)};
    get_text(bytes + AT_ID, ret_record->condition, CRN_ALARM_CONDITION_BYTES);
    get_text(bytes + AT_BY, ret_record->acknowledged_by, CRN_ALARM_BY_BYTES);
    get_text(bytes + AT_NAME, ret_record->name, CRN_ALARM_NAME_BYTES);
}

void crn_alarm_record_pack_head(unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES])
{
    static const char kind[] = "cernita alarms\n";
    memset(ret_bytes, 0, CRN_ALARM_RECORD_BYTES);
    memcpy(ret_bytes, kind, sizeof kind);
    crn_put_le32(ret_bytes + 16, VERSION);
    crn_put_le32(ret_bytes + 20, CRN_ALARM_RECORD_BYTES);
    crn_put_le32(ret_bytes + 24, CRN_ALARMS_KEPT);
}
