#include "tools/workbench/levels/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define RECALL_COUNT CRN_LEVEL_COUNT

static bool is_labelled(const crn_curve *curve)
{
    return curve->positives + curve->negatives > 0;
}

/* The curve that a level is chosen by. */
static const crn_curve *deciding(const crn_level_class *found)
{
    return is_labelled(&found->views) ? &found->views : &found->pixels;
}

static int32_t suggested(const crn_curve *curve, double recall)
{
    return recall < 0 ? crn_curve_best(curve) : crn_curve_at_recall(curve, recall);
}

/* --- the table -------------------------------------------------------------------------------- */

static void print_share(double share, FILE *out)
{
    if (isnan(share))
        fprintf(out, " %9s", "-");
    else
        fprintf(out, " %9.3f", share);
}

static void print_row(const char *name, const char *by, const crn_curve *curve, double recall,
                      FILE *out)
{
    if (!is_labelled(curve))
        return;
    int32_t at = suggested(curve, recall);
    fprintf(out, "%-20s %-5s %12" PRIu64 " %12" PRIu64, name, by,
            curve->positives + curve->negatives, curve->positives);
    if (at < 0) {
        fprintf(out, " %5s %9s %9s %9s\n", "-", "-", "-", "-");
        return;
    }
    fprintf(out, " %5.2f", crn_level_at(at));
    print_share(crn_curve_precision(curve, at), out);
    print_share(crn_curve_recall(curve, at), out);
    print_share(crn_curve_f1(curve, at), out);
    fputc('\n', out);
}

void crn_levels_print_table(const crn_level_counts *levels, const crn_classes *classes,
                            double recall, FILE *out)
{
    fprintf(out, "%-20s %-5s %12s %12s %5s %9s %9s %9s\n", "class", "by", "labelled", "with defect",
            "level", "precision", "recall", "F1");
    for (int32_t i = 0; i < classes->count; i++) {
        print_row(classes->name[i], "view", &levels->at[i].views, recall, out);
        print_row(classes->name[i], "pixel", &levels->at[i].pixels, recall, out);
    }
}

/* --- for a line's file ------------------------------------------------------------------------ */

/* A text in double quotes, which YAML and JSON read alike. */
static void print_name(const char *name, FILE *out)
{
    fputc('"', out);
    for (; *name; name++)
        fprintf(out, strchr("\"\\", *name) ? "\\%c" : "%c", *name);
    fputc('"', out);
}

void crn_levels_print_yaml(const crn_level_counts *levels, const crn_classes *classes,
                           double recall, FILE *out)
{
    fputs("classes:\n", out);
    for (int32_t i = 0; i < classes->count; i++) {
        int32_t at = levels->at[i].outlined ? suggested(deciding(&levels->at[i]), recall) : -1;
        double level = at < 0 ? classes->level[i] : crn_level_at(at);
        fputs("  - {name: ", out);
        print_name(classes->name[i], out);
        if (!isnan(level))
            fprintf(out, ", level: %.15g", level);
        fputs(at < 0 && levels->at[i].outlined ? "} # nothing to choose it by\n" : "}\n", out);
    }
}

/* --- all numbers ------------------------------------------------------------------------------ */

/* Nothing where there is no share. */
static void print_field(double share, FILE *out)
{
    fputc(',', out);
    if (!isnan(share))
        fprintf(out, "%.17g", share);
}

static void print_curve(const char *name, const char *by, const crn_curve *curve, FILE *out)
{
    for (int32_t i = 0; is_labelled(curve) && i < CRN_LEVEL_COUNT; i++) {
        print_name(name, out);
        fprintf(out, ",%s,%.2f", by, crn_level_at(i));
        print_field(crn_curve_precision(curve, i), out);
        print_field(crn_curve_recall(curve, i), out);
        print_field(crn_curve_f1(curve, i), out);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", curve->hits[i],
                curve->alarms[i], curve->positives, curve->negatives);
    }
}

void crn_levels_print_curves(const crn_level_counts *levels, const crn_classes *classes, FILE *out)
{
    fputs("class,by,level,precision,recall,f1,hits,alarms,positives,negatives\n", out);
    for (int32_t i = 0; i < classes->count; i++) {
        print_curve(classes->name[i], "view", &levels->at[i].views, out);
        print_curve(classes->name[i], "pixel", &levels->at[i].pixels, out);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_index(crn_encoder *encoder, int32_t index)
{
    if (index < 0)
        crn_encoder_null(encoder);
    else
        crn_encoder_integer(encoder, index);
}

static void write_shares(crn_encoder *encoder, const char *key, const crn_curve *curve,
                         double (*share)(const crn_curve *, int32_t))
{
    crn_encoder_text(encoder, key);
    crn_encoder_array(encoder, CRN_LEVEL_COUNT);
    for (int32_t i = 0; i < CRN_LEVEL_COUNT; i++)
        crn_encoder_real(encoder, share(curve, i)); /* NaN becomes null */
    crn_encoder_array_end(encoder);
}

static void write_curve(crn_encoder *encoder, const char *key, const crn_curve *curve)
{
    crn_encoder_text(encoder, key);
    if (!is_labelled(curve)) {
        crn_encoder_null(encoder);
        return;
    }
    crn_encoder_map(encoder, 7);
    crn_encoder_pair_unsigned(encoder, "positives", curve->positives);
    crn_encoder_pair_unsigned(encoder, "negatives", curve->negatives);
    write_shares(encoder, "precision", curve, crn_curve_precision);
    write_shares(encoder, "recall", curve, crn_curve_recall);
    write_shares(encoder, "f1", curve, crn_curve_f1);
    crn_encoder_text(encoder, "best");
    write_index(encoder, crn_curve_best(curve));
    crn_encoder_text(encoder, "at_recall");
    crn_encoder_array(encoder, RECALL_COUNT);
    for (int32_t i = 0; i < RECALL_COUNT; i++)
        write_index(encoder, crn_curve_at_recall(curve, crn_level_at(i)));
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

void crn_levels_write(const crn_level_counts *levels, const crn_classes *classes,
                      crn_encoder *encoder)
{
    crn_encoder_map(encoder, 6);
    crn_encoder_pair_unsigned(encoder, "views", levels->views);
    crn_encoder_pair_unsigned(encoder, "labelled_views", levels->labelled_views);
    crn_encoder_pair_unsigned(encoder, "masks", levels->masks);
    crn_encoder_pair_unsigned(encoder, "unused_labels", levels->unused_labels);
    crn_encoder_pair_unsigned(encoder, "truncated", levels->truncated);
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, (uint32_t)classes->count);
    for (int32_t i = 0; i < classes->count; i++) {
        crn_encoder_map(encoder, 4);
        crn_encoder_pair_text(encoder, "name", classes->name[i]);
        crn_encoder_pair_real(encoder, "level", classes->level[i]);
        write_curve(encoder, "by_view", &levels->at[i].views);
        write_curve(encoder, "by_pixel", &levels->at[i].pixels);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}
