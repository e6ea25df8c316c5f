/* A camera's scale from a picture of a target, as cernita-calibrate finds it. */
#include <stdio.h>

#include "src/formats/encoding/encoder.h"
#include "tools/workbench/tasks/tasks.h"

static void write_disc(const crn_surface_pose *disc, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "disc");
    crn_encoder_map(encoder, 4);
    crn_encoder_pair_real(encoder, "x", disc->x);
    crn_encoder_pair_real(encoder, "y", disc->y);
    crn_encoder_pair_real(encoder, "rx", disc->rx);
    crn_encoder_pair_real(encoder, "ry", disc->ry);
    crn_encoder_map_end(encoder);
}

static void write_corners(const crn_corners *corners, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "corners");
    crn_encoder_array(encoder, (uint32_t)corners->count);
    for (size_t i = 0; i < corners->count; i++) {
        const crn_corner *corner = &corners->at[i];
        crn_encoder_map(encoder, 4);
        crn_encoder_pair_real(encoder, "x", corner->x);
        crn_encoder_pair_real(encoder, "y", corner->y);
        crn_encoder_pair_unsigned(encoder, "column", (uint64_t)corner->column);
        crn_encoder_pair_unsigned(encoder, "row", (uint64_t)corner->row);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

static int print(const crn_calibration *found, bool is_board)
{
    crn_encoder *encoder;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 4);
    crn_encoder_pair_real(encoder, "mm_per_px", found->mm_per_px);
    crn_encoder_pair_text(encoder, "lines", found->lines);
    crn_encoder_text(encoder, "notes");
    crn_encoder_array(encoder, (uint32_t)found->note_count);
    for (int32_t i = 0; i < found->note_count; i++)
        crn_encoder_text(encoder, found->notes[i]);
    crn_encoder_array_end(encoder);
    if (is_board)
        write_corners(&found->corners, encoder);
    else
        write_disc(&found->disc, encoder);
    crn_encoder_map_end(encoder);
    r = crn_encoder_print(encoder, stdout);
    crn_encoder_free(&encoder);
    return r;
}

int crn_task_calibrate(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_picture picture = {0};
    crn_calibration found = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_picture_read(task->in, &picture, &error);
    if (r == 0)
        r = crn_calibrate(&picture, task->in, &task->target, &found, &error);
    if (r == 0)
        r = print(&found, task->target.pitch_mm > 0);
    crn_calibration_done(&found);
    crn_picture_free(&picture);
    return crn_task_end(r, &error);
}
