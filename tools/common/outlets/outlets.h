/*
 * The outlets of a sorter's file, sections `outlets` and `rules`: reading them, and which outlet a
 * verdict sends its fruit to.
 */
#ifndef CRN_TOOLS_COMMON_OUTLETS_OUTLETS_H
#define CRN_TOOLS_COMMON_OUTLETS_OUTLETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/formats/outlets/report.h"
#include "stages/base/param.h"
#include "stages/config/reader.h"
#include "tools/common/rules/rules.h"

#define CRN_NO_OUTLET (-1)
_Static_assert(CRN_OUTLETS_MAX == CRN_TEXTS_MAX, "a list of texts holds all outlets' names");

/* Outlets by what sends a fruit there; each is an index into `names`. */
typedef struct crn_outlet_choice {
    int32_t by_default, late, partial /* CRN_NO_OUTLET: the rules decide */, silence, unmeasured;
} crn_outlet_choice;

/* Zero-initialise, but for `rules`. */
typedef struct crn_outlets {
    crn_texts names;
    char by_default[CRN_TEXT_BYTES], late[CRN_TEXT_BYTES], partial[CRN_TEXT_BYTES],
        silence[CRN_TEXT_BYTES], unmeasured[CRN_TEXT_BYTES]; /* as the file has them */
    crn_outlet_choice choice;
    crn_rules *rules;                   /* owned; made before the file is read */
    int32_t rule_outlet[CRN_RULES_MAX]; /* index of an outlet */
} crn_outlets;

/* --- deciding --- */

/* Why a fruit goes to its outlet. */
typedef enum crn_decision_reason {
    CRN_DECIDED_RULE,
    CRN_DECIDED_DEFAULT, /* no rule holds */
    CRN_DECIDED_UNMEASURED,
    CRN_DECIDED_PARTIAL,
    CRN_DECIDED_LATE,
    CRN_DECIDED_STALE,   /* its verdict arrived after its deadline */
    CRN_DECIDED_LOST,    /* `lost` verdicts of the lane, from `sequence` on, never arrived */
    CRN_DECIDED_SILENCE, /* holds for all fruits of the lane until its next decision */
    CRN_DECISION_REASONS,
} crn_decision_reason;

/* "rule", "default", …: as in the outputs. */
extern const char *const crn_decision_reason_names[CRN_DECISION_REASONS];

typedef struct crn_outlet_decision {
    int32_t outlet;             /* index into `names` */
    crn_decision_reason reason; /* STALE at most */
    int32_t rule;               /* of RULE and UNMEASURED: counted from 0; else -1 */
} crn_outlet_decision;

/* Decides on one verdict. `is_past`: it arrived too long after its deadline. */
crn_outlet_decision crn_outlets_decide(const crn_outlets *outlets, const crn_decoded *verdict,
                                       bool is_past);

/* --- reading --- */

/*
 * Reads and checks both sections of a sorter's file and passes over its others; each error is one
 * line on `faults`, and so is a file without rules. *outlets is zeroed before. 0, or a negative
 * errno, told there; crn_outlets_done() in every case.
 */
int crn_outlets_load(const char *path, FILE *faults, crn_outlets *outlets);
void crn_outlets_done(crn_outlets *outlets);

/* Both sections' rows in a file's table of sections; `offset`: of crn_outlets in its settings. */
#define CRN_OUTLETS_SECTIONS(offset)                                                               \
    {.key = "outlets", .rows = crn_outlets_keys, .at = (offset)},                                  \
    {                                                                                              \
        .key = "rules", .kind = CRN_SECTION_OWN, .at = (offset), .read = crn_outlets_read_rules,   \
        .help = "`- {outlet: NAME, when: CONDITION}` in the order in which they are tried, at "    \
                "most 64 of at most 255 bytes ([grammar](../common/rules/README.md)) (live)"       \
    }

extern const crn_param crn_outlets_keys[];

/* Their outlets are looked up by crn_outlets_check(), as outlets.names may follow in the file. */
void crn_outlets_read_rules(crn_reader *reader, const crn_section *section,
                            crn_source_position position, const crn_node *node);

/* Looks up the outlets of the keys and of the rules; after all keys were read. */
void crn_outlets_check(crn_reader *reader, crn_outlets *outlets);

/* The index of the outlet of that name; CRN_NO_OUTLET, reported at `node`, if there is none. */
int32_t crn_outlets_find(const crn_outlets *outlets, crn_reader *reader, const char *key,
                         const char *name, const crn_node *node);

#endif
