#include "src/formats/view/produced_view.h"

crn_producer_view crn_produced_view(const crn_view_header *header)
{
    const crn_wire_pose *pose = &header->pose;
    return (crn_producer_view){
        .sequence = header->sequence,
        .epoch = header->epoch,
        .fruit = header->fruit,
        .captured_ns = header->captured_ns,
        .deadline_ns = header->deadline_ns,
        .encoder = header->encoder,
        .class_set = header->class_set,
        .lane = header->lane,
        .view = header->view,
        .views = header->views,
        .height = header->height,
        .width = header->width,
        .channels = header->channels,
        .type = (crn_producer_type)header->type,
        .layout = (crn_producer_layout)header->layout,
        .has_intensity = crn_wire_intensity_bytes(header) > 0,
        .has_pose = (header->flags & CRN_WIRE_FLAG_POSE) != 0,
        .pose = {pose->x, pose->y, pose->rx, pose->ry, pose->roll_rad},
    };
}
