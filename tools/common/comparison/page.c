/* The page holds its style and its pictures, and loads nothing. */
#include <inttypes.h>
#include <math.h>

#include "src/http/assets.h"
#include "tools/common/comparison/outputs.h"

#define NUMBER_BYTES 512 /* of the largest double */

static const char script[] = "document.documentElement.dataset.theme ="
                             " matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : "
                             "'light';";

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void write_base64(FILE *out, const char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = (uint32_t)from[i] << 16;
        group |= i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0;
        group |= i + 2 < size ? from[i + 2] : 0;
        fputc(digits[group >> 18], out);
        fputc(digits[group >> 12 & 63], out);
        fputc(i + 1 < size ? digits[group >> 6 & 63] : '=', out);
        fputc(i + 2 < size ? digits[group & 63] : '=', out);
    }
}

/* --- tables --- */

static void begin_table(FILE *out, const char *label)
{
    fprintf(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table><thead><tr>",
        label);
}

static void write_head(FILE *out, const char *const *titles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<th scope=\"col\"%s>%s</th>", i ? " class=\"number\"" : "", titles[i]);
    fputs("</tr></thead><tbody>\n", out);
}

static void end_table(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

static void write_name(FILE *out, const char *name)
{
    fputs("<tr><th scope=\"row\">", out);
    write_escaped(out, name);
    fputs("</th>", out);
}

static void write_count(FILE *out, uint64_t count)
{
    fprintf(out, "<td class=\"number\">%" PRIu64 "</td>", count);
}

/* "–": it is not known. */
static void write_value(FILE *out, bool is_known, const char *text)
{
    fprintf(out, "<td class=\"number\">%s</td>", is_known ? text : "–");
}

/* An area or a length. */
static void write_real(FILE *out, double value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%.1f", value);
    write_value(out, isfinite(value), text);
}

static void write_level(FILE *out, double level)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%.9g", level);
    write_value(out, isfinite(level), text);
}

/* In percent; not known where there was nothing before. */
static void write_growth(FILE *out, double before, double after)
{
    char text[NUMBER_BYTES];
    double growth = before > 0 ? 100 * (after / before - 1) : NAN;
    snprintf(text, sizeof text, "%+.1f %%", growth);
    write_value(out, isfinite(growth), text);
}

static void write_kinds(FILE *out, const crn_run_changes *changes)
{
    static const char *const titles[] = {"before \\ after", "complete", "partial", "late", "none"};
    fputs("<section id=\"verdicts\"><h2>Verdicts</h2><p class=\"note\">Fruits by their verdict "
          "before (rows) and after (columns); none: that run gave no verdict.</p>\n",
          out);
    begin_table(out, "Verdicts");
    write_head(out, titles, sizeof titles / sizeof *titles);
    for (int before = 0; before < CRN_CHANGED_KINDS; before++) {
        write_name(out, crn_changed_kind_name(before));
        for (int after = 0; after < CRN_CHANGED_KINDS; after++)
            write_count(out, changes->kinds[before][after]);
        fputs("</tr>\n", out);
    }
    end_table(out);
    fputs("</section>\n", out);
}

/* --- outlets --- */

static void write_outlet_counts(FILE *out, const crn_run_changes *changes, const crn_texts *names)
{
    const char *titles[1 + CRN_OUTLETS_MAX] = {"before \\ after"};
    for (int32_t i = 0; i < names->count; i++)
        titles[1 + i] = names->item[i];
    begin_table(out, "Outlets");
    write_head(out, titles, 1 + (size_t)names->count);
    for (int32_t before = 0; before < names->count; before++) {
        write_name(out, names->item[before]);
        for (int32_t after = 0; after < names->count; after++)
            write_count(out, changes->outlets.fruits[before][after]);
        fputs("</tr>\n", out);
    }
    end_table(out);
}

static void write_moved(FILE *out, const crn_run_changes *changes, const crn_texts *names)
{
    static const char *const titles[] = {"outlet", "lane", "fruit", "epoch"};
    uint64_t count = changes->outlets.differ;
    if (!count)
        return;
    fprintf(out,
            "<details><summary>Fruits with another outlet</summary><p class=\"note\">At most the "
            "first %d; fruits.csv and report.json have all.</p>\n",
            CRN_MOVED_MAX);
    begin_table(out, "Fruits with another outlet");
    write_head(out, titles, sizeof titles / sizeof *titles);
    for (uint64_t i = 0; i < count && i < CRN_MOVED_MAX; i++) {
        const crn_moved_fruit *fruit = &changes->moved[i];
        fprintf(out, "<tr><th scope=\"row\">%s → %s</th>", names->item[fruit->outlet[CRN_BEFORE]],
                names->item[fruit->outlet[CRN_AFTER]]);
        write_count(out, fruit->lane);
        write_count(out, fruit->fruit);
        write_count(out, fruit->epoch);
        fputs("</tr>\n", out);
    }
    end_table(out);
    fputs("</details>\n", out);
}

