#include "tools/top/layout.h"

#include <math.h>
#include <string.h>

#include "tools/top/headline.h"
#include "tools/top/texts.h"

#define FIGURE_ROWS 3
#define WIDE        76 /* from here on two columns of lists */

/* --- head --- */

/* Returns the rows used. */
static int draw_head(const crn_top_view *view, crn_area area)
{
    const crn_daemon_state *status = view->status;
    crn_headline line = crn_headline_of(view);
    int column = crn_area_put(area, 0, 0, CRN_STYLE_BOLD, "cernita-top ");
    column = crn_area_put(area, 0, column, CRN_STYLE_PLAIN, " %s", view->endpoint);
    if (status && status->lot[0])
        column = crn_area_put(area, 0, column, CRN_STYLE_PLAIN, "  lot %s", status->lot);
    if (status)
        crn_area_put(area, 0, column, CRN_STYLE_DIM, "  %s  %s, %.0f worker%s%s", status->config,
                     status->backend, status->workers, status->workers == 1 ? "" : "s",
                     status->devices_lost > 0 ? ", devices lost" : "");
    column = crn_area_put(area, 1, 0, line.style, "%s %s ", line.glyph, line.text);
    if (column + 1 + (int)strlen(line.detail) > area.columns) {
        crn_area_put(area, 2, 2, CRN_STYLE_PLAIN, "%s", line.detail);
        return 3;
    }
    crn_area_put(area, 1, column, CRN_STYLE_PLAIN, " %s", line.detail);
    return 2;
}

/* The conditions behind the worst, a row each, the last one saying how many more there are. Returns
 * the rows used. */
static int draw_conditions(const crn_daemon_state *status, crn_area area)
{
    int others = status->condition_count > 0 ? status->condition_count - 1 : 0;
    int shown = others < area.rows ? others : area.rows;
    for (int i = 0; i < shown; i++) {
        const crn_state_condition *one = &status->conditions[1 + i];
        int left = others - i, column = 2;
        if (i == shown - 1 && left > 1)
            column = crn_area_put(area, i, column, CRN_STYLE_PLAIN, "%d more: ", left);
        column = crn_area_put(area, i, column, crn_level_style(one->severity), "%s.", one->what);
        crn_area_put(area, i, column, CRN_STYLE_PLAIN, " %s", one->action);
    }
    return shown;
}

/* --- figures --- */

static void pair(crn_area area, int row, int column, const char *name, const char *value,
                 crn_style style)
{
    crn_area_put(area, row, column, CRN_STYLE_DIM, "%s", name);
    crn_area_put_right(area, row, column + 19, style, "%s", value);
}

static crn_style bad_if(double count)
{
    return count > 0 ? CRN_STYLE_BAD : CRN_STYLE_PLAIN;
}

static void draw_figures(const crn_daemon_state *s, crn_area area)
{
    crn_short_text slots, p50 = crn_figure_text(s->p50_ms), p99 = crn_figure_text(s->p99_ms);
    snprintf(slots.text, sizeof slots.text, "%.0f/%.0f", s->slots_free, s->slots);
    pair(area, 0, 0, "fruits/s", crn_figure_text(s->verdicts_per_s).text, CRN_STYLE_BOLD);
    pair(area, 1, 0, "views/s", crn_figure_text(s->views_per_s).text, CRN_STYLE_BOLD);
    pair(area, 2, 0, "views lost", crn_count_text(s->lost).text, bad_if(s->lost));
    pair(area, 0, 21, "median ms", p50.text, CRN_STYLE_BOLD);
    pair(area, 1, 21, "99 % ms", p99.text,
         s->p99_ms > s->budget_ms ? CRN_STYLE_BAD : CRN_STYLE_BOLD);
    pair(area, 2, 21, "budget ms", crn_count_text(s->budget_ms).text, CRN_STYLE_PLAIN);
    pair(area, 0, 41, "complete", crn_count_text(s->complete).text, CRN_STYLE_PLAIN);
    pair(area, 1, 41, "partial", crn_count_text(s->partial).text, bad_if(s->partial));
    pair(area, 2, 41, "late", crn_count_text(s->late).text, bad_if(s->late));
    pair(area, 0, 61, "slots", slots.text, CRN_STYLE_PLAIN);
    pair(area, 1, 61, "graders", crn_count_text(s->graders).text,
         s->graders == 1 ? CRN_STYLE_PLAIN : CRN_STYLE_WARNING);
    pair(area, 2, 61, "waiting", crn_count_text(s->waiting).text, bad_if(s->waiting));
}

/* The outlets one behind the other, each with its fruits of the last minute and their share.
 * Returns the rows used, at most those of the area; the last one says how many more there are. */
