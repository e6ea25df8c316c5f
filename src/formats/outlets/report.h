/*
 * What a program that sorts fruits says of its outlets once a second, so that the line's pages show
 * it: a map that POST /outlets takes as JSON and /events shows again. README.md has its keys.
 */
#ifndef CRN_SRC_FORMATS_OUTLETS_REPORT_H
#define CRN_SRC_FORMATS_OUTLETS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "src/formats/encoding/encoder.h"
#include "stages/base/error.h"

CRN_C_BEGIN

#define CRN_OUTLETS_MAX             16
#define CRN_OUTLET_NAME_BYTES       32 /* these three with the final 0 */
#define CRN_OUTLET_FILE_BYTES       64
#define CRN_OUTLET_FAULT_BYTES      128
#define CRN_OUTLET_FAULTS_MAX       4
#define CRN_OUTLET_REPORT_BYTES_MAX 4096 /* as JSON */
#define CRN_OUTLET_REPORT_PATH      "/outlets"

/* Something that is wrong with the sorting; pages translate the ids that they know. */
typedef struct crn_outlet_fault {
    char id[CRN_OUTLET_NAME_BYTES];
    char severity[CRN_OUTLET_NAME_BYTES]; /* "notice", "warning" or, fruit is misjudged, "critical"
                                           */
    char text[CRN_OUTLET_FAULT_BYTES];
} crn_outlet_fault;

typedef struct crn_outlet_counts {
    char name[CRN_OUTLET_NAME_BYTES];
    uint64_t fruits;     /* since the program's start */
    uint64_t per_minute; /* of these, in the last minute */
} crn_outlet_counts;

/* Texts are printable UTF-8. */
typedef struct crn_outlet_report {
    char file[CRN_OUTLET_FILE_BYTES]; /* the program's file: tells one program from another */
    int32_t fault_count, outlet_count;
    crn_outlet_fault faults[CRN_OUTLET_FAULTS_MAX];
    crn_outlet_counts outlets[CRN_OUTLETS_MAX];
} crn_outlet_report;

/* Writes the report as one map. */
void crn_outlet_report_put(const crn_outlet_report *report, crn_encoder *encoder);

/* Reads a report, which may be a stranger's. 0, or -EBADMSG or -ENOMEM with one clause in *error;
 * then *ret_report is as before. */
int crn_outlet_report_parse(const char *json, size_t size, crn_outlet_report *ret_report,
                            crn_error *error);

CRN_C_END

#endif
