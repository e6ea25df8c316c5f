/* With the mark by which Excel knows UTF-8. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/formats/encoding/csv.h"
#include "tools/common/comparison/outputs.h"

/* A number of a class, a column for each run. */
typedef struct number_column {
    const char *name;
    size_t offset;
    bool is_count;
} number_column;

static const number_column columns[] = {
    {"contours", offsetof(crn_class_measures, contours), true},
    {"area_px2", offsetof(crn_class_measures, area_px), false},
    {"spots", offsetof(crn_class_measures, spots), false},
    {"area_mm2", offsetof(crn_class_measures, area_mm2), false},
    {"largest_mm2", offsetof(crn_class_measures, largest_mm2), false},
    {"longest_mm", offsetof(crn_class_measures, longest_mm), false},
    {"level", offsetof(crn_class_measures, level), false},
};

#define COLUMNS (sizeof columns / sizeof *columns)

void crn_comparison_csv_begin(FILE *out, const crn_comparison_facts *facts)
{
    fprintf(out,
            "\xef\xbb\xbflane,epoch,fruit,differences,verdict_before,verdict_after,%s"
            "changed_px2,class",
            facts->outlets ? "outlet_before,outlet_after," : "");
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(out, ",%s_before,%s_after", columns[i].name, columns[i].name);
    fputs("\r\n", out);
}

static void write_number(FILE *out, const number_column *column, const crn_class_measures *run)
{
    const void *at = (const char *)run + column->offset;
    fputc(',', out);
    if (column->is_count) {
        uint64_t count;
        memcpy(&count, at, sizeof count);
        fprintf(out, "%" PRIu64, count);
        return;
    }
    double value;
    memcpy(&value, at, sizeof value);
    if (isfinite(value))
        fprintf(out, "%.10g", value);
}

/* An outlet's name has no character that a cell would quote. */
static void write_outlets(FILE *out, const crn_fruit_change *change,
                          const crn_comparison_facts *facts)
{
    for (int run = 0; facts->outlets && run < CRN_COMPARED_RUNS; run++) {
        const char *name = crn_comparison_outlet(facts, change, run);
        fprintf(out, "%s,", name ? name : "");
    }
}

void crn_comparison_csv_add(FILE *out, const crn_compared_fruit *fruit,
                            const crn_comparison_facts *facts)
{
    const crn_fruit_change *change = fruit->change;
    uint32_t rows = change->class_count ? change->class_count : 1;
    for (uint32_t i = 0; i < rows; i++) {
        fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,", fruit->lane,
                fruit->epoch, fruit->fruit, fruit->differences,
                crn_changed_kind_name(change->kind[CRN_BEFORE]),
                crn_changed_kind_name(change->kind[CRN_AFTER]));
        write_outlets(out, change, facts);
        fprintf(out, "%.10g,", change->changed_px);
        if (change->class_count)
            crn_csv_put_text(change->classes[i].name, out);
        for (size_t k = 0; k < COLUMNS; k++)
            for (int run = 0; run < CRN_COMPARED_RUNS; run++)
                if (change->class_count && change->kind[run] != CRN_NO_VERDICT)
                    write_number(out, &columns[k], &change->classes[i].run[run]);
                else
                    fputc(',', out);
        fputs("\r\n", out);
    }
}
