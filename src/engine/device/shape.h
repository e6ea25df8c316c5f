/* Shapes of views: what views of one batch have in common. */
#ifndef CRN_SRC_ENGINE_DEVICE_SHAPE_H
#define CRN_SRC_ENGINE_DEVICE_SHAPE_H

#include "src/ingest/view.h"

/* The properties of a view that select its graph. */
typedef struct crn_shape {
    int32_t height, width, channels;
    crn_type type;
    crn_layout layout;
    uint32_t settings; /* generation of the settings that it is judged by */
} crn_shape;

crn_shape crn_shape_of(const crn_view *view);
bool crn_shape_same(const crn_shape *a, const crn_shape *b);
size_t crn_shape_bytes(const crn_shape *shape);

/* Buffer size for "95x511x12 f32 HWC": height, width, classes. */
#define CRN_SHAPE_TEXT 64
const char *crn_shape_text(const crn_shape *shape, char text[CRN_SHAPE_TEXT]);

#endif
