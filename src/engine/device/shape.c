#include "src/engine/device/shape.h"

#include <stdio.h>

crn_shape crn_shape_of(const crn_view *view)
{
    const crn_view_header *header = &view->header;
    return (crn_shape){(int32_t)header->height,
                       (int32_t)header->width,
                       (int32_t)header->channels,
                       header->type,
                       header->layout,
                       view->config ? view->config->generation : 0};
}

bool crn_shape_same(const crn_shape *a, const crn_shape *b)
{
    return a->height == b->height && a->width == b->width && a->channels == b->channels &&
           a->type == b->type && a->layout == b->layout && a->settings == b->settings;
}

size_t crn_shape_bytes(const crn_shape *shape)
{
    return (size_t)shape->height * (size_t)shape->width * (size_t)shape->channels *
           crn_type_bytes(shape->type);
}

const char *crn_shape_text(const crn_shape *shape, char text[CRN_SHAPE_TEXT])
{
    snprintf(text, CRN_SHAPE_TEXT, "%dx%dx%d %s %s", shape->height, shape->width, shape->channels,
             crn_type_name(shape->type), shape->layout == CRN_CHW ? "CHW" : "HWC");
    return text;
}
