#include "tools/sorter/outputs/line_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "stages/base/buffer/text.h"

/* A number, or nothing where there is none. */
static void add_number(crn_text *line, bool exists, uint64_t number)
{
    if (exists)
        crn_text_add(line, "%" PRIu64 ",", number);
    else
        crn_text_add(line, ",");
}

static void add_columns(crn_text *line, const crn_decision *d, const char *outlet)
{
    bool has_fruit = d->reason < CRN_DECIDED_LOST;
    add_number(line, true, d->lane);
    add_number(line, d->reason != CRN_DECIDED_SILENCE, d->sequence);
    add_number(line, has_fruit, d->fruit);
    add_number(line, has_fruit, d->encoder);
    crn_text_add(line, "%d,%s,%s,", d->outlet + 1, outlet, crn_decision_reason_names[d->reason]);
    add_number(line, d->rule >= 0, (uint64_t)d->rule + 1);
    crn_text_add(line, "%" PRIu64, d->lost);
}

static void add_json(crn_text *line, const crn_decision *d, const char *outlet)
{
    crn_text_add(line, "{\"lane\":%" PRIu64, d->lane);
    if (d->reason != CRN_DECIDED_SILENCE)
        crn_text_add(line, ",\"sequence\":%" PRIu64, d->sequence);
    if (d->reason < CRN_DECIDED_LOST)
        crn_text_add(line,
                     ",\"fruit\":%" PRIu64 ",\"encoder\":%" PRIu64 ",\"captured_ns\":%" PRIu64,
                     d->fruit, d->encoder, d->captured_ns);
    crn_text_add(line, ",\"outlet\":%d,\"name\":\"%s\",\"reason\":\"%s\"", d->outlet + 1, outlet,
                 crn_decision_reason_names[d->reason]);
    if (d->rule >= 0)
        crn_text_add(line, ",\"rule\":%d", d->rule + 1);
    if (d->lost)
        crn_text_add(line, ",\"lost\":%" PRIu64, d->lost);
    crn_text_add(line, "}");
}

size_t crn_decision_line(const crn_decision *decision, const crn_texts *outlets,
                         crn_stdout_format format, const char *end,
                         char ret_line[CRN_DECISION_LINE_BYTES])
{
    crn_text line = crn_text_in(ret_line, CRN_DECISION_LINE_BYTES);
    if (format == CRN_STDOUT_JSON)
        add_json(&line, decision, outlets->item[decision->outlet]);
    else
        add_columns(&line, decision, outlets->item[decision->outlet]);
    crn_text_add(&line, "%s", end);
    return line.used;
}