static int draw_outlets(const crn_daemon_state *s, crn_area area)
{
    double all = 0;
    int row = 0, column = crn_area_put(area, 0, 0, CRN_STYLE_DIM, "outlets, last minute  ");
    int left = column;
    if (s->outlet_count == 0)
        return 0;
    for (int i = 0; i < s->outlet_count; i++)
        all += s->outlets[i].per_minute;
    for (int i = 0; i < s->outlet_count; i++) {
        const crn_state_outlet *one = &s->outlets[i];
        bool is_last_row = row + 1 == area.rows;
        char figures[48], more[24] = "";
        int length =
            snprintf(figures, sizeof figures, " %s %.0f %%", crn_count_text(one->per_minute).text,
                     all > 0 ? 100 * one->per_minute / all : 0.0);
        snprintf(more, sizeof more, "  +%d", s->outlet_count - i);
        int reserved = is_last_row && i + 1 < s->outlet_count ? (int)strlen(more) : 0;
        bool fits = column + (int)strlen(one->name) + length + reserved <= area.columns;
        if (!fits && is_last_row) {
            crn_area_put(area, row, column - 2, CRN_STYLE_PLAIN, "%s", more);
            break;
        }
        if (!fits) {
            row++;
            column = left;
        }
        column = crn_area_put(area, row, column, CRN_STYLE_PLAIN, "%s", one->name);
        column = crn_area_put(area, row, column, CRN_STYLE_BOLD, "%s", figures) + 2;
    }
    return row + 1;
}

/* Nothing of an hour without a fruit. Returns the rows used. */
static int draw_hour(const crn_daemon_state *s, crn_area area)
{
    if (!(s->hour_fruits > 0))
        return 0;
    int column = crn_area_put(area, 0, 0, CRN_STYLE_DIM, "last hour  ");
    column = crn_area_put(area, 0, column, CRN_STYLE_BOLD, "%s fruits",
                          crn_count_text(s->hour_fruits).text);
    column = crn_area_put(area, 0, column, CRN_STYLE_PLAIN, ", %s %% with a defect",
                          crn_figure_text(100 * s->hour_with_defect / s->hour_fruits).text);
    if (s->hour_worst[0])
        crn_area_put(area, 0, column, CRN_STYLE_PLAIN, ", %s %% with %s",
                     crn_figure_text(100 * s->hour_worst_share).text, s->hour_worst);
    return 1;
}

/* --- bars --- */

static void draw_bar(crn_area area, int row, int column, double share, int columns, crn_style style,
                     const crn_glyphs *g)
{
    int length = share > 0 ? (int)ceil(share * columns) : 0;
    for (int i = 0; i < length && i < columns; i++)
        crn_area_put(area, row, column + i, style, "%s", g->bar);
}

static void title(crn_area area, const char *text)
{
    crn_area_put(area, 0, 0, CRN_STYLE_BOLD, "%s", text);
}

/* The ranges that are drawn. */
typedef struct ranges {
    int first, last;
    double below; /* fruits of the ranges before the first, which are added to it */
    double most;  /* in one of those drawn */
} ranges;

/* As many as there are rows for, up to the last that holds a fruit, at least up to the budget. */
static ranges choose_ranges(const crn_daemon_state *s, int rows)
{
    ranges r = {.most = 1};
    for (int i = 0; i <= CRN_STATE_EDGES; i++)
        if (s->counts[i] > 0 || (i < CRN_STATE_EDGES && s->edges_ms[i] <= s->budget_ms))
            r.last = i;
    if (r.last + 3 > rows)
        r.first = r.last + 3 - rows;
    for (int i = 0; i <= r.last; i++) {
        r.below += i < r.first ? s->counts[i] : 0;
        r.most = fmax(r.most, i > r.first ? s->counts[i] : r.below + s->counts[i]);
    }
    return r;
}

static void draw_range(const crn_daemon_state *s, int range, double count, double share,
                       const crn_glyphs *g, int row, crn_area area)
{
    bool beyond = range == CRN_STATE_EDGES;
    bool over = beyond || s->edges_ms[range] > s->budget_ms;
    crn_area_put_right(area, row, 7, CRN_STYLE_DIM, "%s%s", beyond ? ">" : "",
                       crn_figure_text(s->edges_ms[beyond ? range - 1 : range]).text);
    draw_bar(area, row, 8, share, area.columns - 18, over ? CRN_STYLE_BAD : CRN_STYLE_GOOD, g);
    if (count > 0)
        crn_area_put_right(area, row, area.columns - 1, over ? CRN_STYLE_BAD : CRN_STYLE_PLAIN,
                           "%.0f", count);
}

