#include <errno.h>
#include <math.h>

#include "tools/common/comparison/outputs.h"

static const char *const run_keys[CRN_COMPARED_RUNS] = {"before", "after"};

void crn_comparison_json_begin(FILE *out)
{
    fputs("{\"fruits\":[", out);
}

/* Finishes the encoder's object and writes it from byte `from` on. */
static int write_object(FILE *out, crn_encoder *encoder, size_t from)
{
    const unsigned char *bytes;
    size_t size;
    int r = crn_encoder_end(encoder, &bytes, &size);
    if (!r)
        fwrite(bytes + from, 1, size - from, out);
    return r;
}

static void write_measures(crn_encoder *encoder, const crn_class_measures *measures)
{
    bool is_measured = isfinite(measures->area_mm2);
    crn_encoder_map(encoder, is_measured ? 7 : 3);
    crn_encoder_pair_unsigned(encoder, "contours", measures->contours);
    crn_encoder_pair_real(encoder, "area_px2", measures->area_px);
    crn_encoder_pair_real(encoder, "level", measures->level);
    if (is_measured) {
        crn_encoder_pair_real(encoder, "spots", measures->spots);
        crn_encoder_pair_real(encoder, "area_mm2", measures->area_mm2);
        crn_encoder_pair_real(encoder, "largest_mm2", measures->largest_mm2);
        crn_encoder_pair_real(encoder, "longest_mm", measures->longest_mm);
    }
    crn_encoder_map_end(encoder);
}

static void write_class(crn_encoder *encoder, const crn_fruit_change *change, uint32_t at)
{
    const crn_class_change *class = &change->classes[at];
    crn_encoder_map(encoder,
                    1 + (change->kind[0] != CRN_NO_VERDICT) + (change->kind[1] != CRN_NO_VERDICT));
    crn_encoder_pair_text(encoder, "class", class->name);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        if (change->kind[run] != CRN_NO_VERDICT) {
            crn_encoder_text(encoder, run_keys[run]);
            write_measures(encoder, &class->run[run]);
        }
    crn_encoder_map_end(encoder);
}

static void write_kind_pair(crn_encoder *encoder, const crn_fruit_change *change)
{
    crn_encoder_pair_text(encoder, "verdict_before",
                          crn_changed_kind_name(change->kind[CRN_BEFORE]));
    crn_encoder_pair_text(encoder, "verdict_after", crn_changed_kind_name(change->kind[CRN_AFTER]));
}

/* null: not decided. */
static void write_outlet_pair(crn_encoder *encoder, const crn_fruit_change *change,
                              const crn_comparison_facts *facts)
{
    static const char *const keys[CRN_COMPARED_RUNS] = {"outlet_before", "outlet_after"};
    for (int run = 0; facts->outlets && run < CRN_COMPARED_RUNS; run++) {
        const char *name = crn_comparison_outlet(facts, change, run);
        crn_encoder_text(encoder, keys[run]);
        if (name)
            crn_encoder_text(encoder, name);
        else
            crn_encoder_null(encoder);
    }
}

int crn_comparison_json_add(FILE *out, crn_encoder *encoder, const crn_compared_fruit *fruit,
                            const crn_comparison_facts *facts, bool is_first)
{
    const crn_fruit_change *change = fruit->change;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, facts->outlets ? 10 : 8);
    crn_encoder_pair_unsigned(encoder, "lane", fruit->lane);
    crn_encoder_pair_unsigned(encoder, "epoch", fruit->epoch);
    crn_encoder_pair_unsigned(encoder, "fruit", fruit->fruit);
    crn_encoder_pair_unsigned(encoder, "differences", fruit->differences);
    write_kind_pair(encoder, change);
    write_outlet_pair(encoder, change, facts);
    crn_encoder_pair_real(encoder, "changed_px2", change->changed_px);
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, change->class_count);
    for (uint32_t i = 0; i < change->class_count; i++)
        write_class(encoder, change, i);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    fputs(is_first ? "\n" : ",\n", out);
    return write_object(out, encoder, 0);
}

/* --- sums --- */

static void write_kinds(crn_encoder *encoder, const crn_run_changes *changes)
{
    crn_encoder_text(encoder, "verdicts");
    crn_encoder_array(encoder, CRN_CHANGED_KINDS * CRN_CHANGED_KINDS);
    for (int before = 0; before < CRN_CHANGED_KINDS; before++)
        for (int after = 0; after < CRN_CHANGED_KINDS; after++) {
            crn_encoder_map(encoder, 3);
            crn_encoder_pair_text(encoder, "before", crn_changed_kind_name(before));
            crn_encoder_pair_text(encoder, "after", crn_changed_kind_name(after));
            crn_encoder_pair_unsigned(encoder, "fruits", changes->kinds[before][after]);
            crn_encoder_map_end(encoder);
        }
    crn_encoder_array_end(encoder);
}

