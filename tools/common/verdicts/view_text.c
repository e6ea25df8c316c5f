#include "tools/common/verdicts/view_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/append_text.h"

__attribute__((format(printf, 4, 5))) static void append(char *text, size_t size, size_t *used,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    crn_append_text(text, size, used, format, arguments);
    va_end(arguments);
}

bool crn_view_text(const crn_decoded_view *view, char text[CRN_VIEW_TEXT_BYTES])
{
    size_t used = 0;
    bool judged = crn_decoded_view_is(view, "judged");
    *text = '\0';
    if (!judged)
        snprintf(text, CRN_VIEW_TEXT_BYTES, "%s%s%s", view->state, *view->reason ? ": " : "",
                 view->reason);
    else if (strcmp(view->reason, "truncated") != 0 && strcmp(view->reason, "skipped") != 0)
        used = (size_t)snprintf(text, CRN_VIEW_TEXT_BYTES, "%s%s%s", view->reason,
                                *view->name ? " in " : "", view->name);
    if (judged && view->count)
        append(text, CRN_VIEW_TEXT_BYTES, &used, " (%" PRIu64 " value%s)", view->count,
               view->count == 1 ? "" : "s");
    return *text;
}

void crn_views_text(const crn_decoded *verdict, char *text, size_t size)
{
    size_t used = 0;
    bool told[CRN_FRUIT_VIEWS_MAX] = {false};
    *text = '\0';
    if (verdict->views_received != verdict->views_judged)
        append(text, size, &used, "%" PRIu64 " received", verdict->views_received);
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        char fate[CRN_VIEW_TEXT_BYTES], other[CRN_VIEW_TEXT_BYTES];
        if (told[i] || !crn_view_text(&verdict->views[i], fate))
            continue;
        char numbers[CRN_FRUIT_VIEWS_MAX * 22];
        size_t numbered = 0;
        uint32_t count = 0;
        for (uint32_t k = i; k < verdict->view_count; k++) {
            if (!crn_view_text(&verdict->views[k], other) || strcmp(fate, other) != 0)
                continue;
            told[k] = true;
            append(numbers, sizeof numbers, &numbered, "%s%" PRIu64, count++ ? ", " : "",
                   verdict->views[k].view);
        }
        append(text, size, &used, "%sview%s %s %s", used ? ", " : "", count == 1 ? "" : "s",
               numbers, fate);
    }
}
