#include "src/formats/minutes/format.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "stages/base/little_endian.h"
#include "stages/base/utf8.h"

#define VERSION 1

/* Offsets. */
enum {
    HEAD_AT_VERSION = 4,
    HEAD_AT_BYTES = 8,
    HEAD_AT_NAMES = 12,
    HEAD_AT_NAME_BYTES = 16,
    HEAD_AT_RECORDS = 20,
    HEAD_AT_RECORD_BYTES = 24,

    AT_CRC = 0, /* of names and records: of all that follows */
    NAME_AT_KIND = 4,
    NAME_AT_LENGTH = 5,
    NAME_AT_TEXT = 8,
    AT_SEQUENCE = 4,
    AT_MINUTE = 8,
    AT_RECIPE = 12,
    AT_LOT = 14,
    AT_LANES = 16,
    AT_CLASSES = 17,
    AT_ENTRIES = 18,
};

#define ENTRIES_BYTES (CRN_MINUTES_RECORD_BYTES - AT_ENTRIES)

_Static_assert(NAME_AT_TEXT + CRN_MINUTES_TEXT_MAX < CRN_MINUTES_NAME_BYTES, "names fit");

/* --- the head --- */

void crn_minutes_pack_head(uint32_t records, unsigned char ret_bytes[CRN_MINUTES_HEAD_BYTES])
{
    memset(ret_bytes, 0, CRN_MINUTES_HEAD_BYTES);
    memcpy(ret_bytes, "CRNM", 4);
    crn_put_le32(ret_bytes + HEAD_AT_VERSION, VERSION);
    crn_put_le32(ret_bytes + HEAD_AT_BYTES, CRN_MINUTES_HEAD_BYTES);
    crn_put_le32(ret_bytes + HEAD_AT_NAMES, CRN_MINUTES_NAMES);
    crn_put_le32(ret_bytes + HEAD_AT_NAME_BYTES, CRN_MINUTES_NAME_BYTES);
    crn_put_le32(ret_bytes + HEAD_AT_RECORDS, records);
    crn_put_le32(ret_bytes + HEAD_AT_RECORD_BYTES, CRN_MINUTES_RECORD_BYTES);
}

int crn_minutes_parse_head(const unsigned char bytes[CRN_MINUTES_HEAD_BYTES], uint32_t *ret_records)
{
    unsigned char wanted[CRN_MINUTES_HEAD_BYTES];
    uint32_t records = crn_get_le32(bytes + HEAD_AT_RECORDS);
    crn_minutes_pack_head(records, wanted);
    if (records == 0 || memcmp(bytes, wanted, sizeof wanted) != 0)
        return -EBADMSG;
    *ret_records = records;
    return 0;
}

static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    return (uint32_t)crc32_z(0, bytes + AT_CRC + 4, size - AT_CRC - 4);
}

/* --- names --- */

void crn_minutes_name_pack(const crn_minutes_name *name,
                           unsigned char ret_bytes[CRN_MINUTES_NAME_BYTES])
{
    size_t length = strnlen(name->text, CRN_MINUTES_TEXT_MAX);
    memset(ret_bytes, 0, CRN_MINUTES_NAME_BYTES);
    ret_bytes[NAME_AT_KIND] = (unsigned char)name->kind;
    ret_bytes[NAME_AT_LENGTH] = (unsigned char)length;
    memcpy(ret_bytes + NAME_AT_TEXT, name->text, length);
    crn_put_le32(ret_bytes + AT_CRC, checksum(ret_bytes, CRN_MINUTES_NAME_BYTES));
}

bool crn_minutes_name_parse(const unsigned char bytes[CRN_MINUTES_NAME_BYTES],
                            crn_minutes_name *ret_name)
{
    size_t length = bytes[NAME_AT_LENGTH];
    if (bytes[NAME_AT_KIND] == CRN_MINUTES_NO_NAME || bytes[NAME_AT_KIND] > CRN_MINUTES_LOT ||
        length > CRN_MINUTES_TEXT_MAX ||
        crn_get_le32(bytes + AT_CRC) != checksum(bytes, CRN_MINUTES_NAME_BYTES))
        return false;
    *ret_name = (crn_minutes_name){.kind = bytes[NAME_AT_KIND]};
    memcpy(ret_name->text, bytes + NAME_AT_TEXT, length);
    crn_utf8_clean(ret_name->text); /* it goes to pages, files and terminals */
    return true;
}

/* --- records --- */

/* Numbers of 7 bits a byte, the lowest first; all but the last byte have bit 7 set (LEB128). */
static size_t put_number(uint64_t value, unsigned char *to)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (unsigned char)(value | 0x80);
    to[size++] = (unsigned char)value;
    return size;
}

/* Bytes left to read; `at` NULL: they ended, or a number is too large. */
typedef struct number_reader {
    const unsigned char *at, *end;
} number_reader;

static uint64_t get_number(number_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; reader->at && reader->at < reader->end && shift < 64; shift += 7) {
        unsigned char byte = *reader->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    reader->at = NULL;
    return 0;
}

/* No entry has more numbers, and no number more bytes. */
#define ENTRY_BYTES_MAX (5 * 10)

