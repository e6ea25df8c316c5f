/*
 * How a fruit has turned from view to view, and all around: where its last view shows what its
 * first one does, the turn between these closes a loop. What is left over there is shared out to
 * all turns by how sure they are.
 */
#include <math.h>

#include "stages/surface/turn/turn.h"

/* The roll from the last view to the first is looked for where both have so much in common: with
 * less, skins match by chance, and unlike a roll to the next view it is not needed. */
#define CLOSING_MAX_RAD (110 * M_PI / 180)

/* The confidence that an expected roll counts as: it is off by 5 degrees, a found one by a tenth of
 * a degree, divided by its confidence. */
#define EXPECTED_AS 0.02

static bool is_sure(const crn_surface_roll *roll)
{
    return roll->confidence >= CRN_SURFACE_ROLL_SURE;
}

/* Finds the roll between two skins; the expected one where it is not sure, which may be NAN. */
static void find_roll(crn_surface *surface, const crn_surface_turning *before,
                      crn_surface_turning *view, double range_rad)
{
    double expected = view->expected_rad;
    bool any = isnan(expected);
    if (before->skin && view->skin)
        (void)crn_surface_match_skins(surface, before->skin, view->skin, any ? 0 : expected,
                                      any ? M_PI : range_rad, &view->roll);
    if (!is_sure(&view->roll))
        view->roll.roll_rad = expected;
}

/* Finds the roll from the last view to the first. One other roll may be unknown: then this tells
 * it. */
static void find_closing(crn_surface *surface, crn_surface_turning *views, int32_t count,
                         double range_rad)
{
    crn_surface_turning *first = &views[0], *unknown = NULL;
    double sum = 0;
    first->roll = (crn_surface_roll){0, 0};
    for (int32_t i = 1; i < count; i++) {
        if (isnan(views[i].roll.roll_rad))
            unknown = &views[i];
        else
            sum += views[i].roll.roll_rad;
    }
    first->expected_rad = unknown ? NAN : remainder(-sum, 2 * M_PI);
    if (count < 3 || fabs(first->expected_rad) > CLOSING_MAX_RAD)
        return;
    find_roll(surface, &views[count - 1], first, range_rad);
    if (unknown && is_sure(&first->roll) && fabs(first->roll.roll_rad) <= CLOSING_MAX_RAD)
        unknown->roll.roll_rad = remainder(-sum - first->roll.roll_rad, 2 * M_PI);
}

/* Whether some skins beside each other do not tell a roll: the axis may wobble. */
static bool may_wobble(const crn_surface_turning *views, int32_t count)
{
    bool may = false;
    for (int32_t i = 1; i < count; i++) {
        if (isnan(views[i].expected_rad))
            return false;
        may |= views[i - 1].skin && views[i].skin && !is_sure(&views[i].roll);
    }
    return may;
}

/* The turn from the view before: by three angles if that is surer than the roll alone. */
static crn_turn find_turn(const crn_surface_turning *before, crn_surface_turning *view,
                          double range_rad)
{
    double confidence = 0;
    crn_turn turn = crn_turn_none;
    if (before->skin && view->skin)
        turn = crn_turn_match(before->skin, view->skin, view->expected_rad, range_rad, &confidence);
    if (confidence < CRN_SURFACE_ROLL_SURE || confidence <= view->roll.confidence)
        return crn_turn_by(0, view->roll.roll_rad, 0);
    view->roll.confidence = confidence;
    return turn;
}

/* A variance, up to a factor. */
static double variance_of(const crn_surface_roll *roll)
{
    double confidence = is_sure(roll) ? roll->confidence : EXPECTED_AS;
    return 1 / (confidence * confidence);
}

/* Shares out by how much the turns from view to view and `closing`, from the last to the first, are
 * no full turn. `turns` are from each view to the first. */
