#include "tools/common/verdicts/view_text.h"

#include <inttypes.h>
#include <string.h>

#include "stages/base/buffer/text.h"

bool crn_view_text(const crn_decoded_view *view, char text[CRN_VIEW_TEXT_BYTES])
{
    crn_text line = crn_text_in(text, CRN_VIEW_TEXT_BYTES);
    bool judged = crn_decoded_view_is(view, "judged");
    if (!judged)
        crn_text_add(&line, "%s%s%s", view->state, *view->reason ? ": " : "", view->reason);
    else if (strcmp(view->reason, "truncated") != 0 && strcmp(view->reason, "skipped") != 0)
        crn_text_add(&line, "%s%s%s", view->reason, *view->name ? " in " : "", view->name);
    if (judged && view->count)
        crn_text_add(&line, " (%" PRIu64 " value%s)", view->count, view->count == 1 ? "" : "s");
    return *text;
}

void crn_views_text(const crn_decoded *verdict, char *text, size_t size)
{
    crn_text line = crn_text_in(text, size);
    bool told[CRN_FRUIT_VIEWS_MAX] = {false};
    if (verdict->views_received != verdict->views_judged)
        crn_text_add(&line, "%" PRIu64 " received", verdict->views_received);
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        char fate[CRN_VIEW_TEXT_BYTES], other[CRN_VIEW_TEXT_BYTES];
        if (told[i] || !crn_view_text(&verdict->views[i], fate))
            continue;
        char bytes[CRN_FRUIT_VIEWS_MAX * 22];
        crn_text numbers = CRN_TEXT_IN(bytes);
        uint32_t count = 0;
        for (uint32_t k = i; k < verdict->view_count; k++) {
            if (!crn_view_text(&verdict->views[k], other) || strcmp(fate, other) != 0)
                continue;
            told[k] = true;
            crn_text_add(&numbers, "%s%" PRIu64, count++ ? ", " : "", verdict->views[k].view);
        }
        crn_text_add(&line, "%sview%s %s %s", line.used ? ", " : "", count == 1 ? "" : "s", bytes,
                     fate);
    }
}
