/*
 * What can be wrong with a line, in the operator's words: a row for each condition, with what finds
 * it, and the conditions that hold now. The page's headline, /healthz, /events, the metric
 * cernita_condition and its alerts, cernita-why, cernita-top, `cernitactl status`, the service
 * manager's status and the log all say what is here.
 *
 * The rows stand in the files of this folder, by what they are about. Each has the same texts in
 * every language, in which {lane}, {count}, {percent}, {seconds}, {hours} and {name} are replaced
 * by figures.
 */
#ifndef CRN_SRC_MONITOR_CONDITIONS_CONDITIONS_H
#define CRN_SRC_MONITOR_CONDITIONS_CONDITIONS_H

#include "src/monitor/snapshot.h"

CRN_C_BEGIN

typedef enum crn_language {
    CRN_ENGLISH,
    CRN_ITALIAN,
    CRN_SPANISH,
    CRN_FRENCH,
    CRN_GERMAN,
    CRN_LANGUAGES,
} crn_language;

extern const char *const crn_language_codes[CRN_LANGUAGES]; /* "en", "it", … */

typedef enum crn_severity {
    CRN_SEVERITY_NOTICE,   /* worth a look */
    CRN_SEVERITY_WARNING,  /* something is lost, or soon will be */
    CRN_SEVERITY_CRITICAL, /* wakes somebody up */
    CRN_SEVERITIES,
} crn_severity;

extern const char *const crn_severity_names[CRN_SEVERITIES]; /* "notice", … */

#define CRN_CONDITION_NAME_BYTES 160

/* What is put into a condition's texts. */
typedef struct crn_condition_values {
    int64_t lane; /* -1: it is of the whole line */
    double count, percent, seconds, hours;
    char name[CRN_CONDITION_NAME_BYTES];
} crn_condition_values;

typedef struct crn_condition_words {
    const char *what;   /* a sentence without its stop: "Lane {lane}: no pictures" */
    const char *action; /* what to do, a sentence */
} crn_condition_words;

typedef struct crn_condition_look crn_condition_look;
typedef struct crn_condition_found crn_condition_found;

typedef struct crn_condition {
    const char *id;    /* for programs */
    const char *alert; /* of Prometheus */
    crn_severity severity;
    bool misjudged;  /* fruit is sorted wrongly or not at all */
    int32_t raise_s; /* it is raised after it held for so long, */
    int32_t clear_s; /* and ends after it did not hold for so long */
    void (*find)(const crn_condition_look *look, crn_condition_found *found);
    crn_condition_words words[CRN_LANGUAGES];
    const char *details; /* in English, for who looks after the line: keys, commands */
} crn_condition;

/* All rows; those of the same severity in the order of their weight. */
extern const crn_condition *const crn_condition_rows[];
extern const int32_t crn_condition_row_count;

/* The row of that id, or NULL. */
const crn_condition *crn_condition_named(const char *id);

/* A condition that holds. */
typedef struct crn_condition_held {
    const crn_condition *row;
    crn_condition_values values; /* latest */
    int64_t since_ns;            /* CLOCK_MONOTONIC: when it began to hold */
} crn_condition_held;

typedef enum crn_condition_event {
    CRN_CONDITION_RAISED,
    CRN_CONDITION_HOLDS, /* still: once a minute */
    CRN_CONDITION_ENDED,
} crn_condition_event;

/* Told of what becomes of a condition. */
typedef void crn_condition_told(void *context, const crn_condition_held *held,
                                crn_condition_event event);

/* At a time; of one row at most half, so that lanes that all fail leave room for others. */
#define CRN_CONDITIONS_MAX 128

/* What holds at a time, worst first. */
typedef struct crn_condition_list {
    crn_state state;
    uint32_t count;
    crn_condition_held at[CRN_CONDITIONS_MAX];
} crn_condition_list;

/* True if one of them says that fruit is misjudged. */
bool crn_conditions_misjudged(const crn_condition_list *list);

/* "critical", "warning" or "notice" of the worst; "good" without any; "none" while the line starts
 * or stops. */
const char *crn_conditions_level(const crn_condition_list *list);

#define CRN_CONDITION_TEXT_BYTES 480

/* Writes the text with the values in it, cut if it is longer; returns `ret_text`. */
const char *crn_condition_text(const char *text, const crn_condition_values *values,
                               char ret_text[CRN_CONDITION_TEXT_BYTES]);

/* "what: action", in English. */
#define CRN_CONDITION_CLAUSE_BYTES (2 * CRN_CONDITION_TEXT_BYTES)
const char *crn_condition_clause(const crn_condition_held *held,
                                 char ret_clause[CRN_CONDITION_CLAUSE_BYTES]);

CRN_C_END

#endif
