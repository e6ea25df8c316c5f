#include "tools/common/drawing/labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LABELS_MAX     12
#define LABEL_AREA_PX  40 /* smaller defects get a colour but no label */
#define LABEL_HEIGHT   17
#define LABEL_PAD      5
#define LABEL_DISTANCE 4
#define CANDIDATES     9

typedef struct rect {
    double x, y, width, height;
} rect;

void crn_label_frame(cairo_t *cairo, double x, double y, double width, double height, double radius)
{
    cairo_new_sub_path(cairo);
    cairo_arc(cairo, x + width - radius, y + radius, radius, -M_PI_2, 0);
    cairo_arc(cairo, x + width - radius, y + height - radius, radius, 0, M_PI_2);
    cairo_arc(cairo, x + radius, y + height - radius, radius, M_PI_2, M_PI);
    cairo_arc(cairo, x + radius, y + radius, radius, M_PI, 3 * M_PI_2);
    cairo_close_path(cairo);
}

static double overlap(const rect *a, const rect *b)
{
    double width = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
    double height = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);
    return width > 0 && height > 0 ? width * height : 0;
}

static rect defect_rect(const crn_decoded_defect *defect, double scale)
{
    const double *box = defect->bbox;
    return (rect){(box[0] + 0.5) * scale, (box[1] + 0.5) * scale, (box[2] - box[0]) * scale,
                  (box[3] - box[1]) * scale};
}

/* Candidate positions around a defect in order of preference:
 * right, left, above, below, the corners, within. */
static rect candidate(const rect *around, int32_t number, double width)
{
    double left = around->x - width - LABEL_DISTANCE;
    double right = around->x + around->width + LABEL_DISTANCE;
    double above = around->y - LABEL_HEIGHT - LABEL_DISTANCE;
    double below = around->y + around->height + LABEL_DISTANCE;
    double middle_x = around->x + (around->width - width) / 2;
    double middle_y = around->y + (around->height - LABEL_HEIGHT) / 2;
    const double at[CANDIDATES][2] = {
        {right, middle_y}, {left, middle_y}, {middle_x, above},
        {middle_x, below}, {right, above},   {right, below},
        {left, above},     {left, below},    {middle_x, middle_y},
    };
    return (rect){at[number][0], at[number][1], width, LABEL_HEIGHT};
}

/* A view while its labels are placed. */
typedef struct label_layout {
    const crn_decoded *verdict;
    rect frame;
    double scale; /* from the verdict's pixels to the frame's */
    rect placed[LABELS_MAX + 1];
    int32_t count;
} label_layout;

/*
 * Finds the free candidate that covers the smallest part of the view's defects. False if each one
 * overlaps a label or lies outside.
 */
static bool find_candidate(const label_layout *layout, const crn_decoded_defect *defect,
                           double width, rect *ret_label)
{
    const crn_decoded *verdict = layout->verdict;
    const rect *frame = &layout->frame;
    rect around = defect_rect(defect, layout->scale);
    double min_cost = INFINITY;
    for (int32_t number = 0; number < CANDIDATES; number++) {
        rect tried = candidate(&around, number, width);
        /* Moves a label that slightly exceeds the frame inside. */
        tried.x = fmin(fmax(tried.x, frame->x + 3), frame->x + frame->width - tried.width - 3);
        tried.y = fmin(fmax(tried.y, frame->y + 3), frame->y + frame->height - tried.height - 3);
        if (tried.x < frame->x || tried.y < frame->y)
            continue;
        double cost = 60.0 * number; /* square pixels that a less preferred position must save */
        for (int32_t i = 0; i < layout->count; i++)
            if (overlap(&tried, &layout->placed[i]) > 0)
                cost = INFINITY;
        for (uint32_t i = 0; i < verdict->defect_count && cost < min_cost; i++) {
            rect other = defect_rect(&verdict->defects[i], layout->scale);
            if (verdict->defects[i].view == defect->view)
                cost += 3 * overlap(&tried, &other);
        }
        if (cost < min_cost) {
            min_cost = cost;
            *ret_label = tried;
        }
    }
    return min_cost < INFINITY;
}

static void draw_label(cairo_t *cairo, const rect *at, const char *text, crn_color color)
{
    crn_label_frame(cairo, at->x, at->y, at->width, at->height, 4);
    cairo_set_source_rgba(cairo, 0.05, 0.055, 0.07, 0.78);
    cairo_fill(cairo);
    cairo_set_source_rgb(cairo, color.red, color.green, color.blue);
    cairo_move_to(cairo, at->x + LABEL_PAD, at->y + LABEL_HEIGHT - 4.5);
    cairo_show_text(cairo, text);
}

static double text_width(cairo_t *cairo, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, text, &extents);
    return extents.x_advance + 2 * LABEL_PAD;
}

static int by_area(const void *a, const void *b)
{
    const crn_decoded_defect *left = *(const crn_decoded_defect *const *)a;
    const crn_decoded_defect *right = *(const crn_decoded_defect *const *)b;
    return (left->area_px < right->area_px) - (left->area_px > right->area_px);
}

/* Selects the view's defects to label: at most LABELS_MAX, largest first. */
static int32_t choose(const crn_decoded *verdict, uint64_t view,
                      const crn_decoded_defect *chosen[LABELS_MAX + 1])
{
    int32_t count = 0;
    for (uint32_t i = 0; i < verdict->defect_count; i++) {
        const crn_decoded_defect *defect = &verdict->defects[i];
        if (defect->view != view || defect->hole || !(defect->area_px >= LABEL_AREA_PX))
            continue;
        chosen[count++] = defect;
        qsort(chosen, (size_t)count, sizeof *chosen, by_area);
        if (count > LABELS_MAX)
            count = LABELS_MAX;
    }
    return count;
}

void crn_labels_draw(cairo_t *cairo, const crn_decoded *verdict, int32_t view, crn_palette *palette,
                     double scale, double width, double height)
{
    label_layout layout = {
        .verdict = verdict, .frame = {0, 0, width, height}, .scale = scale, .count = 1};
    char text[CRN_DECODED_TEXT_BYTES + 16];
    snprintf(text, sizeof text, "view %d", view);
    layout.placed[0] = (rect){6, 6, text_width(cairo, text), LABEL_HEIGHT};
    draw_label(cairo, &layout.placed[0], text, (crn_color){0.85, 0.86, 0.88});

    const crn_decoded_defect *chosen[LABELS_MAX + 1];
    int32_t count = choose(verdict, (uint64_t)view, chosen);
    for (int32_t i = 0; i < count; i++) {
        if (isfinite(chosen[i]->mean_probability))
            snprintf(text, sizeof text, "%s %.2f", chosen[i]->name, chosen[i]->mean_probability);
        else
            snprintf(text, sizeof text, "%s", chosen[i]->name);
        rect *label = &layout.placed[layout.count];
        if (!find_candidate(&layout, chosen[i], text_width(cairo, text), label))
            continue;
        draw_label(cairo, label, text, crn_palette_color(palette, chosen[i]->name));
        layout.count++;
    }
}
