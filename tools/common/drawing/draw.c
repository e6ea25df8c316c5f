/*
 * The layout, from top to bottom: a header of two lines, the views below one another (side by side
 * when they are taller than wide), the legend. All lengths are picture pixels; a view pixel is
 * SCALE of them, or fewer where there is much to draw.
 */
#include "tools/common/drawing/draw.h"

#include <cairo.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/file/new_file.h"
#include "tools/common/drawing/font.h"
#include "tools/common/drawing/labels.h"
#include "tools/common/drawing/pose_marks.h"
#include "tools/common/drawing/view_marks.h"
#include "stages/base/buffer/text.h"

#define SCALE          2
#define SCALE_WIDE_MAX 1280 /* larger views are drawn at scale 1 */
#define SIDE_MAX       4096 /* for views whose size is known from contours only */
/* Of all views along a picture: cairo draws 32767, of which header, gaps and legend take the rest.
 */
#define VIEWS_SIDE_MAX 28000
#define MARGIN         20
#define GAP            8
#define HEADER_HEIGHT  62
#define LEGEND_ROW     22
#define WIDTH_MIN      720

static const crn_color ground_color = {0.082, 0.090, 0.106};
static const crn_color text_color = {0.93, 0.94, 0.95};
static const crn_color dim_color = {0.62, 0.65, 0.69};
static const crn_color before_color = {1, 1, 1};
static const crn_color verdict_colors[] = {
    [CRN_VERDICT_COMPLETE] = {0.28, 0.80, 0.46},
    [CRN_VERDICT_PARTIAL] = {0.98, 0.76, 0.18},
    [CRN_VERDICT_LATE] = {0.96, 0.36, 0.33},
};

typedef struct layout {
    int32_t view_count;
    crn_photo views[CRN_DRAW_VIEWS_MAX]; /* with a size each */
    bool beside;                         /* views stand side by side */
    double scale;
    double width, height; /* of the picture */
} layout;

static void set_color(cairo_t *cairo, crn_color color, double alpha)
{
    cairo_set_source_rgba(cairo, color.red, color.green, color.blue, alpha);
}

/* Draws text with its baseline's left end at x, y (right end when `right`); returns its width. */
static double show_text(cairo_t *cairo, double x, double y, bool right, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, text, &extents);
    cairo_move_to(cairo, right ? x - extents.x_advance : x, y);
    cairo_show_text(cairo, text);
    return extents.x_advance;
}

static int32_t clamp_side(double side)
{
    return side < 1 ? 1 : side > SIDE_MAX ? SIDE_MAX : (int32_t)side;
}

void crn_draw_extent(const crn_decoded *verdict, crn_photo *size)
{
    for (uint32_t i = 0; i < verdict->point_count; i++) {
        /* Contours that close around the border reach one pixel past the last. */
        int32_t width = clamp_side(ceil(verdict->xy[2 * i]));
        int32_t height = clamp_side(ceil(verdict->xy[2 * i + 1]));
        size->width = width > size->width ? width : size->width;
        size->height = height > size->height ? height : size->height;
    }
}

/* Draws one legend entry; returns the x after it. */
static double draw_legend_entry(cairo_t *cairo, double x, double y, crn_color color, bool dashed,
                                const char *text)
{
    set_color(cairo, color, 1);
    cairo_set_line_width(cairo, 3);
    if (dashed)
        cairo_set_dash(cairo, (const double[]){4, 3}, 2, 0);
    cairo_move_to(cairo, x, y - 4.5);
    cairo_line_to(cairo, x + 18, y - 4.5);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, NULL, 0, 0);
    set_color(cairo, text_color, 1);
    return x + 24 + show_text(cairo, x + 24, y, false, text) + 22;
}

static bool has_holes(const crn_decoded *verdict)
{
    for (uint32_t i = 0; i < verdict->defect_count; i++)
        if (verdict->defects[i].hole)
            return true;
    return false;
}

/* What there is of a class: contours and pixels of all views, and where the fruit was measured its
 * defects, each once. */