static size_t put_lane(const crn_minute_lane *lane, unsigned char *to)
{
    size_t size = put_number(lane->lane, to);
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        size += put_number(lane->verdicts[kind], to + size);
    return size + put_number(lane->with_defect, to + size);
}

static size_t put_class(const crn_minute_class *class, unsigned char *to)
{
    size_t size = put_number(class->name, to);
    size += put_number(class->fruits, to + size);
    size += put_number(class->area_px, to + size);
    return size + put_number(class->area_mm2, to + size);
}

static size_t put_fruits(const crn_minute_record *record, unsigned char *to)
{
    size_t size = put_number(record->fruits, to);
    return size + put_number(record->measured, to + size);
}

static size_t put_entries(const crn_minute_record *record, unsigned char *to)
{
    size_t size = 0;
    for (uint32_t i = 0; i < record->lane_count; i++)
        size += put_lane(&record->lanes[i], to + size);
    if (record->class_count > 0)
        size += put_fruits(record, to + size);
    for (uint32_t i = 0; i < record->class_count; i++)
        size += put_class(&record->classes[i], to + size);
    return size;
}

bool crn_minute_record_add_lane(crn_minute_record *record, const crn_minute_lane *lane)
{
    unsigned char bytes[ENTRIES_BYTES], entry[ENTRY_BYTES_MAX];
    if (record->lane_count == CRN_MINUTE_RECORD_LANES ||
        put_entries(record, bytes) + put_lane(lane, entry) > ENTRIES_BYTES)
        return false;
    record->lanes[record->lane_count++] = *lane;
    return true;
}

bool crn_minute_record_add_class(crn_minute_record *record, const crn_minute_class *class)
{
    unsigned char bytes[ENTRIES_BYTES], entry[ENTRY_BYTES_MAX];
    size_t size = put_entries(record, bytes) + put_class(class, entry);
    if (record->class_count == 0)
        size += put_fruits(record, entry);
    if (record->class_count == CRN_MINUTE_RECORD_CLASSES || size > ENTRIES_BYTES)
        return false;
    record->classes[record->class_count++] = *class;
    return true;
}

void crn_minute_record_pack(const crn_minute_record *record,
                            unsigned char ret_bytes[CRN_MINUTES_RECORD_BYTES])
{
    memset(ret_bytes, 0, CRN_MINUTES_RECORD_BYTES);
    crn_put_le32(ret_bytes + AT_SEQUENCE, record->sequence);
    crn_put_le32(ret_bytes + AT_MINUTE, record->minute);
    crn_put_le16(ret_bytes + AT_RECIPE, (uint16_t)record->recipe);
    crn_put_le16(ret_bytes + AT_LOT, (uint16_t)record->lot);
    ret_bytes[AT_LANES] = (unsigned char)record->lane_count;
    ret_bytes[AT_CLASSES] = (unsigned char)record->class_count;
    put_entries(record, ret_bytes + AT_ENTRIES);
    crn_put_le32(ret_bytes + AT_CRC, checksum(ret_bytes, CRN_MINUTES_RECORD_BYTES));
}

static void get_lane(number_reader *reader, crn_minute_lane *ret_lane)
{
    ret_lane->lane = (uint32_t)get_number(reader);
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        ret_lane->verdicts[kind] = get_number(reader);
    ret_lane->with_defect = get_number(reader);
}

static void get_class(number_reader *reader, crn_minute_class *ret_class)
{
    ret_class->name = (uint32_t)get_number(reader);
    ret_class->fruits = get_number(reader);
    ret_class->area_px = get_number(reader);
    ret_class->area_mm2 = get_number(reader);
}

uint32_t crn_minute_record_sequence(const unsigned char bytes[CRN_MINUTES_RECORD_BYTES])
{
    uint32_t sequence = crn_get_le32(bytes + AT_SEQUENCE);
    return sequence > 0 && crn_get_le32(bytes + AT_CRC) == checksum(bytes, CRN_MINUTES_RECORD_BYTES)
               ? sequence
               : 0;
}

bool crn_minute_record_parse(const unsigned char bytes[CRN_MINUTES_RECORD_BYTES],
                             crn_minute_record *ret_record)
{
    if (crn_minute_record_sequence(bytes) == 0)
        return false;
    crn_minute_record record = {.sequence = crn_get_le32(bytes + AT_SEQUENCE),
                                .minute = crn_get_le32(bytes + AT_MINUTE),
                                .recipe = crn_get_le16(bytes + AT_RECIPE),
                                .lot = crn_get_le16(bytes + AT_LOT),
                                .lane_count = bytes[AT_LANES],
                                .class_count = bytes[AT_CLASSES]};
    number_reader reader = {bytes + AT_ENTRIES, bytes + CRN_MINUTES_RECORD_BYTES};
    if (record.lane_count > CRN_MINUTE_RECORD_LANES ||
        record.class_count > CRN_MINUTE_RECORD_CLASSES)
        return false;
    for (uint32_t i = 0; i < record.lane_count; i++)
        get_lane(&reader, &record.lanes[i]);
    if (record.class_count > 0) {
        record.fruits = get_number(&reader);
        record.measured = get_number(&reader);
    }
    for (uint32_t i = 0; i < record.class_count; i++)
        get_class(&reader, &record.classes[i]);
    if (!reader.at)
        return false;
    *ret_record = record;
    return true;
}
