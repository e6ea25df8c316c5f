#include "tools/tail/verdict_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/buffer/text.h"
#include "tools/common/verdicts/view_text.h"

static const char *const kind_colors[] = {
    [CRN_VERDICT_COMPLETE] = "\033[32m", /* green */
    [CRN_VERDICT_PARTIAL] = "\033[33m",  /* yellow */
    [CRN_VERDICT_LATE] = "\033[31m",     /* red */
};

static void append_clock(crn_text *line, uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / (uint64_t)CRN_NS_PER_S);
    unsigned ms = (unsigned)(realtime_ns % (uint64_t)CRN_NS_PER_S / (uint64_t)CRN_NS_PER_MS);
    struct tm local;
    if (!realtime_ns || !localtime_r(&seconds, &local))
        crn_text_add(line, "%12s", "--:--:--");
    else
        crn_text_add(line, "%02d:%02d:%02d.%03u", local.tm_hour, local.tm_min, local.tm_sec, ms);
}

static void append_latency(crn_text *line, const crn_decoded *verdict)
{
    if (isfinite(verdict->total_ms))
        crn_text_add(line, "  %7.1f", verdict->total_ms);
    else
        crn_text_add(line, "  %7s", "-");
    if (isfinite(verdict->budget_ms))
        crn_text_add(line, " of %g", verdict->budget_ms);
    crn_text_add(line, " ms");
}

/* Defects of the fruit, each once, in the order of the classes. */
static bool append_measures(crn_text *line, const crn_decoded_surface *surface)
{
    bool any = false;
    for (uint32_t i = 0; i < surface->measure_count; i++) {
        const crn_decoded_measure *measure = &surface->measures[i];
        if (!measure->count)
            continue;
        crn_text_add(line, "%s%s %" PRIu64 " (%.1f mm2)", any ? ", " : "  ", measure->name,
                     measure->count, measure->area_mm2);
        any = true;
    }
    return any;
}

static void append_found(crn_text *line, const crn_decoded *verdict)
{
    const crn_decoded_surface *surface = &verdict->surface;
    bool any = append_measures(line, surface);
    for (uint32_t i = 0; i < verdict->total_count && !surface->is_measured; i++) {
        const crn_decoded_total *total = &verdict->totals[i];
        if (!total->count)
            continue;
        crn_text_add(line, "%s%s %" PRIu64 " (%.0f px)", any ? ", " : "  ", total->name,
                     total->count, total->area_px);
        any = true;
    }
    if (!any)
        crn_text_add(line,
                     verdict->kind == CRN_VERDICT_LATE ? "  nothing was ready" : "  no defects");
    if (surface->is_measured)
        crn_text_add(line, "  %.1f mm, %.0f %% seen", surface->diameter_mm,
                     100 * surface->coverage);
}

static void append_special(crn_text *line, const crn_decoded *verdict)
{
    char views[CRN_LINE_BYTES];
    crn_views_text(verdict, views, sizeof views);
    if (*views)
        crn_text_add(line, "  [%s]", views);
    for (uint32_t i = 0; i < verdict->skipped_count; i++)
        crn_text_add(line, "%s%s", i ? ", " : "  [skipped ", verdict->skipped[i]);
    if (verdict->skipped_count)
        crn_text_add(line, "]");
    if (verdict->lot[0])
        crn_text_add(line, "  [lot %s]", verdict->lot);
    if (verdict->truncated)
        crn_text_add(line, "  [truncated]");
    if (verdict->stale)
        crn_text_add(line, "  [stale]");
}

void crn_verdict_text(const crn_decoded *verdict, bool color, char text[CRN_LINE_BYTES])
{
    crn_text line = crn_text_in(text, CRN_LINE_BYTES);
    append_clock(&line, verdict->published_ns);
    crn_text_add(&line, "  lane %-2" PRIu64 "  fruit %6" PRIu64, verdict->lane, verdict->fruit);
    crn_text_add(&line, "  %s%-8s%s", color ? kind_colors[verdict->kind] : "",
                 crn_verdict_kind_names[verdict->kind], color ? "\033[0m" : "");
    uint64_t expected = verdict->views_expected ? verdict->views_expected : verdict->views_received;
    crn_text_add(&line, "  views %" PRIu64 "/%" PRIu64, verdict->views_judged, expected);
    append_latency(&line, verdict);
    append_found(&line, verdict);
    append_special(&line, verdict);
}

void crn_screen_init(crn_screen *ret_screen, FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    ret_screen->out = out;
    ret_screen->terminal = isatty(fileno(out));
    ret_screen->color = ret_screen->terminal && !(no_color && *no_color);
    ret_screen->added = ret_screen->flushed = 0;
}

void crn_screen_add(crn_screen *screen, const char *format, ...)
{
    if (!screen->terminal && screen->added - screen->flushed == CRN_SCREEN_LINES)
        crn_screen_flush(screen);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(screen->line[screen->added++ % CRN_SCREEN_LINES], CRN_LINE_BYTES, format, arguments);
    va_end(arguments);
}

void crn_screen_flush(crn_screen *screen)
{
    /* Another program's progress bar may be on the terminal's line; it redraws itself. */
    const char *clear = screen->terminal ? "\r\033[K" : "";
    if (screen->added - screen->flushed > CRN_SCREEN_LINES) {
        uint64_t first = screen->added - CRN_SCREEN_LINES;
        fprintf(screen->out, "%s(%" PRIu64 " lines not shown: more than a terminal can follow)\n",
                clear, first - screen->flushed);
        screen->flushed = first;
    }
    for (; screen->flushed < screen->added; screen->flushed++)
        fprintf(screen->out, "%s%s\n", clear, screen->line[screen->flushed % CRN_SCREEN_LINES]);
    fflush(screen->out);
}