static void describe_class(const crn_decoded *verdict, uint32_t class, char *text, size_t size)
{
    const crn_decoded_total *total = &verdict->totals[class];
    crn_text line = crn_text_in(text, size);
    crn_text_add(&line, "%s %" PRIu64 " (%.0f px", total->name, total->count, total->area_px);
    for (uint32_t i = 0; i < verdict->surface.measure_count; i++) {
        const crn_decoded_measure *measure = &verdict->surface.measures[i];
        if (strcmp(measure->name, total->name) == 0)
            crn_text_add(&line, "; on the fruit %" PRIu64 ", %.1f mm\u00b2", measure->count,
                         measure->area_mm2);
    }
    crn_text_add(&line, ")");
}

/*
 * Draws the legend from y on, over as many rows as needed: every class found, with count and area,
 * and what else is drawn.
 * Returns the rows; with `draw` false it only counts them.
 */
static int32_t draw_legend(cairo_t *cairo, const crn_drawing *drawing, double y, double width,
                           bool draw)
{
    const crn_decoded *verdict = drawing->verdict;
    crn_font_set(cairo, 13, false);
    double x = MARGIN;
    int32_t rows = 1;
    for (uint32_t i = 0; i < verdict->total_count + 2; i++) {
        char text[CRN_DECODED_TEXT_BYTES + 128] = "hole";
        bool hole = i == verdict->total_count, before = i > verdict->total_count;
        if (before ? !drawing->before : hole ? !has_holes(verdict) : !verdict->totals[i].count)
            continue;
        if (before)
            snprintf(text, sizeof text, "before (%" PRIu32 ")", drawing->before->defect_count);
        else if (!hole)
            describe_class(verdict, i, text, sizeof text);
        cairo_text_extents_t extents;
        cairo_text_extents(cairo, text, &extents);
        if (x > MARGIN && x + 24 + extents.x_advance > width - MARGIN) {
            x = MARGIN;
            rows++;
        }
        crn_color color = before ? before_color
                          : hole ? dim_color
                                 : crn_palette_color(drawing->palette, verdict->totals[i].name);
        if (draw)
            x = draw_legend_entry(cairo, x, y + LEGEND_ROW * rows - 6, color, hole, text);
        else
            x += 24 + extents.x_advance + 22;
    }
    if (x == MARGIN && draw) {
        set_color(cairo, dim_color, 1);
        show_text(cairo, x, y + LEGEND_ROW - 6, false,
                  verdict->kind == CRN_VERDICT_LATE ? "nothing was ready: the fail-safe decides"
                                                    : "no defects");
    }
    return rows;
}

/* Draws the verdict's name in a filled frame; returns the x after it. */
static double draw_badge(cairo_t *cairo, double x, double y, crn_verdict_kind kind)
{
    crn_font_set(cairo, 13, true);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, crn_verdict_kind_names[kind], &extents);
    crn_label_frame(cairo, x, y - 16, extents.x_advance + 20, 22, 11);
    set_color(cairo, verdict_colors[kind], 1);
    cairo_fill(cairo);
    set_color(cairo, ground_color, 1);
    show_text(cairo, x + 10, y - 0.5, false, crn_verdict_kind_names[kind]);
    return x + extents.x_advance + 20;
}

static void describe(const crn_decoded *verdict, char *text, size_t size)
{
    crn_text line = crn_text_in(text, size);
    uint64_t expected = verdict->views_expected ? verdict->views_expected : verdict->views_received;
    crn_text_add(&line, "%" PRIu64 " of %" PRIu64 " view%s judged", verdict->views_judged, expected,
                 expected == 1 ? "" : "s");
    if (verdict->views_received != verdict->views_judged)
        crn_text_add(&line, ", %" PRIu64 " received", verdict->views_received);
    crn_text_add(&line, ", %u outline%s", verdict->defect_count,
                 verdict->defect_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < verdict->skipped_count; i++)
        crn_text_add(&line, "%s%s", i ? ", " : ", skipped ", verdict->skipped[i]);
    crn_text_add(&line, "%s%s", verdict->truncated ? ", truncated" : "",
                 verdict->stale ? ", stale" : "");
    if (verdict->surface.is_measured)
        crn_text_add(&line, ", %.1f mm across, %.0f %% seen", verdict->surface.diameter_mm,
                     100 * verdict->surface.coverage);
}