static void close_loop(crn_surface_turning *views, int32_t count, const crn_turn *closing,
                       crn_turn *turns)
{
    crn_turn back = crn_turn_transposed(&turns[count - 1]);
    crn_turn off = crn_turn_product(closing, &back);
    crn_surface_turning *only = NULL; /* the view whose turn alone is not sure */
    double axis[3], all = 0, so_far = 0, least = 1;
    int32_t unsure = 0;
    crn_turn_axis(&off, axis);
    for (int32_t i = 0; i < count; i++) {
        all += variance_of(&views[i].roll);
        if (is_sure(&views[i].roll)) {
            least = fmin(least, views[i].roll.confidence);
        } else {
            unsure++;
            only = &views[i];
        }
    }
    for (int32_t i = 1; i < count; i++) {
        so_far += variance_of(&views[i].roll) / all;
        crn_turn moved = crn_turn_by(so_far * axis[0], so_far * axis[1], so_far * axis[2]);
        turns[i] = crn_turn_product(&moved, &turns[i]);
    }
    if (unsure == 1)
        only->roll.confidence = least;
}

/* Turns all so that the mean of the axes is upright. */
static void set_upright(crn_turn *turns, int32_t count)
{
    double x = 0, y = 0, z = 0;
    for (int32_t i = 0; i < count; i++) {
        x += turns[i].m[0][1];
        y += turns[i].m[1][1];
        z += turns[i].m[2][1];
    }
    double across = hypot(x, z), angle = atan2(across, y);
    if (across == 0)
        return;
    /* From (x, y, z) to (0, 1, 0): about their cross product (-z, 0, x). */
    crn_turn up = crn_turn_by(-z / across * angle, 0, x / across * angle);
    for (int32_t i = 0; i < count; i++)
        turns[i] = crn_turn_product(&up, &turns[i]);
}

/* The view's roll, pitch and tilt, by the turn from it to the fruit. */
static void set_pose(const crn_turn *turn, crn_surface_pose *pose)
{
    const double(*m)[3] = turn->m;
    pose->roll_rad = atan2(-m[0][2], m[2][2]);
    pose->pitch_rad = asin(crn_surface_within(m[1][2], -1, 1));
    pose->tilt_rad = atan2(-m[1][0], m[1][1]);
}

/* Poses of the views; rolls since the first one, not around again. */
static void set_poses(const crn_surface_turning *views, int32_t count, crn_turn *turns)
{
    double first = 0, rolled = 0;
    set_upright(turns, count);
    for (int32_t i = 0; i < count; i++) {
        crn_surface_pose *pose = views[i].pose;
        set_pose(&turns[i], pose);
        first = i == 0 ? pose->roll_rad : first;
        double expected = i > 0 ? rolled + views[i].roll.roll_rad : 0;
        rolled = expected + remainder(pose->roll_rad - first - expected, 2 * M_PI);
        pose->roll_rad = rolled;
    }
}

bool crn_surface_find_turns(crn_surface *surface, crn_surface_turning *views, int32_t count,
                            double range_rad)
{
    crn_turn turns[CRN_SURFACE_VIEWS_MAX] = {crn_turn_none};
    for (int32_t i = 1; i < count; i++)
        if (views[i].roll.confidence == 0)
            find_roll(surface, &views[i - 1], &views[i], range_rad);
    find_closing(surface, views, count, range_rad);
    bool wobbles = may_wobble(views, count);
    for (int32_t i = 1; i < count; i++) {
        if (isnan(views[i].roll.roll_rad))
            return false;
        crn_turn turn = wobbles ? find_turn(&views[i - 1], &views[i], range_rad)
                                : crn_turn_by(0, views[i].roll.roll_rad, 0);
        crn_turn back = crn_turn_transposed(&turn);
        turns[i] = crn_turn_product(&turns[i - 1], &back);
    }
    bool all_around = count > 2 && fabs(views[0].expected_rad) <= CLOSING_MAX_RAD;
    crn_turn closing = wobbles && all_around ? find_turn(&views[count - 1], &views[0], range_rad)
                                             : crn_turn_by(0, views[0].roll.roll_rad, 0);
    if (is_sure(&views[0].roll))
        close_loop(views, count, &closing, turns);
    set_poses(views, count, turns);
    return true;
}
