/* Means over rectangles: of the ranklets around a defect, for example. */
#include "stages/context.h"

int crn_mean_boxes(crn_context *context, const crn_image *in, const crn_boxes *boxes,
                   crn_box_mean *means)
{
    crn_pace pace = crn_pace_start(context);
    for (uint32_t i = 0; i < boxes->count; i++) {
        crn_box box = boxes->all[i];
        double sum[3] = {0};
        for (int32_t y = box.y0; y <= box.y1; y++) {
            if (crn_pace_over(&pace, 4 * (int64_t)(box.x1 - box.x0 + 1)))
                return crn_context_status(context);
            const float *row = (const float *)in->data + crn_image_index(in, box.plane, y, box.x0);
            for (int32_t x = 0; x <= box.x1 - box.x0; x++)
                for (int32_t plane = 0; plane < 3; plane++)
                    sum[plane] += (double)row[x * in->step + plane * in->plane_stride];
        }
        double positions = (double)(box.x1 - box.x0 + 1) * (double)(box.y1 - box.y0 + 1);
        for (int32_t plane = 0; plane < 3; plane++)
            means[i].of[plane] = (float)(sum[plane] / positions);
    }
    return crn_context_status(context);
}
