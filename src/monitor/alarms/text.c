#include "src/monitor/alarms/text.h"

#include <inttypes.h>
#include <time.h>

#include "src/formats/encoding/csv.h"
#include "src/monitor/conditions/json.h"

/* --- JSON --- */

static void put_time(const char *key, int64_t ms, crn_encoder *encoder)
{
    crn_encoder_pair_unsigned(encoder, key, ms > 0 ? (uint64_t)ms : 0);
}

void crn_alarm_json(const crn_alarm *alarm, int64_t now_ms, crn_encoder *encoder)
{
    bool cleared = alarm->cleared_ms != 0, acknowledged = alarm->acknowledged_ms != 0,
         shelved = crn_alarm_is_shelved(alarm, now_ms);
    uint32_t pairs = 2 + crn_condition_pairs(&alarm->values) + cleared + 2 * acknowledged + shelved;
    crn_encoder_map(encoder, pairs);
    crn_encoder_pair_unsigned(encoder, "number", alarm->number);
    crn_condition_json(alarm->row, &alarm->values, encoder);
    put_time("raised_ms", alarm->raised_ms, encoder);
    if (cleared)
        put_time("cleared_ms", alarm->cleared_ms, encoder);
    if (acknowledged) {
        put_time("acknowledged_ms", alarm->acknowledged_ms, encoder);
        crn_encoder_pair_text(encoder, "acknowledged_by", alarm->acknowledged_by);
    }
    if (shelved)
        put_time("shelved_until_ms", alarm->shelved_until_ms, encoder);
    crn_encoder_map_end(encoder);
}

/* --- CSV --- */

void crn_alarm_time(int64_t ms, char ret_text[CRN_ALARM_TIME_BYTES])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    ret_text[0] = '\0';
    if (ms <= 0 || !gmtime_r(&seconds, &utc))
        return;
    size_t used = strftime(ret_text, CRN_ALARM_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(ret_text + used, CRN_ALARM_TIME_BYTES - used, ".%03dZ", (int)(ms % 1000));
}

static void put_time_cell(int64_t ms, FILE *out)
{
    char text[CRN_ALARM_TIME_BYTES];
    crn_alarm_time(ms, text);
    fprintf(out, "%s,", text);
}

void crn_alarm_csv_head(FILE *out)
{
    fputs("number,condition,severity,misjudged,lane,raised,cleared,acknowledged,acknowledged_by,"
          "shelved_until,what,action\r\n",
          out);
}

void crn_alarm_csv(const crn_alarm *alarm, FILE *out)
{
    const crn_condition *row = alarm->row;
    const crn_condition_words *words = &row->words[CRN_ENGLISH];
    char text[CRN_CONDITION_TEXT_BYTES];
    fprintf(out, "%" PRIu64 ",%s,%s,%s,", alarm->number, row->id, crn_severity_names[row->severity],
            row->misjudged ? "yes" : "no");
    if (alarm->values.lane >= 0)
        fprintf(out, "%" PRId64, alarm->values.lane);
    fputc(',', out);
    put_time_cell(alarm->raised_ms, out);
    put_time_cell(alarm->cleared_ms, out);
    put_time_cell(alarm->acknowledged_ms, out);
    crn_csv_put_text(alarm->acknowledged_by, out);
    fputc(',', out);
    put_time_cell(alarm->shelved_until_ms, out);
    crn_csv_put_text(crn_condition_text(words->what, &alarm->values, text), out);
    fputc(',', out);
    crn_csv_put_text(crn_condition_text(words->action, &alarm->values, text), out);
    fputs("\r\n", out);
}
