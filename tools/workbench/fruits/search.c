#include "tools/workbench/fruits/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/kind.h"

#define MS_NS     (1000 * 1000)
#define LANES_MAX 1024 /* in the summary */

static bool matches(const crn_fruit_table *table, const crn_fruit_search *search, uint64_t bit,
                    const crn_recorded_fruit *fruit)
{
    return fruit->time_ns >= search->from_ns && fruit->time_ns < search->to_ns &&
           (search->lane < 0 || (int64_t)fruit->lane == search->lane) &&
           (search->kind < 0 || fruit->kind == search->kind) &&
           (!search->is_one || fruit->fruit == search->fruit) &&
           (!search->class || (fruit->found & bit)) &&
           (!search->lot || strcmp(table->lots[fruit->lot], search->lot) == 0);
}

int32_t crn_fruits_find(const crn_fruit_table *table, const crn_fruit_search *search,
                        int64_t ret_numbers[CRN_FRUITS_SHOWN_MAX], uint64_t *ret_total)
{
    uint64_t bit = search->class ? crn_fruit_class_bit(table->head, search->class) : 0, total = 0;
    int32_t count = 0;
    for (uint64_t i = 0; i < table->head->fruit_count; i++) {
        uint64_t number = table->by_time[i];
        if (!matches(table, search, bit, &table->fruits[number]))
            continue;
        if (total++ >= (uint64_t)search->skip && count < CRN_FRUITS_SHOWN_MAX)
            ret_numbers[count++] = (int64_t)number;
    }
    *ret_total = total;
    return count;
}

static void write_views(const crn_fruit_table *table, const crn_recorded_fruit *fruit,
                        crn_encoder *encoder)
{
    crn_encoder_text(encoder, "views");
    crn_encoder_array(encoder, fruit->view_count);
    for (uint32_t i = 0; i < fruit->view_count; i++)
        crn_encoder_unsigned(encoder, table->views[fruit->first_view + i].view);
    crn_encoder_array_end(encoder);
}

static void write_found(const crn_fruit_table *table, uint64_t found, crn_encoder *encoder)
{
    const crn_classes *classes = &table->head->classes;
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, (uint32_t)__builtin_popcountll(found));
    for (int32_t i = 0; i < classes->count; i++)
        if (found >> i & 1)
            crn_encoder_text(encoder, classes->name[i]);
    crn_encoder_array_end(encoder);
}

/* Numbers that JavaScript would round are texts. */
static void pair_digits(crn_encoder *encoder, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    crn_encoder_pair_text(encoder, key, text);
}

static void write_fruit(const crn_fruit_table *table, int64_t number, crn_encoder *encoder)
{
    const crn_recorded_fruit *fruit = &table->fruits[number];
    crn_encoder_map(encoder, 9);
    crn_encoder_pair_unsigned(encoder, "number", (uint64_t)number);
    crn_encoder_pair_unsigned(encoder, "lane", fruit->lane);
    pair_digits(encoder, "fruit", fruit->fruit);
    crn_encoder_text(encoder, "time_ms");
    crn_encoder_integer(encoder, fruit->time_ns / MS_NS);
    write_views(table, fruit, encoder);
    crn_encoder_pair_unsigned(encoder, "shown_view", fruit->shown_view);
    crn_encoder_pair_text(encoder, "verdict",
                          fruit->kind < 0 ? "" : crn_verdict_kind_names[fruit->kind]);
    crn_encoder_pair_text(encoder, "lot", table->lots[fruit->lot]);
    write_found(table, fruit->found, encoder);
    crn_encoder_map_end(encoder);
}

void crn_fruits_write(const crn_fruit_table *table, const crn_fruit_search *search,
                      crn_encoder *encoder)
{
    int64_t numbers[CRN_FRUITS_SHOWN_MAX];
    uint64_t total;
    int32_t count = crn_fruits_find(table, search, numbers, &total);
    crn_encoder_map(encoder, 2);
    crn_encoder_pair_unsigned(encoder, "total", total);
    crn_encoder_text(encoder, "fruits");
    crn_encoder_array(encoder, (uint32_t)count);
    for (int32_t i = 0; i < count; i++)
        write_fruit(table, numbers[i], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

/* --- the summary ------------------------------------------------------------------------------ */

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void write_lanes(const crn_fruit_table *table, crn_encoder *encoder)
{
    uint32_t lanes[LANES_MAX], count = 0;
    for (uint64_t i = 0; i < table->head->fruit_count; i++) {
        uint32_t lane = table->fruits[i].lane, at = 0;
        while (at < count && lanes[at] != lane)
            at++;
        if (at == count && count < LANES_MAX)
            lanes[count++] = lane;
    }
    qsort(lanes, count, sizeof *lanes, by_number);
    crn_encoder_text(encoder, "lanes");
    crn_encoder_array(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        crn_encoder_unsigned(encoder, lanes[i]);
    crn_encoder_array_end(encoder);
}

static void write_names(crn_encoder *encoder, const char *key,
                        const char (*names)[CRN_CLASS_NAME_MAX], uint64_t count)
{
    crn_encoder_text(encoder, key);
    crn_encoder_array(encoder, (uint32_t)count);
    for (uint64_t i = 0; i < count; i++)
        crn_encoder_text(encoder, names[i]);
    crn_encoder_array_end(encoder);
}

static void write_notes(const crn_fruit_table *table, crn_encoder *encoder)
{
    uint32_t count = 0;
    const char *end = table->notes + table->head->note_bytes;
    for (const char *at = table->notes; at < end; at++)
        count += *at == '\n';
    crn_encoder_text(encoder, "notes");
    crn_encoder_array(encoder, count);
    for (const char *at = table->notes; at < end;) {
        char line[sizeof((crn_error *)NULL)->text];
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        snprintf(line, sizeof line, "%.*s", (int)(stop - at), at);
        crn_encoder_text(encoder, line);
        at = stop + 1;
    }
    crn_encoder_array_end(encoder);
}

void crn_fruits_write_summary(const crn_fruit_table *table, crn_encoder *encoder)
{
    const crn_fruit_index *head = table->head;
    uint64_t count = head->fruit_count;
    crn_encoder_map(encoder, 11);
    crn_encoder_pair_unsigned(encoder, "fruits", head->fruit_count);
    crn_encoder_pair_unsigned(encoder, "views", head->view_count);
    crn_encoder_pair_bool(encoder, "has_verdicts", head->has_verdicts);
    crn_encoder_pair_unsigned(encoder, "verdicts", head->verdicts);
    crn_encoder_text(encoder, "from_ms");
    crn_encoder_integer(encoder, count ? table->fruits[table->by_time[0]].time_ns / MS_NS : 0);
    crn_encoder_text(encoder, "to_ms");
    crn_encoder_integer(encoder,
                        count ? table->fruits[table->by_time[count - 1]].time_ns / MS_NS : 0);
    crn_encoder_pair_unsigned(encoder, "recorded_classes", (uint64_t)head->recorded_classes);
    write_lanes(table, encoder);
    write_names(encoder, "classes", head->classes.name, (uint64_t)head->classes.count);
    write_names(encoder, "lots", table->lots + 1, head->lot_count - 1);
    write_notes(table, encoder);
    crn_encoder_map_end(encoder);
}
