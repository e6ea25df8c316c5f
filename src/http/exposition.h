/* Prometheus' text format 0.0.4, and the table of a README of the same families. */
#ifndef CRN_SRC_HTTP_EXPOSITION_H
#define CRN_SRC_HTTP_EXPOSITION_H

#include <stdio.h>

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_EXPOSITION_MEDIA_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef enum crn_family_type {
    CRN_FAMILY_COUNTER,
    CRN_FAMILY_GAUGE,
    CRN_FAMILY_HISTOGRAM,
    CRN_FAMILY_SUMMARY, /* sum and count, without quantiles */
} crn_family_type;

/* What stands before a family's samples. */
void crn_exposition_print_head(const char *name, crn_family_type type, const char *help, FILE *out);

/* A label's value as it is within its quotes, which are not printed. */
void crn_exposition_print_value(const char *value, FILE *out);

/* The head of the table, and the row of a family; `labels` are its labels' names. */
void crn_exposition_print_reference_head(FILE *out);
void crn_exposition_print_reference(const char *name, crn_family_type type, const char *labels,
                                    const char *help, FILE *out);

CRN_C_END

#endif
