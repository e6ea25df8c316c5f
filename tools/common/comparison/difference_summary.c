#include "tools/common/comparison/difference_summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stages/stage/classes.h"

#define GREATEST     3   /* fruits that are named of a class */
#define FEW_CLASSES  3   /* up to so many have them all named, others one */
#define OTHERS       5   /* lines that belong to no class */
#define EXAMPLE_MAX  300 /* bytes of a line */
#define NOT_RECORDED ((size_t)-1)

typedef struct changed_fruit {
    uint64_t lane, fruit;
    crn_difference_area expected, got;
} changed_fruit;

typedef struct changed_class {
    char name[CRN_CLASS_NAME_MAX];
    uint64_t fruits; /* that differ, and of them: */
    crn_difference_area expected, got;
    changed_fruit greatest[GREATEST];
    char example[EXAMPLE_MAX];
    /* Of the present fruit. */
    bool differs;
    crn_difference_area now_expected, now_got;
    size_t example_at; /* in the lines */
} changed_class;

struct crn_difference_summary {
    changed_class classes[CRN_CLASSES_MAX];
    uint32_t count;
    char others[OTHERS][EXAMPLE_MAX];
    uint64_t other_count;
    size_t other_at[OTHERS]; /* in the present fruit's lines */
    FILE *lines;
    char *text;
    size_t size;
};

crn_difference_summary *crn_difference_summary_create(void)
{
    crn_difference_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    summary->lines = open_memstream(&summary->text, &summary->size);
    if (!summary->lines)
        crn_difference_summary_free(&summary);
    return summary;
}

void crn_difference_summary_free(crn_difference_summary **summary)
{
    if (!*summary)
        return;
    if ((*summary)->lines)
        fclose((*summary)->lines);
    free((*summary)->text);
    free(*summary);
    *summary = NULL;
}

FILE *crn_difference_summary_lines(crn_difference_summary *summary)
{
    return summary->lines;
}

/* --- one fruit --- */

/* NULL: a log with more classes than a line can have. */
static changed_class *find_class(crn_difference_summary *summary, const char *name, size_t size)
{
    char text[CRN_CLASS_NAME_MAX];
    size = size < sizeof text ? size : sizeof text - 1;
    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
    text[size] = '\0';
    for (uint32_t i = 0; i < summary->count; i++)
        if (!strcmp(summary->classes[i].name, text))
            return &summary->classes[i];
    if (summary->count == CRN_CLASSES_MAX)
        return NULL;
    changed_class *class = &summary->classes[summary->count++];
    memcpy(class->name, text, sizeof text);
    class->example_at = NOT_RECORDED;
    return class;
}

void crn_difference_summary_difference(crn_difference_summary *summary, const char *class,
                                       size_t size)
{
    changed_class *changed = class ? find_class(summary, class, size) : NULL;
    size_t at = (size_t)ftell(summary->lines);
    if (changed) {
        if (!changed->differs && !*changed->example)
            changed->example_at = at;
        changed->differs = true;
        return;
    }
    if (summary->other_count < OTHERS)
        summary->other_at[summary->other_count] = at;
    summary->other_count++;
}

static void add(crn_difference_area *sum, const crn_difference_area *more)
{
    sum->defects += more->defects;
    sum->area_px += isfinite(more->area_px) ? more->area_px : 0;
    sum->level = more->level > 0 ? more->level : sum->level;
}

void crn_difference_summary_add(crn_difference_summary *summary, const char *class, size_t size,
                                const crn_difference_area *expected, const crn_difference_area *got)
{
    changed_class *changed = find_class(summary, class, size);
    if (!changed)
        return;
    add(&changed->now_expected, expected);
    add(&changed->now_got, got);
}

static void copy_line(const crn_difference_summary *summary, size_t at, char line[EXAMPLE_MAX])
{
    const char *from = summary->text + at;
    snprintf(line, EXAMPLE_MAX, "%.*s", (int)strcspn(from, "\n"), from);
}

