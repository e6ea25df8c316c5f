#include "src/formats/outlets/report.h"

#include <errno.h>
#include <string.h>

#include "src/formats/encoding/messagepack_json.h"

#define KEYS        3 /* of a report */
#define FAULT_KEYS  3
#define OUTLET_KEYS 3

/* --- writing --- */

static void put_fault(const crn_outlet_fault *fault, crn_encoder *encoder)
{
    crn_encoder_map(encoder, FAULT_KEYS);
    crn_encoder_pair_text(encoder, "id", fault->id);
    crn_encoder_pair_text(encoder, "severity", fault->severity);
    crn_encoder_pair_text(encoder, "text", fault->text);
    crn_encoder_map_end(encoder);
}

static void put_outlet(const crn_outlet_counts *outlet, crn_encoder *encoder)
{
    crn_encoder_map(encoder, OUTLET_KEYS);
    crn_encoder_pair_text(encoder, "name", outlet->name);
    crn_encoder_pair_unsigned(encoder, "fruits", outlet->fruits);
    crn_encoder_pair_unsigned(encoder, "per_minute", outlet->per_minute);
    crn_encoder_map_end(encoder);
}

void crn_outlet_report_put(const crn_outlet_report *report, crn_encoder *encoder)
{
    crn_encoder_map(encoder, KEYS);
    crn_encoder_pair_text(encoder, "file", report->file);
    crn_encoder_text(encoder, "faults");
    crn_encoder_array(encoder, (uint32_t)report->fault_count);
    for (int32_t i = 0; i < report->fault_count; i++)
        put_fault(&report->faults[i], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "outlets");
    crn_encoder_array(encoder, (uint32_t)report->outlet_count);
    for (int32_t i = 0; i < report->outlet_count; i++)
        put_outlet(&report->outlets[i], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

/* --- reading --- */

/* Copies a text of 1 to `size` - 1 bytes. */
static int read_text(const msgpack_object *map, const char *key, char *ret_text, size_t size,
                     crn_error *error)
{
    return crn_value_copy_text(crn_value_get(map, key), ret_text, size)
               ? 0
               : crn_error_set(error, -EBADMSG, "%s: printable text of 1 to %zu bytes expected",
                               key, size - 1);
}

static int read_count(const msgpack_object *map, const char *key, uint64_t *ret_count,
                      crn_error *error)
{
    return crn_value_unsigned(crn_value_get(map, key), INT64_MAX, ret_count)
               ? 0
               : crn_error_set(error, -EBADMSG, "%s: a whole number from 0 expected", key);
}

/* The length of a list, which must be there. */
static int read_length(const msgpack_object *map, const char *key, uint32_t min, uint32_t max,
                       int32_t *ret_count, crn_error *error)
{
    const msgpack_object *list = crn_value_get(map, key);
    uint32_t count = crn_value_count(list);
    if (!list || list->type != MSGPACK_OBJECT_ARRAY || count < min || count > max)
        return crn_error_set(error, -EBADMSG, "%s: a list of %u to %u expected", key, min, max);
    *ret_count = (int32_t)count;
    return 0;
}

static int read_fault(const msgpack_object *map, crn_outlet_fault *ret_fault, crn_error *error)
{
    static const char *const severities[] = {"notice", "warning", "critical"};
    const msgpack_object *severity = crn_value_get(map, "severity");
    for (size_t i = 0; i < sizeof severities / sizeof *severities; i++)
        if (crn_value_is_text(severity, severities[i]))
            strcpy(ret_fault->severity, severities[i]);
    if (!ret_fault->severity[0])
        return crn_error_set(error, -EBADMSG, "severity: notice, warning or critical expected");
    int r = read_text(map, "id", ret_fault->id, sizeof ret_fault->id, error);
    return r < 0 ? r : read_text(map, "text", ret_fault->text, sizeof ret_fault->text, error);
}

static int read_faults(const msgpack_object *map, crn_outlet_report *report, crn_error *error)
{
    const msgpack_object *list = crn_value_get(map, "faults");
    int r = read_length(map, "faults", 0, CRN_OUTLET_FAULTS_MAX, &report->fault_count, error);
    for (int32_t i = 0; r == 0 && i < report->fault_count; i++)
        r = read_fault(crn_value_item(list, (uint32_t)i), &report->faults[i], error);
    return r;
}

/* Names are what outlets are told apart by. */
static int check_name(const crn_outlet_report *report, int32_t at, crn_error *error)
{
    for (int32_t i = 0; i < at; i++)
        if (strcmp(report->outlets[i].name, report->outlets[at].name) == 0)
            return crn_error_set(error, -EBADMSG, "name: '%s' is there twice",
                                 report->outlets[at].name);
    return 0;
}

static int read_outlets(const msgpack_object *map, crn_outlet_report *report, crn_error *error)
{
    const msgpack_object *list = crn_value_get(map, "outlets");
    int r = read_length(map, "outlets", 1, CRN_OUTLETS_MAX, &report->outlet_count, error);
    for (int32_t i = 0; r == 0 && i < report->outlet_count; i++) {
        const msgpack_object *item = crn_value_item(list, (uint32_t)i);
        crn_outlet_counts *outlet = &report->outlets[i];
        r = read_text(item, "name", outlet->name, sizeof outlet->name, error);
        if (r == 0)
            r = check_name(report, i, error);
        if (r == 0)
            r = read_count(item, "fruits", &outlet->fruits, error);
        if (r == 0)
            r = read_count(item, "per_minute", &outlet->per_minute, error);
    }
    return r;
}

int crn_outlet_report_parse(const char *json, size_t size, crn_outlet_report *ret_report,
                            crn_error *error)
{
    crn_messagepack_json message;
    crn_outlet_report report = {.fault_count = 0};
    if (size == 0 || json[0] != '{')
        return crn_error_set(error, -EBADMSG, "an object of JSON expected");
    int r = crn_messagepack_json_init(&message, json, size, error);
    if (r < 0)
        return r;
    const msgpack_object *map = &message.tree.data;
    r = read_text(map, "file", report.file, sizeof report.file, error);
    if (r == 0)
        r = read_faults(map, &report, error);
    if (r == 0)
        r = read_outlets(map, &report, error);
    crn_messagepack_json_done(&message);
    if (r == 0)
        *ret_report = report;
    return r;
}