static void write_outlets(FILE *out, const crn_run_changes *changes, const crn_texts *names)
{
    if (!names)
        return;
    fputs("<section id=\"outlets\"><h2>Outlets</h2><p class=\"note\">Fruits with both verdicts by "
          "the outlet to which the rules send them before (rows) and after (columns), as if each "
          "verdict had arrived in time.</p>\n",
          out);
    write_outlet_counts(out, changes, names);
    write_moved(out, changes, names);
    fputs("</section>\n", out);
}

/* --- classes --- */

static void write_class_row(FILE *out, const crn_run_changes *changes,
                            const crn_class_changes *class)
{
    uint64_t found = class->fruits[1][1] + class->fruits[1][0] + class->fruits[0][1];
    write_name(out, class->name);
    write_count(out, class->fruits[1][1]);
    write_count(out, class->fruits[1][0]);
    write_count(out, class->fruits[0][1]);
    write_count(out, changes->fruits - found);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        write_count(out, class->contours[run]);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        write_real(out, class->area_px[run]);
    write_growth(out, class->area_px[CRN_BEFORE], class->area_px[CRN_AFTER]);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        write_real(out, class->measured ? class->area_mm2[run] : NAN);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        write_level(out, class->level[run]);
    fputs("</tr>\n", out);
}

static void write_classes(FILE *out, const crn_run_changes *changes)
{
    static const char *const titles[] = {
        "class",           "found in both", "before only",  "after only", "in neither",
        "contours before", "after",         "px² before",   "after",      "change",
        "mm² before",      "after",         "level before", "after"};
    fputs("<section id=\"classes\"><h2>Classes</h2><p class=\"note\">Fruits in which a class was "
          "found, and sums over the fruits with both verdicts; mm² of those that both runs "
          "measured.</p>\n",
          out);
    begin_table(out, "Classes");
    write_head(out, titles, sizeof titles / sizeof *titles);
    for (uint32_t i = 0; i < changes->class_count; i++)
        write_class_row(out, changes, &changes->classes[i]);
    end_table(out);
    fputs("</section>\n", out);
}

/* --- the worst fruits --- */

static void write_fruit_classes(FILE *out, const crn_fruit_change *change)
{
    static const char *const titles[] = {
        "class",  "contours before", "after", "px² before",        "after",
        "change", "mm² before",      "after", "longest mm before", "after"};
    begin_table(out, "Classes of this fruit");
    write_head(out, titles, sizeof titles / sizeof *titles);
    for (uint32_t i = 0; i < change->class_count; i++) {
        const crn_class_measures *run = change->classes[i].run;
        if (!crn_class_is_found(&run[0]) && !crn_class_is_found(&run[1]))
            continue;
        write_name(out, change->classes[i].name);
        write_count(out, run[0].contours);
        write_count(out, run[1].contours);
        write_real(out, run[0].area_px);
        write_real(out, run[1].area_px);
        write_growth(out, run[0].area_px, run[1].area_px);
        write_real(out, run[0].area_mm2);
        write_real(out, run[1].area_mm2);
        write_real(out, run[0].longest_mm);
        write_real(out, run[1].longest_mm);
        fputs("</tr>\n", out);
    }
    end_table(out);
}

static void write_fruit(FILE *out, const crn_worst_fruit *fruit, const crn_comparison_facts *facts,
                        const crn_comparison_picture *picture)
{
    const crn_fruit_change *change = &fruit->change;
    fprintf(out,
            "<section><h3>Lane %" PRIu64 ", fruit %" PRIu64 "</h3><p class=\"note\">%.1f px² "
            "changed, %" PRIu64 " difference%s; verdict %s, before %s; ",
            fruit->lane, fruit->fruit, change->changed_px, fruit->differences,
            fruit->differences == 1 ? "" : "s", crn_changed_kind_name(change->kind[CRN_AFTER]),
            crn_changed_kind_name(change->kind[CRN_BEFORE]));
    if (crn_comparison_outlet(facts, change, CRN_AFTER))
        fprintf(out, "outlet %s, before %s; ", crn_comparison_outlet(facts, change, CRN_AFTER),
                crn_comparison_outlet(facts, change, CRN_BEFORE));
    fprintf(out, "epoch %" PRIu64 "</p>\n", fruit->epoch);
    write_fruit_classes(out, change);
    if (picture->png) {
        fprintf(out,
                "<img alt=\"The views of lane %" PRIu64 ", fruit %" PRIu64
                " with the contours of both verdicts\" src=\"data:image/png;base64,",
                fruit->lane, fruit->fruit);
        write_base64(out, picture->png, picture->bytes);
        fputs("\">", out);
    } else {
        fputs("<p class=\"empty\">Its contours cannot be read: there is no picture.</p>", out);
    }
    fputs("</section>\n", out);
}