static double change(const changed_fruit *fruit)
{
    return fabs(fruit->got.area_px - fruit->expected.area_px);
}

/* Keeps the greatest ones, which come first. */
static void keep_greatest(changed_class *class, changed_fruit fruit)
{
    for (uint32_t i = 0; i < GREATEST && change(&fruit) > 0; i++)
        if (change(&fruit) > change(&class->greatest[i])) {
            changed_fruit smaller = class->greatest[i];
            class->greatest[i] = fruit;
            fruit = smaller;
        }
}

static void end_class(const crn_difference_summary *summary, changed_class *class, uint64_t lane,
                      uint64_t fruit)
{
    if (class->differs) {
        class->fruits++;
        add(&class->expected, &class->now_expected);
        add(&class->got, &class->now_got);
        keep_greatest(class, (changed_fruit){lane, fruit, class->now_expected, class->now_got});
        if (class->example_at != NOT_RECORDED)
            copy_line(summary, class->example_at, class->example);
    }
    class->example_at = NOT_RECORDED;
    class->differs = false;
    class->now_expected = class->now_got = (crn_difference_area){0};
}

void crn_difference_summary_end_fruit(crn_difference_summary *summary, uint64_t lane,
                                      uint64_t fruit)
{
    fflush(summary->lines);
    for (uint32_t i = 0; i < summary->count; i++)
        end_class(summary, &summary->classes[i], lane, fruit);
    for (uint32_t i = 0; i < OTHERS && i < summary->other_count; i++)
        if (!*summary->others[i])
            copy_line(summary, summary->other_at[i], summary->others[i]);
    rewind(summary->lines);
}

/* --- output --- */

/* "9 defects of 210.5 px², expected 8 of 150 px² (+40.3 %)" */
static void print_areas(const crn_difference_area *expected, const crn_difference_area *got,
                        FILE *out)
{
    fprintf(out, "%" PRIu64 " defect%s of %.1f px², expected %" PRIu64 " of %.1f px²", got->defects,
            got->defects == 1 ? "" : "s", got->area_px, expected->defects, expected->area_px);
    if (expected->area_px > 0)
        fprintf(out, " (%+.1f %%)", 100 * (got->area_px / expected->area_px - 1));
}

static void print_class(const changed_class *class, uint64_t fruits, uint32_t most, FILE *out)
{
    fprintf(out, "%s: %" PRIu64 " of %" PRIu64 " fruits differ: ", class->name, class->fruits,
            fruits);
    print_areas(&class->expected, &class->got, out);
    if (class->expected.level > 0 && class->got.level > 0 &&
        (class->expected.level < class->got.level || class->expected.level > class->got.level))
        fprintf(out, "; level %.9g, expected %.9g", class->got.level, class->expected.level);
    fprintf(out, "\n  first: %s\n", class->example);
    for (uint32_t i = 0; i < most && change(&class->greatest[i]) > 0; i++) {
        const changed_fruit *one = &class->greatest[i];
        fprintf(out, "  %s lane %" PRIu64 ", fruit %" PRIu64 ": ", i ? "then" : "most:", one->lane,
                one->fruit);
        print_areas(&one->expected, &one->got, out);
        fputc('\n', out);
    }
}

bool crn_difference_summary_print(const crn_difference_summary *summary, uint64_t fruits, FILE *out)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < summary->count; i++)
        differ += summary->classes[i].fruits > 0;
    for (uint32_t i = 0; i < OTHERS && i < summary->other_count; i++)
        fprintf(out, "%s\n", summary->others[i]);
    if (summary->other_count > OTHERS)
        fprintf(out, "and %" PRIu64 " more of these\n", summary->other_count - OTHERS);
    for (uint32_t i = 0; i < summary->count; i++)
        if (summary->classes[i].fruits)
            print_class(&summary->classes[i], fruits, differ <= FEW_CLASSES ? GREATEST : 1, out);
    return differ || summary->other_count > OTHERS;
}
