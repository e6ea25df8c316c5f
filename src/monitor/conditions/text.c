/* Texts with figures in them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/conditions/conditions.h"

/* Below this, hours, seconds and percent are told to a tenth. */
#define FEW 10

static void print_few(double value, char *text, size_t size)
{
    snprintf(text, size, value < FEW && value != (double)(int64_t)value ? "%.1f" : "%.0f", value);
}

/* Writes the value of that name; false: there is no such value. */
static bool print_value(const char *name, size_t length, const crn_condition_values *values,
                        char text[CRN_CONDITION_NAME_BYTES])
{
#define IS(word) (length == sizeof word - 1 && memcmp(name, word, length) == 0)
    if (IS("lane") && values->lane < 0)
        snprintf(text, CRN_CONDITION_NAME_BYTES, "?"); /* it could not be read */
    else if (IS("lane"))
        snprintf(text, CRN_CONDITION_NAME_BYTES, "%" PRId64, values->lane);
    else if (IS("count"))
        snprintf(text, CRN_CONDITION_NAME_BYTES, "%.0f", values->count);
    else if (IS("percent"))
        print_few(values->percent > 0.1 ? values->percent : 0.1, text, CRN_CONDITION_NAME_BYTES);
    else if (IS("seconds"))
        print_few(values->seconds, text, CRN_CONDITION_NAME_BYTES);
    else if (IS("hours"))
        print_few(values->hours, text, CRN_CONDITION_NAME_BYTES);
    else if (IS("name"))
        snprintf(text, CRN_CONDITION_NAME_BYTES, "%s", values->name);
    else
        return false;
    return true;
#undef IS
}

const char *crn_condition_text(const char *text, const crn_condition_values *values,
                               char ret_text[CRN_CONDITION_TEXT_BYTES])
{
    size_t used = 0;
    for (const char *at = text; *at != '\0' && used + 1 < CRN_CONDITION_TEXT_BYTES;) {
        char value[CRN_CONDITION_NAME_BYTES];
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (end && print_value(at + 1, (size_t)(end - at - 1), values, value)) {
            size_t room = CRN_CONDITION_TEXT_BYTES - 1 - used, length = strlen(value);
            length = length < room ? length : room;
            memcpy(ret_text + used, value, length);
            used += length;
            at = end + 1;
        } else {
            ret_text[used++] = *at++;
        }
    }
    ret_text[used] = '\0';
    return ret_text;
}

const char *crn_condition_clause(const crn_condition_held *held,
                                 char ret_clause[CRN_CONDITION_CLAUSE_BYTES])
{
    char what[CRN_CONDITION_TEXT_BYTES], action[CRN_CONDITION_TEXT_BYTES];
    const crn_condition_words *words = &held->row->words[CRN_ENGLISH];
    snprintf(ret_clause, CRN_CONDITION_CLAUSE_BYTES, "%s. %s",
             crn_condition_text(words->what, &held->values, what),
             crn_condition_text(words->action, &held->values, action));
    return ret_clause;
}
