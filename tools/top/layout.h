/* Draws a daemon's state on a canvas of any size: what matters most first, the rest where there is
 * room. */
#ifndef CRN_TOOLS_TOP_LAYOUT_H
#define CRN_TOOLS_TOP_LAYOUT_H

#include "tools/top/canvas.h"
#include "src/client/daemon_state.h"

/* How the reader is, besides what the daemon says. */
typedef struct crn_top_view {
    const char *endpoint;
    const crn_daemon_state *status; /* NULL: nothing has been received yet */
    double lost_s;                  /* connection lost so long ago; negative: it is there */
    const char *fault;              /* why it is lost, or "" */
    int first_lane;                 /* of those listed */
    bool ascii;                     /* no other characters */
    bool help;                      /* the keys instead of the figures */
} crn_top_view;

void crn_layout(const crn_top_view *view, crn_canvas *canvas);

#endif
