/*
 * From what a line sends to one decision per fruit, and what fails safe: late and stale verdicts,
 * lost ones (gaps in the sequence), a silent line. It reads no clock and no socket.
 */
#ifndef CRN_TOOLS_SORTER_DECIDE_DECIDER_H
#define CRN_TOOLS_SORTER_DECIDE_DECIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "tools/sorter/decide/kept_sequences.h"
#include "tools/sorter/settings/settings.h"

typedef struct crn_decision {
    int32_t outlet; /* index into outlets.names */
    crn_decision_reason reason;
    int32_t rule;    /* of RULE and UNMEASURED: counted from 0; else -1 */
    const char *run; /* of the line, valid until the next call; "" of SILENCE */
    uint64_t lane;   /* the following up to `encoder` are 0 of LOST and SILENCE, but for `lane` */
    uint64_t fruit, encoder, captured_ns;
    bool is_located;   /* these two are of the fruit's first view, and known */
    uint64_t sequence; /* 0 of SILENCE */
    uint64_t lost;     /* 0 but for LOST */
} crn_decision;

typedef void crn_decision_use(void *context, const crn_decision *decision);

/* Whether the line can be relied on. */
typedef enum crn_line_state {
    CRN_LINE_WAITING, /* nothing was heard so far */
    CRN_LINE_HEARD,
    CRN_LINE_SILENT,
} crn_line_state;

extern const char *const crn_line_state_names[]; /* "waiting", "running", "silent" */

typedef struct crn_decider_stats {
    uint64_t outlet[CRN_OUTLETS_MAX]; /* fruits, lost ones included */
    uint64_t reason[CRN_DECISION_REASONS];
    uint64_t lost, repeated, silences, lanes_refused;
} crn_decider_stats;

typedef struct crn_decider crn_decider;

/* `settings` stay the caller's; crn_decider_use() replaces them. `kept` too, and what it has of an
 * earlier sorter counts as decided; NULL: nothing is kept. 0 or -ENOMEM. */
int crn_decider_create(const crn_sorter_settings *settings, crn_decision_use *use, void *context,
                       crn_kept_sequences *kept, crn_decider **ret_decider);
void crn_decider_free(crn_decider **decider);
void crn_decider_use(crn_decider *decider, const crn_sorter_settings *settings);

/* A verdict arrived. now_ns: CLOCK_MONOTONIC; utc_ns: CLOCK_REALTIME, which deadlines are of. */
void crn_decider_verdict(crn_decider *decider, const crn_decoded *verdict, int64_t now_ns,
                         int64_t utc_ns);

/* An `alive` message arrived. */
void crn_decider_alive(crn_decider *decider, const crn_decoded_status *status, int64_t now_ns);

/* Notices silence, shortly before the limit is over. A sorter that looks past it was held up, and
 * what it reads from probably, too: it waits as long again, at most as long as the limit of
 * silence, before it takes the line for silent. Returns when to call it next at the latest, or
 * CRN_NEVER_NS. */
int64_t crn_decider_look(crn_decider *decider, int64_t now_ns);

crn_line_state crn_decider_state(const crn_decider *decider);

/* The limit in force; 0: the line's silence is not noticed. */
int64_t crn_decider_silence_ns(const crn_decider *decider);
const crn_decider_stats *crn_decider_get_stats(const crn_decider *decider);

#endif
