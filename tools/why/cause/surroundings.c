#include "tools/why/cause/surroundings.h"

#include <string.h>

#define USUAL_MIN  3    /* a mean of fewer runs tells nothing */
#define LONG_SHARE 0.25 /* of the time in question: a run that alone explains a wait */

static void add_run(crn_surroundings *around, const crn_decoded *verdict,
                    const crn_timeline_view *view, bool own)
{
    double ms = crn_timeline_ms(view->ended_ns - view->waited_ns);
    bool judged = crn_decoded_view_is(view->said, "judged");
    around->ran += judged;
    around->ran_ms += judged ? ms : 0;
    if (ms <= around->longest_ms)
        return;
    around->longest_ms = ms;
    around->longest_own = own;
    around->longest_on_device = crn_decoded_on_device(view->said);
    around->longest_lane = verdict->lane;
    around->longest_fruit = verdict->fruit;
    around->longest_view = view->said->view;
}

static void add_fruit(crn_surroundings *around, const crn_decoded *verdict,
                      const crn_timeline *timeline)
{
    if (timeline->published_ns >= around->from_ns && timeline->published_ns <= around->to_ns)
        around->published++;
    if (timeline->opened_ns > around->from_ns || timeline->published_ns < around->from_ns)
        return;
    around->open++;
    around->lacking += verdict->views_received < verdict->views_expected;
}

double crn_surroundings_usual_ms(const crn_surroundings *around)
{
    double window_ms = crn_timeline_ms(around->to_ns - around->ran_from_ns);
    bool explains = around->longest_ms >= window_ms * LONG_SHARE;
    return around->ran < USUAL_MIN || explains ? 0 : around->ran_ms / around->ran;
}

void crn_surroundings_add(crn_surroundings *around, const crn_decoded *verdict,
                          const crn_timeline *timeline, bool own, const crn_decoded_view *except)
{
    if (!own)
        add_fruit(around, verdict, timeline);
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        if (!view->received || (own && except && view->said->view == except->view))
            continue;
        if (view->received_ns <= around->from_ns && around->from_ns < view->waited_ns)
            around->waiting++;
        if (!view->began)
            continue;
        around->running += view->waited_ns <= around->from_ns && around->from_ns < view->ended_ns;
        bool began = view->waited_ns <= around->from_ns || view->waited_ns < around->to_ns;
        if (began && around->ran_from_ns < view->ended_ns)
            add_run(around, verdict, view, own);
    }
}
