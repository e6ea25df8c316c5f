#include "tools/why/output/waterfall.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/common/verdicts/view_text.h"
#include "tools/why/scan.h"
#include "tools/why/output/sentence.h"

#define STATE_COLUMNS 28
#define SHOWN_MS      0.005 /* what prints as more than 0.00 */

/* The column that a time falls into; times outside fall into the first or the last. */
static int column(const crn_timeline *timeline, int64_t ns)
{
    double whole = (double)(timeline->published_ns - timeline->opened_ns);
    double share = whole > 0 ? (double)(ns - timeline->opened_ns) / whole : 0;
    int at = (int)(share * CRN_BAR_COLUMNS);
    return at < 0 ? 0 : at < CRN_BAR_COLUMNS ? at : CRN_BAR_COLUMNS - 1;
}

static void fill(char *bar, int from, int to, char with)
{
    for (int i = from; i < to; i++)
        bar[i] = with;
}

void crn_waterfall_bar(const crn_timeline *timeline, const crn_timeline_view *view,
                       char bar[CRN_BAR_COLUMNS + 1])
{
    memset(bar, ' ', CRN_BAR_COLUMNS);
    bar[CRN_BAR_COLUMNS] = '\0';
    if (!view->received) {
        fill(bar, 0, CRN_BAR_COLUMNS, '.');
        return;
    }
    int received = column(timeline, view->received_ns);
    int waited = column(timeline, view->waited_ns), ended = column(timeline, view->ended_ns);
    fill(bar, 0, received, '.');
    fill(bar, received, waited, '-');
    /* What happened shows, however short it was. */
    if (view->began)
        fill(bar, waited, ended + 1, '#');
    else
        fill(bar, waited, waited + 1, view->waited_ns > view->received_ns ? '-' : 'x');
}

/* "judged openmp", "lost: no_slot", "judged: skipped cuda" */
static void write_state(const crn_decoded_view *view, char text[STATE_COLUMNS + 1])
{
    char state[CRN_VIEW_TEXT_BYTES];
    if (crn_decoded_view_is(view, "judged"))
        snprintf(text, STATE_COLUMNS + 1, "judged%s%.12s %.6s", *view->reason ? ": " : "",
                 view->reason, view->backend);
    else if (crn_view_text(view, state))
        snprintf(text, STATE_COLUMNS + 1, "%.*s", STATE_COLUMNS, state);
    else
        *text = '\0';
}

static void write_ms(double ms, char text[16])
{
    if (isfinite(ms))
        snprintf(text, 16, ms < 1000 ? "%.1f" : "%.0f", ms);
    else
        strcpy(text, "-");
}

static void print_views(const crn_timeline *timeline, FILE *out)
{
    fprintf(out, "view %*s   after  wait   run  state\n", CRN_BAR_COLUMNS, "in ms:");
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        char bar[CRN_BAR_COLUMNS + 1], state[STATE_COLUMNS + 1], after[16], wait[16], run[16];
        crn_waterfall_bar(timeline, view, bar);
        write_state(view->said, state);
        write_ms(view->said->received_ms, after);
        write_ms(view->said->queue_ms, wait);
        write_ms(view->said->run_ms, run);
        fprintf(out, "%3" PRIu64 " |%s|%6s%6s%6s  %s\n", view->said->view, bar, after, wait, run,
                state);
    }
    char marks[CRN_BAR_COLUMNS + 1];
    memset(marks, ' ', CRN_BAR_COLUMNS);
    marks[CRN_BAR_COLUMNS] = '\0';
    marks[column(timeline, timeline->closed_ns)] = '^';
    fprintf(out, "    |%s|  ^ closed  . awaited  - waits  # runs\n", marks);
}

static void print_part(const char *name, double ms, const crn_parts *parts, bool latency, FILE *out)
{
    fprintf(out, "  %-40.40s %9.2f ms", name, ms);
    fprintf(out, "  %5.1f %%", parts->total_ms > 0 ? 100 * ms / parts->total_ms : 0);
    if (latency)
        fprintf(out, "  %5.1f %%", parts->latency_ms > 0 ? 100 * ms / parts->latency_ms : 0);
    fputc('\n', out);
}

/* What the time after the last judged view's end, or after the close, was spent on. */
static const char *end_name(const crn_timeline *timeline)
{
    const crn_timeline_view *last = crn_timeline_last_judged(timeline);
    if (!last)
        return "no view was judged";
    for (uint32_t i = 0; i < timeline->view_count; i++)
        if (timeline->views[i].received && timeline->views[i].ended_ns > last->ended_ns)
            return "waiting for views that were not judged";
    return "handing over and publishing";
}

/* Parts that took no time are left out. */
static void print_parts(const crn_timeline *timeline, const crn_parts *parts, FILE *out)
{
    fprintf(out, "%58s%9s\n", "of all", "latency");
    for (uint32_t i = 0; i < parts->count; i++) {
        const crn_part *part = &parts->part[i];
        const char *const names[] = {[CRN_PART_ASSEMBLY] = "assembly: first view to close",
                                     [CRN_PART_QUEUE] = "queue: waiting for a worker or device",
                                     [CRN_PART_STEP] = part->name,
                                     [CRN_PART_POSE] = "pose: where the view shows the fruit",
                                     [CRN_PART_SURFACE] = "surface: rolls, union of the views",
                                     [CRN_PART_WAITS] = "waits between the steps",
                                     [CRN_PART_END] = end_name(timeline)};
        const char *name = names[part->kind];
        if (part->ms >= SHOWN_MS || part->kind == CRN_PART_ASSEMBLY)
            print_part(name, part->ms, parts, part->kind != CRN_PART_ASSEMBLY, out);
    }
    print_part("total: first view to publication", parts->total_ms, parts, false, out);
    print_part("latency: close to publication", parts->latency_ms, parts, true, out);
}

void crn_waterfall_print(const crn_chosen *fruit, FILE *out)
{
    const crn_decoded *verdict = fruit->verdict;
    char when[CRN_TIME_TEXT_BYTES], sentence[CRN_SENTENCE_BYTES];
    crn_time_text(verdict->published_ns, when);
    crn_sentence(&fruit->diagnosis, sentence);
    fprintf(out, "lane %" PRIu64 "  fruit %" PRIu64 "  %s  published %s\n", verdict->lane,
            verdict->fruit, crn_verdict_kind_names[verdict->kind], when);
    fprintf(out, "epoch %" PRIu64 "  run %s  sequence %" PRIu64 "%s\n", verdict->epoch,
            verdict->run, verdict->sequence, verdict->stale ? "  stale" : "");
    fprintf(out, "%s\n\n", sentence);
    print_views(&fruit->timeline, out);
    fputc('\n', out);
    print_parts(&fruit->timeline, &fruit->parts, out);
    if (!fruit->timeline.exact)
        fprintf(out, "the verdict has no assembly_ms: the time of its first view is the latest "
                     "possible one\n");
}