static void draw_header(cairo_t *cairo, const crn_decoded *verdict, const layout *plan)
{
    char text[512];
    crn_font_set(cairo, 19, true);
    set_color(cairo, text_color, 1);
    snprintf(text, sizeof text, "lane %" PRIu64 "  fruit %" PRIu64, verdict->lane, verdict->fruit);
    double x = MARGIN + show_text(cairo, MARGIN, 32, false, text) + 16;
    draw_badge(cairo, x, 31, verdict->kind);

    if (isfinite(verdict->total_ms)) {
        bool over = verdict->total_ms > verdict->budget_ms;
        crn_font_set(cairo, 19, true);
        set_color(cairo, over ? verdict_colors[CRN_VERDICT_LATE] : text_color, 1);
        snprintf(text, sizeof text, "%.1f ms", verdict->total_ms);
        show_text(cairo, plan->width - MARGIN, 32, true, text);
    }
    crn_font_set(cairo, 13, false);
    set_color(cairo, dim_color, 1);
    if (isfinite(verdict->budget_ms)) {
        snprintf(text, sizeof text, "of a budget of %g ms", verdict->budget_ms);
        show_text(cairo, plan->width - MARGIN, 52, true, text);
    }
    describe(verdict, text, sizeof text);
    show_text(cairo, MARGIN, 52, false, text);
}

/* Draws the photograph, or plain grey, in view pixels. */
static void draw_ground(cairo_t *cairo, const crn_photo *photo)
{
    cairo_rectangle(cairo, 0, 0, photo->width, photo->height);
    cairo_surface_t *picture = NULL;
    if (photo->pixels)
        picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, photo->width, photo->height);
    if (!picture || cairo_surface_status(picture)) {
        cairo_set_source_rgb(cairo, 0.36, 0.375, 0.40);
        cairo_fill(cairo);
        cairo_surface_destroy(picture);
        return;
    }
    unsigned char *rows = cairo_image_surface_get_data(picture);
    int stride = cairo_image_surface_get_stride(picture);
    for (int32_t y = 0; y < photo->height; y++) {
        uint32_t *row = (uint32_t *)(void *)(rows + (ptrdiff_t)y * stride);
        for (int32_t x = 0; x < photo->width; x++)
            row[x] = photo->pixels[(ptrdiff_t)y * photo->width + x] * 0x010101u;
    }
    cairo_surface_mark_dirty(picture);
    cairo_set_source_surface(cairo, picture, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_BILINEAR);
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
    cairo_fill(cairo);
    cairo_surface_destroy(picture);
}

/* Adds a contour to cairo's path; pixel centres are at whole numbers. */
static void add_path(cairo_t *cairo, const crn_decoded *verdict, const crn_decoded_defect *defect)
{
    const float *xy = verdict->xy + 2 * (size_t)defect->first_point;
    cairo_new_sub_path(cairo);
    for (uint32_t i = 0; i < defect->point_count; i++)
        cairo_line_to(cairo, xy[2 * i] + 0.5, xy[2 * i + 1] + 0.5);
    if (defect->closed)
        cairo_close_path(cairo);
}

static void draw_outline(cairo_t *cairo, const crn_decoded *verdict,
                         const crn_decoded_defect *defect, crn_color color, double scale)
{
    add_path(cairo, verdict, defect);
    /* A dark rim keeps every colour visible on a bright photograph. */
    cairo_set_line_width(cairo, (defect->hole ? 3.0 : 3.6) / scale);
    cairo_set_source_rgba(cairo, 0, 0, 0, 0.5);
    cairo_stroke_preserve(cairo);
    if (defect->hole)
        cairo_set_dash(cairo, (const double[]){5 / scale, 4 / scale}, 2, 0);
    cairo_set_line_width(cairo, 1.8 / scale);
    set_color(cairo, color, 1);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, NULL, 0, 0);
}

/* Tints a class's area, holes excepted. */
static void tint_class(cairo_t *cairo, const crn_decoded *verdict, uint64_t view, const char *name,
                       crn_color color)
{
    cairo_set_fill_rule(cairo, CAIRO_FILL_RULE_EVEN_ODD);
    for (uint32_t i = 0; i < verdict->defect_count; i++) {
        const crn_decoded_defect *defect = &verdict->defects[i];
        if (defect->view == view && defect->closed && !strcmp(defect->name, name))
            add_path(cairo, verdict, defect);
    }
    set_color(cairo, color, 0.26);
    cairo_fill(cairo);
}

