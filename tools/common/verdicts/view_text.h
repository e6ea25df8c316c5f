/* The state of a fruit's views as text, for lines and pictures. */
#ifndef CRN_TOOLS_COMMON_VERDICTS_VIEW_TEXT_H
#define CRN_TOOLS_COMMON_VERDICTS_VIEW_TEXT_H

#include "src/formats/verdict/decode.h"

/* "lost: no_slot", "missing", "refused: class_set", "not_finite in rot (7 values)"; empty for a
 * view judged whole or with what the verdict's own keys say. Returns false if empty. */
#define CRN_VIEW_TEXT_BYTES 192
bool crn_view_text(const crn_decoded_view *view, char text[CRN_VIEW_TEXT_BYTES]);

/*
 * The number received if not all were judged, and the state of the views: "3 received, views 0, 2
 * lost: no_slot, view 3 missing"; empty if all is well. Views with the same state are grouped.
 */
void crn_views_text(const crn_decoded *verdict, char *text, size_t size);

#endif
