#include "tools/top/headline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/top/texts.h"

/* Below this share of missed fruits it is a warning. */
#define BAD_SHARE 0.01

/* From this share of partial fruits on it is a warning. */
#define PARTIAL_SHARE 0.01

static bool all_silent(const crn_daemon_state *status)
{
    for (int i = 0; i < status->lane_count; i++)
        if (status->lanes[i].state != CRN_LANE_SILENT)
            return false;
    return status->lane_count > 0;
}

static void say_budget(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    bool kept = status->budget_kept;
    bool many = status->missed >= BAD_SHARE * status->recent_verdicts;
    line->style = kept ? CRN_STYLE_GOOD : many ? CRN_STYLE_BAD : CRN_STYLE_WARNING;
    line->glyph = kept ? g->good : many ? g->bad : g->warning;
    if (kept)
        snprintf(line->text, sizeof line->text, "WITHIN THE BUDGET");
    else
        snprintf(line->text, sizeof line->text, "%.0f OF %.0f FRUITS MISSED THE BUDGET",
                 status->missed, status->recent_verdicts);
    snprintf(line->detail, sizeof line->detail, "since %s (%s)%s",
             crn_clock_text(status->budget_since_s).text,
             crn_lasting_text(status->now_s - status->budget_since_s).text,
             kept ? "" : "; counted in the last two minutes");
}

/* Sets a line of that level. */
__attribute__((format(printf, 4, 5))) static void say(crn_headline *line, crn_style style,
                                                      const char *glyph, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
    line->style = style;
    line->glyph = glyph;
}

static bool is_state(const crn_daemon_state *status, const char *state)
{
    return strcmp(status->state, state) == 0;
}

/* Says `what`, the state of a line without views; if messages are refused, why most of them are. */
static void say_no_views(const crn_daemon_state *status, const char *what, const crn_glyphs *g,
                         crn_headline *line)
{
    if (status->refused > 0) {
        say(line, CRN_STYLE_WARNING, g->warning, "%s, %.0f MESSAGE%s REFUSED", what,
            status->refused, status->refused == 1 ? "" : "S");
        snprintf(line->detail, sizeof line->detail, "%s", status->reasons[status->refused_reason]);
    } else
        say(line, CRN_STYLE_BOLD, g->none, "%s", what);
}

static bool many_partial(const crn_daemon_state *status)
{
    return status->recent_partial > 0 &&
           status->recent_partial >= PARTIAL_SHARE * status->recent_verdicts;
}

static void say_partial(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    say(line, CRN_STYLE_WARNING, g->warning, "%.0f OF %.0f FRUITS %s PARTIAL",
        status->recent_partial, status->recent_verdicts,
        status->recent_partial == 1 ? "IS" : "ARE");
    snprintf(line->detail, sizeof line->detail,
             "views missing or unfinished; see lists below; counted in the last two minutes");
}

/* What matters most, as on the live page. */
static void say_state(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    if (!status->healthy)
        say(line, CRN_STYLE_BAD, g->bad, "THE LINE DOES NOT ANSWER");
    else if (is_state(status, "starting"))
        say(line, CRN_STYLE_BOLD, g->none, "STARTING");
    else if (is_state(status, "stopping"))
        say(line, CRN_STYLE_BOLD, g->none, "STOPPING");
    else if (status->undelivered > 0) {
        say(line, CRN_STYLE_BAD, g->bad, "%.0f VERDICTS REACHED NO GRADER", status->undelivered);
        snprintf(line->detail, sizeof line->detail, "in the last two minutes");
    } else if (status->budget_known && !status->budget_kept)
        say_budget(status, g, line);
    else if (is_state(status, "ready"))
        say_no_views(
            status, status->refused > 0 ? "NO VIEW ACCEPTED YET" : "READY, NO VIEW HAS ARRIVED YET",
            g, line);
    else if (is_state(status, "degraded"))
        say(line, CRN_STYLE_WARNING, g->warning, "DEGRADED: A DEVICE IS LOST");
    else if (all_silent(status))
        say_no_views(status, "NO FRUITS ARRIVE", g, line);
    else if (status->budget_known && status->graders == 0) {
        say(line, CRN_STYLE_WARNING, g->warning, "WITHIN THE BUDGET");
        snprintf(line->detail, sizeof line->detail, "but no grader is connected");
    } else if (many_partial(status))
        say_partial(status, g, line);
    else if (status->budget_known)
        say_budget(status, g, line);
    else
        say(line, CRN_STYLE_BOLD, g->none, "RUNNING");
}

crn_headline crn_headline_of(const crn_top_view *view)
{
    const crn_glyphs *g = crn_glyphs_of(view->ascii);
    crn_headline line = {.detail = ""};
    if (view->lost_s >= 0) {
        say(&line, CRN_STYLE_BAD, g->bad, "NO CONNECTION");
        snprintf(line.detail, sizeof line.detail, "for %s%s%s", crn_lasting_text(view->lost_s).text,
                 view->fault[0] ? ": " : "", view->fault);
    } else if (view->status) {
        say_state(view->status, g, &line);
    } else {
        say(&line, CRN_STYLE_BOLD, g->none, "CONNECTING");
    }
    return line;
}