/* The contours of the verdict before, under those of this one: where both agree these are seen. */
static void draw_before(cairo_t *cairo, const crn_decoded *before, uint64_t view, double scale)
{
    for (uint32_t i = 0; before && i < before->defect_count; i++)
        if (before->defects[i].view == view)
            draw_outline(cairo, before, &before->defects[i], before_color, scale);
}

/* Draws one view with its top left at x, y. */
static void draw_view(cairo_t *cairo, const crn_drawing *drawing, const layout *plan, int32_t view,
                      double x, double y)
{
    const crn_decoded *verdict = drawing->verdict;
    crn_palette *palette = drawing->palette;
    const crn_photo *photo = &plan->views[view];
    double width = photo->width * plan->scale, height = photo->height * plan->scale;
    cairo_save(cairo);
    crn_label_frame(cairo, x, y, width, height, 5);
    cairo_clip(cairo);
    cairo_translate(cairo, x, y);
    cairo_scale(cairo, plan->scale, plan->scale);
    draw_ground(cairo, photo);
    for (int32_t class = 0; class < palette->count; class ++)
        tint_class(cairo, verdict, (uint64_t)view, palette->name[class],
                   crn_palette_color(palette, palette->name[class]));
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    crn_pose_marks_draw(cairo, &verdict->surface, (uint64_t)view, plan->scale);
    draw_before(cairo, drawing->before, (uint64_t)view, plan->scale);
    for (uint32_t i = 0; i < verdict->defect_count; i++)
        if (verdict->defects[i].view == (uint64_t)view)
            draw_outline(cairo, verdict, &verdict->defects[i],
                         crn_palette_color(palette, verdict->defects[i].name), plan->scale);
    cairo_scale(cairo, 1 / plan->scale, 1 / plan->scale);
    const crn_decoded_view *state = crn_decoded_find_view(verdict, (uint64_t)view);
    if (state)
        crn_view_marks_draw(cairo, state, width, height);
    crn_font_set(cairo, 12, false);
    crn_labels_draw(cairo, verdict, view, palette, plan->scale, width, height);
    cairo_restore(cairo);
}

/* The number of views to draw of a verdict; 0: it does not say. */
static uint64_t count_views(const crn_decoded *verdict)
{
    uint64_t views = verdict->views_expected;
    for (uint32_t i = 0; i < verdict->defect_count; i++)
        views = verdict->defects[i].view >= views ? verdict->defects[i].view + 1 : views;
    for (uint32_t i = 0; i < verdict->view_count; i++)
        if (verdict->views[i].view >= views && verdict->views[i].view < CRN_DRAW_VIEWS_MAX)
            views = verdict->views[i].view + 1;
    return views ? views : verdict->views_received;
}

/* Of views that are so large together, in their own pixels: at most SCALE. */
static double find_scale(const crn_photo *together, const crn_photo *largest, double pixels_max)
{
    bool is_wide = largest->width > SCALE_WIDE_MAX || largest->height > SCALE_WIDE_MAX;
    double width = together->width, height = together->height;
    double scale = fmin(is_wide ? 1 : SCALE, VIEWS_SIDE_MAX / fmax(width, height));
    return pixels_max > 0 ? fmin(scale, sqrt(pixels_max / (width * height))) : scale;
}

