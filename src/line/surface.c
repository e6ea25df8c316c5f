/*
 * When fruits are measured. A fruit that has nothing else to wait for is set aside while the thread
 * of surfaces.h measures it, and is due again when that is done. Where its deadline comes first, or
 * no time or place is left, its verdict leaves without measures and says so.
 *
 * A measurement whose fruit was judged meanwhile goes on reading the results of its views, by the
 * fruit's settings: they are released when it is collected.
 */
#include "src/line/internal.h"

#include "stages/base/clock.h"

/* False: there is no time or no place for it. */
static bool begin(crn_line *line, const crn_fruit *fruit, int64_t now_ns)
{
    int64_t end_ns;
    if (!crn_fruits_set_aside(line->fruits, fruit, &end_ns))
        return false;
    if (!crn_surfaces_begin(line->surfaces, fruit, end_ns, now_ns)) {
        crn_fruits_resume(line->fruits, fruit);
        return false;
    }
    line->settings.running[crn_config_slot(fruit->config)]++;
    return true;
}

bool crn_line_measure(crn_line *line, const crn_fruit *fruit, int64_t now_ns)
{
    if (!line->surfaces || !fruit->config || !crn_config_measures(fruit->config) ||
        fruit->judged == 0)
        return false;
    crn_measurement *it = crn_surfaces_find(line->surfaces, fruit);
    if (it && it->done && it->judged != fruit->judged) { /* a view came meanwhile */
        crn_surfaces_release(line->surfaces, it);
        it = NULL;
    }
    if (it && it->done) {
        crn_fruits_set_surface(line->fruits, fruit, &it->packed, it->skipped);
        return false;
    }
    if (!it && begin(line, fruit, now_ns))
        return true;
    crn_surfaces_skip(line->surfaces);
    crn_fruits_set_surface(line->fruits, fruit, NULL, true);
    return false;
}

uint64_t crn_line_leave_measurement(crn_line *line, const crn_fruit *fruit)
{
    uint64_t read = 0;
    crn_measurement *it = line->surfaces ? crn_surfaces_find(line->surfaces, fruit) : NULL;
    if (it && it->done) {
        crn_surfaces_release(line->surfaces, it);
    } else if (it) {
        it->left = true;
        for (int32_t i = 0; i < it->view_count; i++)
            read |= UINT64_C(1) << it->views[i].view;
    }
    return read;
}

void crn_line_collect_measurements(crn_line *line)
{
    crn_measurement *it;
    while (line->surfaces && (it = crn_surfaces_collect(line->surfaces, crn_now_ns()))) {
        line->settings.running[crn_config_slot(it->config)]--;
        if (!it->left) {
            crn_fruits_resume(line->fruits, it->fruit);
            continue;
        }
        for (int32_t i = 0; i < it->view_count; i++)
            crn_result_store_release(line->store, it->views[i].result);
        crn_surfaces_release(line->surfaces, it);
    }
}
