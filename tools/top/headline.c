#include "tools/top/headline.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/top/texts.h"

crn_style crn_level_style(crn_state_level level)
{
    return level == CRN_LEVEL_CRITICAL  ? CRN_STYLE_BAD
           : level == CRN_LEVEL_WARNING ? CRN_STYLE_WARNING
           : level == CRN_LEVEL_GOOD    ? CRN_STYLE_GOOD
                                        : CRN_STYLE_BOLD;
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

/* The worst condition, and what to do. */
static void say_worst(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    const crn_state_condition *worst = &status->conditions[0];
    line->style = crn_level_style(worst->severity);
    line->glyph = worst->severity == CRN_LEVEL_CRITICAL  ? g->bad
                  : worst->severity == CRN_LEVEL_WARNING ? g->warning
                                                         : g->none;
    snprintf(line->text, sizeof line->text, "%s.", worst->what);
    snprintf(line->detail, sizeof line->detail, "%s", worst->action);
}

/* Nothing is wrong now; fruits of the last two minutes may have missed the budget. */
static void say_good(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    say(line, CRN_STYLE_GOOD, g->good, "NOTHING OUT OF THE ORDINARY");
    if (status->budget_known && status->budget_kept)
        snprintf(line->detail, sizeof line->detail, "within the budget since %s (%s)",
                 crn_clock_text(status->budget_since_s).text,
                 crn_lasting_text(status->now_s - status->budget_since_s).text);
    else if (status->budget_known)
        snprintf(line->detail, sizeof line->detail,
                 "%.0f of %.0f fruits of the last two minutes missed the budget", status->missed,
                 status->recent_verdicts);
}

/* What matters most, as on the live page. */
static void say_state(const crn_daemon_state *status, const crn_glyphs *g, crn_headline *line)
{
    if (status->condition_count > 0)
        say_worst(status, g, line);
    else if (!status->healthy)
        say(line, CRN_STYLE_BAD, g->bad, "THE LINE DOES NOT ANSWER");
    else if (is_state(status, "starting"))
        say(line, CRN_STYLE_BOLD, g->none, "STARTING");
    else if (is_state(status, "stopping"))
        say(line, CRN_STYLE_BOLD, g->none, "STOPPING");
    else if (is_state(status, "ready"))
        say(line, CRN_STYLE_BOLD, g->none, "READY, NO VIEW HAS ARRIVED YET");
    else if (status->level == CRN_LEVEL_GOOD)
        say_good(status, g, line);
    else
        say(line, CRN_STYLE_BOLD, g->none, "%s", status->state);
}

/* What nobody has confirmed yet. */
static void add_alarms(double alarms, crn_headline *line)
{
    size_t used = strlen(line->detail);
    if (alarms > 0)
        snprintf(line->detail + used, sizeof line->detail - used, "%s%.0f alarm%s unacknowledged",
                 used ? "  " : "", alarms, alarms == 1 ? "" : "s");
}

crn_headline crn_headline_of(const crn_top_view *view)
{
    const crn_glyphs *g = crn_glyphs_of(view->ascii);
    crn_headline line = {.detail = ""};
    if (view->lost_s >= 0) {
        say(&line, CRN_STYLE_BAD, g->bad, "NO CONNECTION");
        snprintf(line.detail, sizeof line.detail, "for %s%s%s%s",
                 crn_lasting_text(view->lost_s).text, view->fault[0] ? ": " : "", view->fault,
                 view->status ? "; what follows is old" : "");
    } else if (view->status) {
        say_state(view->status, g, &line);
        add_alarms(view->status->alarms, &line);
    } else {
        say(&line, CRN_STYLE_BOLD, g->none, "CONNECTING");
    }
    return line;
}