static void draw_budget_line(const crn_daemon_state *s, const crn_glyphs *g, int row, crn_area area)
{
    for (int k = 0; k < area.columns - 1; k++)
        crn_area_put(area, row, k, CRN_STYLE_DIM, "%s", g->line);
    crn_area_put(area, row, 2, CRN_STYLE_BOLD, " budget %s ms ", crn_count_text(s->budget_ms).text);
}

static void draw_histogram(const crn_daemon_state *s, const crn_glyphs *g, crn_area area)
{
    title(area, "latency up to ms, last two minutes");
    if (!s->has_counts)
        return;
    ranges r = choose_ranges(s, area.rows);
    int row = 1;
    for (int i = r.first; i <= r.last; i++) {
        double count = s->counts[i] + (i == r.first ? r.below : 0);
        draw_range(s, i, count, count / r.most, g, row++, area);
        if (i < CRN_STATE_EDGES && s->edges_ms[i] == s->budget_ms)
            draw_budget_line(s, g, row++, area);
    }
}

static void draw_stages(const crn_daemon_state *s, const crn_glyphs *g, crn_area area)
{
    title(area, "where a view spends its time");
    for (int i = 0; i < s->stage_count && i + 1 < area.rows; i++) {
        const crn_state_stage *stage = &s->stages[i];
        bool queue = strcmp(stage->name, "queue") == 0;
        crn_area_put(area, i + 1, 0, CRN_STYLE_PLAIN, "%-12.12s", queue ? "waiting" : stage->name);
        draw_bar(area, i + 1, 13, stage->share, area.columns - 13 - 18, CRN_STYLE_GOOD, g);
        crn_area_put_right(area, i + 1, area.columns, CRN_STYLE_PLAIN, "%3.0f %% %s ms",
                           stage->share * 100, crn_figure_text(stage->mean_ms).text);
    }
}

/* --- lists --- */

static void draw_lane(const crn_daemon_state *s, const crn_state_lane *lane, const crn_glyphs *g,
                      int row, crn_area area)
{
    static const char *const words[] = {"good", "degraded", "SILENT"};
    static const crn_style styles[] = {CRN_STYLE_GOOD, CRN_STYLE_WARNING, CRN_STYLE_BAD};
    crn_style style = styles[lane->state];
    int column = crn_area_put(area, row, 0, style, "%s %3d %-8s ", g->lane[lane->state],
                              (int)lane->number, words[lane->state]);
    if (lane->state == CRN_LANE_SILENT)
        crn_area_put(area, row, column, CRN_STYLE_PLAIN, "no view for %s",
                     crn_lasting_text(s->now_s - lane->last_view_s).text);
    else if (lane->causes[0])
        crn_area_put(area, row, column, CRN_STYLE_PLAIN, "%s", lane->causes);
    else
        crn_area_put(area, row, column, CRN_STYLE_PLAIN, "99 %%: %s ms",
                     crn_figure_text(lane->p99_ms).text);
}

/* Silent lanes first, then degraded ones, each by number. */
static void sort_lanes(const crn_daemon_state *s, const crn_state_lane *ret_lanes[CRN_STATE_LANES])
{
    int count = 0;
    for (int state = CRN_LANE_SILENT; state >= CRN_LANE_GOOD; state--)
        for (int i = 0; i < s->lane_count; i++)
            if ((int)s->lanes[i].state == state)
                ret_lanes[count++] = &s->lanes[i];
}

static void draw_lanes(const crn_top_view *view, crn_area area)
{
    const crn_daemon_state *s = view->status;
    const crn_state_lane *lanes[CRN_STATE_LANES];
    int room = area.rows - 1, first = view->first_lane;
    if (first > s->lane_count - room)
        first = s->lane_count - room;
    if (first < 0)
        first = 0;
    sort_lanes(s, lanes);
    int column = crn_area_put(area, 0, 0, CRN_STYLE_BOLD, "lanes");
    if (s->lane_count > room)
        crn_area_put(area, 0, column, CRN_STYLE_DIM, "  %d to %d of %d (arrow keys)", first + 1,
                     first + room < s->lane_count ? first + room : s->lane_count, s->lane_count);
    for (int i = 0; i < room && first + i < s->lane_count; i++)
        draw_lane(s, lanes[first + i], crn_glyphs_of(view->ascii), i + 1, area);
}