static void write_worst(FILE *out, const crn_run_changes *changes,
                        const crn_comparison_facts *facts, const crn_comparison_picture *pictures)
{
    fprintf(
        out,
        "<section id=\"worst\"><h2>Fruits that changed most</h2><p class=\"note\">At most %d. "
        "First those with another verdict%s, then others, each by the sum of how much the areas of "
        "their classes changed; of many of the former the first %d, and further ones whose areas "
        "changed more than those of others. White: contours before; in colours: after, over them. "
        "fruits.csv and report.json have every fruit that differs.</p>",
        CRN_WORST_MAX, facts->outlets ? " or outlet" : "", CRN_WORST_OF_KIND);
    if (!changes->worst_count)
        fputs("<p class=\"empty\">None.</p>", out);
    else if (!facts->has_photos)
        fputs("<p class=\"empty\">The recordings have no photographs: contours are drawn on grey. "
              "A sender gives one as the third part of its view message.</p>",
              out);
    fputs("</section>\n", out);
    for (uint32_t i = 0; i < changes->worst_count; i++)
        write_fruit(out, changes->worst[i], facts, &pictures[i]);
}

/* --- the page --- */

static void write_figure(FILE *out, const char *name, uint64_t count)
{
    fprintf(out, "<div><dt>%s</dt><dd>%" PRIu64 "</dd></div>", name, count);
}

/* Nothing for 0. */
static void write_warning(FILE *out, uint64_t count, const char *text)
{
    if (count)
        fprintf(out, "<p class=\"told\" data-level=\"warning\">%" PRIu64 " %s</p>", count, text);
}

static void write_told(FILE *out, const crn_run_changes *changes, const crn_comparison_facts *facts)
{
    uint64_t alone = changes->alone[CRN_BEFORE] + changes->alone[CRN_AFTER];
    uint64_t without = changes->kinds[CRN_NO_VERDICT][CRN_NO_VERDICT];
    bool is_equal = changes->fruits && !changes->unequal && !alone && !without && !facts->second &&
                    !facts->unreadable;
    fprintf(out,
            "<section id=\"told\"><p class=\"told\" data-level=\"%s\"><span class=\"sign\" "
            "aria-hidden=\"true\">%s</span> ",
            is_equal ? "good" : "warning", is_equal ? "✓" : "!");
    if (is_equal)
        fputs("All verdicts are equal.", out);
    else if (!changes->fruits)
        fputs("No fruit has a verdict in both runs: nothing was compared.", out);
    else
        fprintf(out, "%" PRIu64 " of %" PRIu64 " fruits differ.", changes->unequal,
                changes->fruits);
    fputs("</p>", out);
    if (alone)
        fprintf(out,
                "<p class=\"told\" data-level=\"warning\">%" PRIu64 " fruits have a verdict before "
                "only, %" PRIu64 " after only.</p>",
                changes->alone[CRN_BEFORE], changes->alone[CRN_AFTER]);
    write_warning(out, without, "fruits have no verdict in either run.");
    write_warning(out, facts->second,
                  "times a run has a second verdict on a fruit, which is not compared.");
    write_warning(out, facts->unreadable,
                  "fruits have a verdict that cannot be read, and are not compared.");
    fputs("</section>\n<section class=\"figures\" id=\"figures\"><dl>", out);
    write_figure(out, "fruits compared", changes->fruits);
    write_figure(out, "differ", changes->unequal);
    write_figure(out, "another verdict", changes->kind_differs);
    if (facts->outlets)
        write_figure(out, "another outlet", changes->outlets.differ);
    write_figure(out, "other classes", changes->classes_differ);
    write_figure(out, "other areas", changes->areas_differ);
    fputs("</dl></section>\n", out);
}

static void write_style(FILE *out, const char *name)
{
    const crn_asset *style = crn_asset_find(NULL, 0, name);
    if (style)
        fwrite(style->start, 1, (size_t)(style->end - style->start), out);
}

static void write_begin(FILE *out, const crn_comparison_facts *facts)
{
    fputs("<!doctype html>\n<html lang=\"en\" data-theme=\"light\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
          "<title>Two runs compared</title>\n<style>\n",
          out);
    write_style(out, "style.css");
    write_style(out, "report.css");
    fprintf(out,
            "</style>\n<script>%s</script>\n</head>\n<body>\n<header><div><h1><span "
            "class=\"name\">cernita</span> Two runs compared</h1><p>Before: ",
            script);
    write_escaped(out, facts->run[CRN_BEFORE]);
    fputs("</p><p>After: ", out);
    write_escaped(out, facts->run[CRN_AFTER]);
    fputs("</p></div></header>\n<main class=\"report\">\n", out);
}

void crn_comparison_page(FILE *out, const crn_run_changes *changes,
                         const crn_comparison_facts *facts, const crn_comparison_picture *pictures)
{
    write_begin(out, facts);
    write_told(out, changes, facts);
    write_kinds(out, changes);
    write_outlets(out, changes, facts->outlets);
    write_classes(out, changes);
    write_worst(out, changes, facts, pictures);
    fputs("</main>\n</body>\n</html>\n", out);
}