/* Computes sizes, counts and positions; the caller adds the legend's rows. */
static void plan_layout(const crn_drawing *drawing, layout *plan)
{
    const crn_decoded *verdict = drawing->verdict;
    crn_photo size_min = drawing->size_min;
    uint64_t views = count_views(verdict), before = 0;
    if (drawing->before) {
        before = count_views(drawing->before);
        crn_draw_extent(drawing->before, &size_min);
    }
    views = before > views ? before : views ? views : 1;
    plan->view_count = views < CRN_DRAW_VIEWS_MAX ? (int32_t)views : CRN_DRAW_VIEWS_MAX;
    if (!size_min.width || !size_min.height)
        size_min.width = size_min.height = 64;
    size_min.pixels = NULL;
    crn_draw_extent(verdict, &size_min);

    crn_photo largest = {0}, sum = {0};
    for (int32_t i = 0; i < plan->view_count; i++) {
        crn_photo *view = &plan->views[i];
        const crn_photo *photo = i < drawing->photo_count ? &drawing->photos[i] : &size_min;
        *view = photo->width > 0 && photo->height > 0 ? *photo : size_min;
        largest.width = view->width > largest.width ? view->width : largest.width;
        largest.height = view->height > largest.height ? view->height : largest.height;
        sum.width += view->width;
        sum.height += view->height;
    }
    plan->beside = largest.height > largest.width;
    crn_photo together = {NULL, plan->beside ? largest.height : sum.height,
                          plan->beside ? sum.width : largest.width};
    plan->scale = find_scale(&together, &largest, drawing->pixels_max);
    double gaps = GAP * (plan->view_count - 1);
    plan->width =
        fmax(together.width * plan->scale + (plan->beside ? gaps : 0) + 2 * MARGIN, WIDTH_MIN);
    plan->height = HEADER_HEIGHT + together.height * plan->scale + (plan->beside ? 0 : gaps);
}

static cairo_status_t write_bytes(void *stream, const unsigned char *bytes, unsigned int count)
{
    return fwrite(bytes, 1, count, stream) == count ? CAIRO_STATUS_SUCCESS
                                                    : CAIRO_STATUS_WRITE_ERROR;
}

/* The whole picture; the caller destroys it. */
static cairo_t *draw_picture(const crn_drawing *drawing)
{
    const crn_decoded *verdict = drawing->verdict;
    layout plan = {0};
    plan_layout(drawing, &plan);
    for (uint32_t i = 0; i < verdict->total_count; i++) /* classes in their own order first */
        crn_palette_color(drawing->palette, verdict->totals[i].name);
    for (uint32_t i = 0; i < verdict->defect_count; i++)
        crn_palette_color(drawing->palette, verdict->defects[i].name);

    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cairo = cairo_create(surface);
    int32_t rows = draw_legend(cairo, drawing, 0, plan.width, false);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);

    double legend_y = plan.height + 6;
    plan.height = legend_y + rows * LEGEND_ROW + 10;
    surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)plan.width, (int)plan.height);
    cairo = cairo_create(surface);
    cairo_surface_destroy(surface); /* cairo has a reference */
    set_color(cairo, ground_color, 1);
    cairo_paint(cairo);
    draw_header(cairo, verdict, &plan);
    double x = MARGIN, y = HEADER_HEIGHT;
    for (int32_t i = 0; i < plan.view_count; i++) {
        draw_view(cairo, drawing, &plan, i, x, y);
        if (plan.beside)
            x += plan.views[i].width * plan.scale + GAP;
        else
            y += plan.views[i].height * plan.scale + GAP;
    }
    draw_legend(cairo, drawing, legend_y, plan.width, true);
    return cairo;
}

/* Failed writes are left to who finishes the stream. */
int crn_draw_fruit(const crn_drawing *drawing, FILE *stream, const char *name, crn_error *error)
{
    cairo_t *cairo = draw_picture(drawing);
    cairo_status_t status = cairo_status(cairo);
    if (!status)
        status = cairo_surface_write_to_png_stream(cairo_get_target(cairo), write_bytes, stream);
    cairo_destroy(cairo);
    if (!status || status == CAIRO_STATUS_WRITE_ERROR)
        return 0;
    return crn_error_set(error, status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO,
                         "%s: cannot draw the picture: %s", name, cairo_status_to_string(status));
}

int crn_draw_verdict(const crn_decoded *verdict, const crn_photo *photos, int32_t photo_count,
                     crn_photo size_min, crn_palette *palette, const char *path, crn_error *error)
{
    crn_drawing drawing = {verdict, NULL, photos, photo_count, size_min, palette, 0};
    crn_new_file file = {.fd = -1};
    int r = crn_new_file_open_stream(path, &file, error);
    if (!r)
        r = crn_draw_fruit(&drawing, file.stream, path, error);
    if (!r)
        r = crn_new_file_finish(&file, error); /* reports why a write failed */
    crn_new_file_drop(&file);
    return r;
}