static void write_outlets(crn_encoder *encoder, const crn_run_changes *changes,
                          const crn_texts *names)
{
    crn_encoder_text(encoder, "outlets");
    crn_encoder_array(encoder, (uint32_t)(names->count * names->count));
    for (int before = 0; before < names->count; before++)
        for (int after = 0; after < names->count; after++) {
            crn_encoder_map(encoder, 3);
            crn_encoder_pair_text(encoder, "before", names->item[before]);
            crn_encoder_pair_text(encoder, "after", names->item[after]);
            crn_encoder_pair_unsigned(encoder, "fruits", changes->outlets.fruits[before][after]);
            crn_encoder_map_end(encoder);
        }
    crn_encoder_array_end(encoder);
    crn_encoder_pair_unsigned(encoder, "outlet_differs", changes->outlets.differ);
}

static void write_sums(crn_encoder *encoder, const crn_class_changes *class)
{
    crn_encoder_map(encoder, 7);
    crn_encoder_pair_text(encoder, "class", class->name);
    crn_encoder_pair_unsigned(encoder, "found_in_both", class->fruits[1][1]);
    crn_encoder_pair_unsigned(encoder, "found_before_only", class->fruits[1][0]);
    crn_encoder_pair_unsigned(encoder, "found_after_only", class->fruits[0][1]);
    crn_encoder_pair_unsigned(encoder, "measured", class->measured);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++) {
        crn_encoder_text(encoder, run_keys[run]);
        crn_encoder_map(encoder, 4);
        crn_encoder_pair_unsigned(encoder, "contours", class->contours[run]);
        crn_encoder_pair_real(encoder, "area_px2", class->area_px[run]);
        crn_encoder_pair_real(encoder, "area_mm2", class->measured ? class->area_mm2[run] : NAN);
        crn_encoder_pair_real(encoder, "level", class->level[run]);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_map_end(encoder);
}

static void write_worst(crn_encoder *encoder, const crn_run_changes *changes)
{
    crn_encoder_text(encoder, "worst");
    crn_encoder_array(encoder, changes->worst_count);
    for (uint32_t i = 0; i < changes->worst_count; i++) {
        const crn_worst_fruit *fruit = changes->worst[i];
        crn_encoder_map(encoder, 6);
        crn_encoder_pair_unsigned(encoder, "lane", fruit->lane);
        crn_encoder_pair_unsigned(encoder, "epoch", fruit->epoch);
        crn_encoder_pair_unsigned(encoder, "fruit", fruit->fruit);
        write_kind_pair(encoder, &fruit->change);
        crn_encoder_pair_real(encoder, "changed_px2", fruit->change.changed_px);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

int crn_comparison_json_end(FILE *out, crn_encoder *encoder, const crn_run_changes *changes,
                            const crn_comparison_facts *facts)
{
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, facts->outlets ? 17 : 15);
    crn_encoder_pair_unsigned(encoder, "version", 1);
    crn_encoder_pair_text(encoder, "before", facts->run[CRN_BEFORE]);
    crn_encoder_pair_text(encoder, "after", facts->run[CRN_AFTER]);
    crn_encoder_pair_unsigned(encoder, "compared", changes->fruits);
    crn_encoder_pair_unsigned(encoder, "unequal", changes->unequal);
    crn_encoder_pair_unsigned(encoder, "verdict_differs", changes->kind_differs);
    crn_encoder_pair_unsigned(encoder, "classes_differ", changes->classes_differ);
    crn_encoder_pair_unsigned(encoder, "areas_differ", changes->areas_differ);
    crn_encoder_pair_unsigned(encoder, "before_only", changes->alone[CRN_BEFORE]);
    crn_encoder_pair_unsigned(encoder, "after_only", changes->alone[CRN_AFTER]);
    crn_encoder_pair_unsigned(encoder, "second_verdicts", facts->second);
    crn_encoder_pair_unsigned(encoder, "unreadable", facts->unreadable);
    write_kinds(encoder, changes);
    if (facts->outlets)
        write_outlets(encoder, changes, facts->outlets);
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, changes->class_count);
    for (uint32_t i = 0; i < changes->class_count; i++)
        write_sums(encoder, &changes->classes[i]);
    crn_encoder_array_end(encoder);
    write_worst(encoder, changes);
    crn_encoder_map_end(encoder);
    fputs("\n],\n", out);
    int r = write_object(out, encoder, 1); /* continues the object that was begun */
    fputc('\n', out);
    return r;
}
