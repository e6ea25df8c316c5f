#include "src/monitor/conditions/json.h"

#include <math.h>

#include "stages/base/clock.h"

static void put_values(const crn_condition_values *values, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "values");
    crn_encoder_map(encoder, 5);
    crn_encoder_pair_real(encoder, "count", round(values->count));
    crn_encoder_pair_real(encoder, "percent", round(values->percent * 10) / 10);
    crn_encoder_pair_real(encoder, "seconds", round(values->seconds * 10) / 10);
    crn_encoder_pair_real(encoder, "hours", round(values->hours * 10) / 10);
    crn_encoder_pair_text(encoder, "name", values->name);
    crn_encoder_map_end(encoder);
}

static void put_text(const char *key, const char *text, const crn_condition_values *values,
                     crn_encoder *encoder)
{
    char filled[CRN_CONDITION_TEXT_BYTES];
    crn_encoder_pair_text(encoder, key, crn_condition_text(text, values, filled));
}

uint32_t crn_condition_pairs(const crn_condition_values *values)
{
    return values->lane >= 0 ? 8 : 7;
}

void crn_condition_json(const crn_condition *row, const crn_condition_values *values,
                        crn_encoder *encoder)
{
    const crn_condition_words *words = &row->words[CRN_ENGLISH];
    crn_encoder_pair_text(encoder, "id", row->id);
    crn_encoder_pair_text(encoder, "severity", crn_severity_names[row->severity]);
    crn_encoder_pair_bool(encoder, "misjudged", row->misjudged);
    if (values->lane >= 0)
        crn_encoder_pair_unsigned(encoder, "lane", (uint64_t)values->lane);
    put_values(values, encoder);
    put_text("what", words->what, values, encoder);
    put_text("action", words->action, values, encoder);
    put_text("details", row->details, values, encoder);
}

static void put_held(const crn_condition_held *held, int64_t now_ns, crn_encoder *encoder)
{
    double since_s = crn_seconds(crn_realtime_ns() - (now_ns - held->since_ns));
    crn_encoder_map(encoder, 1 + crn_condition_pairs(&held->values));
    crn_condition_json(held->row, &held->values, encoder);
    crn_encoder_pair_real(encoder, "since_s", round(since_s * 1e3) / 1e3);
    crn_encoder_map_end(encoder);
}

void crn_conditions_json(const crn_condition_list *list, int64_t now_ns, crn_encoder *encoder)
{
    char clause[CRN_CONDITION_CLAUSE_BYTES];
    crn_encoder_text(encoder, "headline");
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_text(encoder, "level", crn_conditions_level(list));
    crn_encoder_pair_bool(encoder, "misjudged", crn_conditions_misjudged(list));
    crn_encoder_map_end(encoder);
    crn_encoder_text(encoder, "conditions");
    crn_encoder_array(encoder, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        put_held(&list->at[i], now_ns, encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "reasons");
    crn_encoder_array(encoder, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        crn_encoder_text(encoder, crn_condition_clause(&list->at[i], clause));
    crn_encoder_array_end(encoder);
}

static void put_row(const crn_condition *row, crn_encoder *encoder)
{
    crn_encoder_text(encoder, row->id);
    crn_encoder_map(encoder, 4 + CRN_LANGUAGES);
    crn_encoder_pair_text(encoder, "alert", row->alert);
    crn_encoder_pair_text(encoder, "severity", crn_severity_names[row->severity]);
    crn_encoder_pair_bool(encoder, "misjudged", row->misjudged);
    crn_encoder_pair_text(encoder, "details", row->details);
    for (int language = 0; language < CRN_LANGUAGES; language++) {
        crn_encoder_text(encoder, crn_language_codes[language]);
        crn_encoder_map(encoder, 2);
        crn_encoder_pair_text(encoder, "what", row->words[language].what);
        crn_encoder_pair_text(encoder, "action", row->words[language].action);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_map_end(encoder);
}

void crn_conditions_table_json(crn_encoder *encoder)
{
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 2);
    crn_encoder_text(encoder, "languages");
    crn_encoder_array(encoder, CRN_LANGUAGES);
    for (int language = 0; language < CRN_LANGUAGES; language++)
        crn_encoder_text(encoder, crn_language_codes[language]);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "conditions");
    crn_encoder_map(encoder, (uint32_t)crn_condition_row_count);
    for (int32_t i = 0; i < crn_condition_row_count; i++)
        put_row(crn_condition_rows[i], encoder);
    crn_encoder_map_end(encoder);
    crn_encoder_map_end(encoder);
}