static void draw_bad(const crn_daemon_state *s, crn_area area)
{
    title(area, "late, partial, over budget");
    if (s->bad_count == 0)
        crn_area_put(area, 1, 0, CRN_STYLE_DIM, "none since the start");
    for (int i = 0; i < s->bad_count && i + 1 < area.rows; i++) {
        const crn_state_fruit *fruit = &s->bad[i];
        crn_area_put(area, i + 1, 0, CRN_STYLE_PLAIN, "%s %d/%lld %s%s %s ms",
                     crn_clock_text(fruit->published_s).text, (int)fruit->lane,
                     (long long)fruit->fruit,
                     strcmp(fruit->verdict, "complete") == 0 ? "" : fruit->verdict,
                     fruit->over_budget ? " over" : "", crn_figure_text(fruit->latency_ms).text);
    }
}

static int put_writer(crn_area area, int column, const char *name, const crn_state_writer *writer)
{
    column = crn_area_put(area, 0, column, CRN_STYLE_DIM, "%s ", name);
    if (!writer->on)
        return crn_area_put(area, 0, column, CRN_STYLE_PLAIN, "off  ");
    column = crn_area_put(area, 0, column, writer->lost > 0 ? CRN_STYLE_BAD : CRN_STYLE_PLAIN,
                          "%s, %s lost", crn_bytes_text(writer->bytes).text,
                          crn_count_text(writer->lost).text);
    if (isfinite(writer->free_share))
        column = crn_area_put(area, 0, column, CRN_STYLE_PLAIN, ", disk %.0f %% free",
                              writer->free_share * 100);
    return crn_area_put(area, 0, column, CRN_STYLE_PLAIN, "  ");
}

static void draw_foot(const crn_daemon_state *s, crn_area area)
{
    int column = put_writer(area, 0, "recording", &s->recorder);
    column = put_writer(area, column, "log", &s->log);
    crn_area_put(area, 0, column, CRN_STYLE_DIM, "memory %s", crn_bytes_text(s->memory_bytes).text);
    crn_area_put_right(area, 0, area.columns, CRN_STYLE_DIM, " q quit  ? help");
}

static void draw_help(crn_area area)
{
    static const char *const lines[] = {
        "q           quit",
        "?           this help, and back",
        "up, down    scroll the lanes (also k, j)",
        "",
        "A fruit in the list: `cernita-why HOST:PORT LANE FRUIT` says why.",
        "In a browser, with pictures: the same address.",
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); i++)
        crn_area_put(area, i, 2, CRN_STYLE_PLAIN, "%s", lines[i]);
}

/* --- all --- */

/* The lists below the figures: two columns, or one below the other. */
static void draw_lists(const crn_top_view *view, crn_area area)
{
    const crn_daemon_state *s = view->status;
    const crn_glyphs *g = crn_glyphs_of(view->ascii);
    bool wide = area.columns >= WIDE;
    int left = wide ? area.columns / 2 - 1 : area.columns;
    int upper = wide ? area.rows * 6 / 10 : area.rows / 2;
    if (upper > CRN_STATE_EDGES + 4)
        upper = CRN_STATE_EDGES + 4;
    draw_histogram(s, g, crn_area_part(area, 0, 0, upper - 1, left));
    draw_lanes(view, crn_area_part(area, upper, 0, area.rows - upper, left));
    if (!wide)
        return;
    int column = left + 2, columns = area.columns - column;
    draw_stages(s, g, crn_area_part(area, 0, column, upper - 1, columns));
    draw_bad(s, crn_area_part(area, upper, column, area.rows - upper, columns));
}

static void dim_all(crn_canvas *canvas)
{
    for (int i = 2 * canvas->columns; i < canvas->rows * canvas->columns; i++)
        canvas->cells[i].style = CRN_STYLE_DIM;
}

void crn_layout(const crn_top_view *view, crn_canvas *canvas)
{
    crn_area all = crn_area_whole(canvas);
    int row = draw_head(view, all);
    if (view->help) {
        draw_help(crn_area_part(all, row + 1, 0, all.rows, all.columns));
        return;
    }
    if (!view->status)
        return;
    int rows = all.rows / 8 > 1 ? all.rows / 8 : 1;
    row += 1 + draw_conditions(view->status, crn_area_part(all, row, 0, rows, all.columns));
    draw_figures(view->status, crn_area_part(all, row, 0, FIGURE_ROWS, all.columns));
    row += FIGURE_ROWS + 1;
    int figures_end = row;
    int outlets =
        draw_outlets(view->status, crn_area_part(all, row, 0, all.rows < 24 ? 1 : 2, all.columns));
    row += outlets;
    row += draw_hour(view->status, crn_area_part(all, row, 0, 1, all.columns));
    row += row > figures_end ? 1 : 0;
    draw_lists(view, crn_area_part(all, row, 0, all.rows - row - 1, all.columns));
    draw_foot(view->status, crn_area_part(all, all.rows - 1, 0, 1, all.columns));
    if (view->lost_s >= 0)
        dim_all(canvas);
}
