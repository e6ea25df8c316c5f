/*
 * `cernitad --self-check`: what the machine grants a line, what each deficit costs, and its cure.
 *
 * Files of /sys and /proc are read below a root, so that tests can hand in made-up ones. What a
 * machine does not tell is CRN_FINDING_UNKNOWN, never an error.
 */
#ifndef CRN_SRC_SELF_CHECK_SELF_CHECK_H
#define CRN_SRC_SELF_CHECK_SELF_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timex.h>

#include "gpu/gpu.h"
#include "stages/config/config.h"

typedef enum crn_finding_level {
    CRN_FINDING_OK,
    CRN_FINDING_NOTE,    /* costs time now and then, or may */
    CRN_FINDING_BAD,     /* makes fruits late, or denies what the file asks for */
    CRN_FINDING_UNKNOWN, /* the machine does not tell */
} crn_finding_level;

/* "ok", "note", "bad", "unknown". */
extern const char *const crn_finding_level_names[];

/* One row. */
typedef struct crn_finding {
    const char *name; /* static */
    crn_finding_level level;
    char text[200];
    const char *cost, *cure; /* static; NULL if there is none */
} crn_finding;

#define CRN_FINDINGS_MAX 64

/* Zero-initialise but for what the caller sets. */
typedef struct crn_self_check {
    /* Set by the caller: */
    const char *root;         /* in front of /sys and /proc; "" for this machine's */
    const crn_config *config; /* resolved; NULL: rows about a line are left out */
    const crn_gpu *gpu;       /* NULL: none */
    const char *no_gpu;       /* why there is none */
    int (*adjtimex)(struct timex *);
    int32_t wake_ups;   /* measured under each policy, 1 ms apart */
    int64_t disk_bytes; /* written to measure a disk */
    /* The result: */
    int count;
    crn_finding item[CRN_FINDINGS_MAX];
} crn_self_check;

/* Number of rows of that level. */
int crn_self_check_count(const crn_self_check *check, crn_finding_level level);

/* The rows as a table, with cost and cure below those that have them; or as JSON. */
void crn_self_check_print(const crn_self_check *check, FILE *out);
void crn_self_check_print_json(const crn_self_check *check, FILE *out);

/* The command: measures, prints, and returns the exit status, 0 or 1. */
int crn_self_check_command(const crn_config *config, const crn_gpu *gpu, const char *no_gpu,
                           bool json);

#endif
