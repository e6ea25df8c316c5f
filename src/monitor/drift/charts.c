#include "src/monitor/drift/charts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fruits with a defect of the class, among those compared with, before anything is compared: then
 * their share is right to 5 %, as a standard deviation. */
#define ENOUGH_FOUND 400

/* While a lane has passed fewer, it may differ by the factor from the others: cameras are not all
 * alike. */
#define ENOUGH_OWN 4096
#define TOLERANCE  1.15

/* Standard deviations of a share by which it may be wrong: outward for that of the lot, inward for
 * the lane's own. */
#define DEVIATIONS     2.5
#define OWN_DEVIATIONS 2

/* Shares of the false alarms that each direction may have. They add up to less than 1, as the usual
 * share is estimated. */
static const double shares[CRN_DRIFT_DIRECTIONS] = {
    [CRN_DRIFT_MORE] = 0.8, [CRN_DRIFT_FEWER] = 0.05};

/* A chart tends to a change that is so many times likelier than none: of lanes that do not change
 * one in fifty does. */
#define TENDING 64

/* A share is never taken for 0 or 1. */
#define LEAST_SHARE 1e-6

/* Fruits of the lot, or settings, of before that may still come: more than can be open. After so
 * many they are those of now. */
#define STRAGGLERS 4096

/* Fruits, and those of them with a defect of a class. */
typedef struct sample {
    uint64_t fruits, found;
} sample;

/* Of a lane. While a chart is raised the fruits since its change are not of the sample, nor of the
 * lot's: what is wrong must not become usual. */
typedef struct lane_class {
    sample sample;
    bool is_compared[CRN_DRIFT_DIRECTIONS];
    double usual[CRN_DRIFT_DIRECTIONS]; /* if it is compared: as far as was known last */
    crn_drift_chart charts[CRN_DRIFT_DIRECTIONS];
    bool is_told[CRN_DRIFT_DIRECTIONS];    /* was raised at the last look, */
    bool is_general[CRN_DRIFT_DIRECTIONS]; /* as a change of the lot */
} lane_class;

typedef struct lane_charts {
    uint32_t number;
    bool is_seen; /* in this lot */
    lane_class classes[CRN_CLASSES_MAX];
} lane_charts;

/* What fruits must have in common to be compared. */
typedef struct origin {
    bool is_known;
    uint64_t settings;
    char lot[CRN_LOT_ID_BYTES];
} origin;

struct crn_drift_charts {
    double fruits; /* of a lane, with one false alarm */
    origin now, before;
    uint32_t stragglers;
    uint64_t looked_for;
    sample samples[CRN_CLASSES_MAX];        /* of the lot, over all lanes */
    lane_charts *outliers[CRN_CLASSES_MAX]; /* the lane that differs most; NULL: none */
    int32_t lanes_seen, lane_count;
    lane_charts lanes[];
};

size_t crn_drift_charts_bytes(int32_t lanes)
{
    return sizeof(crn_drift_charts) + (size_t)lanes * sizeof(lane_charts);
}

int crn_drift_charts_create(int32_t lanes, double fruits, crn_drift_charts **ret_charts)
{
    crn_drift_charts *charts = calloc(1, crn_drift_charts_bytes(lanes));
    *ret_charts = charts;
    if (!charts)
        return -ENOMEM;
    charts->fruits = fruits;
    charts->lane_count = lanes;
    return 0;
}

void crn_drift_charts_free(crn_drift_charts **charts)
{
    free(*charts);
    *charts = NULL;
}

/* --- fruits --- */

static void begin_anew(crn_drift_charts *charts)
{
    charts->lanes_seen = 0;
    memset(charts->samples, 0, sizeof charts->samples);
    memset(charts->outliers, 0, sizeof charts->outliers);
    for (int32_t i = 0; i < charts->lane_count; i++)
        charts->lanes[i].is_seen = false;
}

static bool is_of(const crn_drift_fruit *fruit, const origin *of)
{
    return of->is_known && fruit->settings == of->settings && strcmp(fruit->lot, of->lot) == 0;
}

/* False: the fruit is a straggler of the lot before. */
static bool follow_origin(crn_drift_charts *charts, const crn_drift_fruit *fruit)
{
    if (is_of(fruit, &charts->now))
        return true;
    if (is_of(fruit, &charts->before) && charts->stragglers++ < STRAGGLERS)
        return false;
    charts->before = charts->now;
    charts->now = (origin){.is_known = true, .settings = fruit->settings};
    memcpy(charts->now.lot, fruit->lot, sizeof charts->now.lot);
    charts->stragglers = 0;
    charts->looked_for = fruit->looked_for;
    begin_anew(charts);
    return true;
}

/* The lane of the fruit, emptied if its place was another's. */
static lane_charts *lane_of(crn_drift_charts *charts, const crn_drift_fruit *fruit)
{
    lane_charts *lane = &charts->lanes[fruit->index];
    if (lane->is_seen && lane->number == fruit->lane)
        return lane;
    charts->lanes_seen += !lane->is_seen;
    memset(lane, 0, sizeof *lane);
    lane->number = fruit->lane;
    lane->is_seen = true;
    return lane;
}

static double bounded(double share)
{
    return fmin(fmax(share, LEAST_SHARE), 1 - LEAST_SHARE);
}

static bool is_raised(const lane_class *own)
{
    return own->charts[CRN_DRIFT_MORE].is_raised || own->charts[CRN_DRIFT_FEWER].is_raised;
}

/* The sample without the lane's fruits since its chart began to rise. */
static sample before_change(sample of, const lane_class *own, crn_drift_direction direction)
{
    const crn_drift_chart *chart = &own->charts[direction];
    if (is_raised(own))
        return of; /* it is without these already */
    return (sample){of.fruits - chart->fruits, of.found - chart->found};
}

static double share_of(sample of)
{
    return ((double)of.found + 0.5) / ((double)of.fruits + 1);
}

/* The share, moved by so many of its standard deviations. */
static double moved(sample of, double deviations)
{
    double share = share_of(of);
    return share + deviations * sqrt(share * (1 - share) / ((double)of.fruits + 1));
}

static double farther(double a, double b, double out)
{
    return out * a > out * b ? a : b;
}

/* With and without the lane that differs most: against that one all others differ. */
static double share_of_lot(const crn_drift_charts *charts, const lane_charts *lane, int32_t class,
                           sample lot, double out)
{
    const lane_charts *outlier = charts->outliers[class];
    double share = moved(lot, out * DEVIATIONS);
    if (!outlier || outlier == lane || charts->lanes_seen < 3)
        return share;
    const sample *other = &outlier->classes[class].sample;
    lot.fruits -= other->fruits;
    lot.found -= other->found;
    return farther(share, moved(lot, out * DEVIATIONS), out);
}

/*
 * The usual share of the class on the lane, as far out as it may be: that of the lot. Where the
 * lane's own was always farther out, that: it differs, but does not change. False: too few fruits
 * are known.
 */
static bool find_usual(const crn_drift_charts *charts, const lane_charts *lane, int32_t class,
                       crn_drift_direction direction, double *ret_usual)
{
    const lane_class *of = &lane->classes[class];
    sample lot = before_change(charts->samples[class], of, direction);
    if (lot.found < ENOUGH_FOUND)
        return false;
    double out = direction == CRN_DRIFT_MORE ? 1 : -1;
    double usual = share_of_lot(charts, lane, class, lot, out);
    sample own = before_change(of->sample, of, direction);
    if (own.fruits < ENOUGH_OWN)
        usual *= out > 0 ? TOLERANCE : 1 / TOLERANCE;
    else
        usual = farther(usual, moved(own, -out * OWN_DEVIATIONS), out);
    *ret_usual = bounded(usual);
    return true;
}

/* By the number of charts, so that all together keep the bound. */
static double limit_of(const crn_drift_charts *charts, crn_drift_direction direction)
{
    int classes = __builtin_popcountll(charts->looked_for);
    return charts->fruits * charts->lanes_seen * classes / shares[direction];
}

static void add_trial(sample *sum, bool found)
{
    sum->fruits++;
    sum->found += found;
}

static void take_away(sample *sum, const crn_drift_chart *chart)
{
    sum->fruits -= chart->fruits;
    sum->found -= chart->found;
}

static void add_class(crn_drift_charts *charts, lane_charts *lane, int32_t class, bool found)
{
    lane_class *own = &lane->classes[class];
    bool was_raised = is_raised(own);
    for (crn_drift_direction i = 0; i < CRN_DRIFT_DIRECTIONS; i++) {
        if (find_usual(charts, lane, class, i, &own->usual[i]))
            own->is_compared[i] = true;
        if (own->is_compared[i])
            crn_drift_chart_add(&own->charts[i], i, own->usual[i], limit_of(charts, i), found);
    }
    if (was_raised && !is_raised(own))
        memset(own->charts, 0, sizeof own->charts);
    if (was_raised)
        return;
    add_trial(&own->sample, found);
    add_trial(&charts->samples[class], found);
    for (int i = 0; i < CRN_DRIFT_DIRECTIONS && is_raised(own); i++)
        if (own->charts[i].is_raised) {
            take_away(&own->sample, &own->charts[i]);
            take_away(&charts->samples[class], &own->charts[i]);
            break;
        }
}

void crn_drift_charts_add(crn_drift_charts *charts, const crn_drift_fruit *fruit)
{
    if (fruit->index < 0 || fruit->index >= charts->lane_count || !follow_origin(charts, fruit))
        return;
    lane_charts *lane = lane_of(charts, fruit);
    for (uint64_t left = charts->looked_for; left; left &= left - 1) {
        int32_t class = __builtin_ctzll(left);
        add_class(charts, lane, class, fruit->found >> class & 1);
    }
}

/* --- findings --- */

/* Whether more than half of the lanes tend to this change, or, with `raised`, are raised for it. */
static bool is_of_most(const crn_drift_charts *charts, int32_t class, crn_drift_direction direction,
                       bool raised)
{
    int32_t lanes = 0;
    for (int32_t i = 0; i < charts->lane_count; i++) {
        const crn_drift_chart *chart = &charts->lanes[i].classes[class].charts[direction];
        if (charts->lanes[i].is_seen)
            lanes += raised ? chart->is_raised : chart->since >= TENDING;
    }
    return 2 * lanes > charts->lanes_seen;
}

/* Whether a chart that is raised is told as a change of the lot. That is settled when it is raised:
 * later one of the other lanes may tend to it by chance. */
static bool is_general(const crn_drift_charts *charts, lane_class *own, int32_t class,
                       crn_drift_direction direction)
{
    if (!own->is_told[direction])
        own->is_general[direction] = is_of_most(charts, class, direction, false);
    own->is_told[direction] = true;
    own->is_general[direction] =
        own->is_general[direction] || is_of_most(charts, class, direction, true);
    return own->is_general[direction];
}

/* Replaces a finding by one of stronger evidence. */
typedef struct candidate {
    crn_drift_finding finding;
    double evidence; /* 0: there is none */
} candidate;

static void consider(const crn_drift_charts *charts, const lane_charts *lane, int32_t class,
                     crn_drift_direction direction, int64_t told_lane, candidate *best)
{
    const crn_drift_chart *chart = &lane->classes[class].charts[direction];
    double evidence = crn_drift_chart_evidence(chart) / limit_of(charts, direction);
    if (evidence <= best->evidence)
        return;
    best->evidence = evidence;
    best->finding = (crn_drift_finding){.lane = told_lane,
                                        .class = class,
                                        .fruits = chart->fruits,
                                        .usual = share_of(charts->samples[class]),
                                        .share = (double)chart->found / (double)chart->fruits};
}

/* The lane's strongest finding in *of_lane, and the line's in *of_line. */
static void find_lane(const crn_drift_charts *charts, lane_charts *lane, candidate *of_lane,
                      candidate *of_line)
{
    for (uint64_t left = charts->looked_for; left; left &= left - 1) {
        int32_t class = __builtin_ctzll(left);
        for (crn_drift_direction i = 0; i < CRN_DRIFT_DIRECTIONS; i++) {
            lane_class *own = &lane->classes[class];
            if (!own->charts[i].is_raised) {
                own->is_told[i] = false;
                continue;
            }
            bool general = is_general(charts, own, class, i);
            consider(charts, lane, class, i, general ? -1 : (int64_t)lane->number,
                     general ? of_line : of_lane);
        }
    }
}

/* Of each class the lane that has most fruits too many, or too few. */
static void find_outliers(crn_drift_charts *charts)
{
    for (uint64_t left = charts->looked_for; left; left &= left - 1) {
        int32_t class = __builtin_ctzll(left);
        double usual = share_of(charts->samples[class]), most = 0;
        charts->outliers[class] = NULL;
        for (int32_t i = 0; i < charts->lane_count; i++) {
            const sample *of = &charts->lanes[i].classes[class].sample;
            double apart = fabs((double)of->found - usual * (double)of->fruits);
            if (charts->lanes[i].is_seen && apart > most) {
                most = apart;
                charts->outliers[class] = &charts->lanes[i];
            }
        }
    }
}

void crn_drift_charts_find(crn_drift_charts *charts, crn_drift_findings *ret_findings)
{
    find_outliers(charts);
    candidate of_line = {.evidence = 0};
    ret_findings->count = 0;
    for (int32_t i = 0; i < charts->lane_count; i++) {
        candidate of_lane = {.evidence = 0};
        if (charts->lanes[i].is_seen)
            find_lane(charts, &charts->lanes[i], &of_lane, &of_line);
        if (of_lane.evidence > 0)
            ret_findings->at[ret_findings->count++] = of_lane.finding;
    }
    if (of_line.evidence > 0 && !charts->now.lot[0]) {
        ret_findings->count = 0;
        begin_anew(charts);
    } else if (of_line.evidence > 0) {
        ret_findings->at[ret_findings->count++] = of_line.finding;
    }
}

/* --- levels --- */

static double level_of(const crn_drift_charts *charts, const lane_class *own)
{
    double part = 0;
    for (crn_drift_direction i = 0; i < CRN_DRIFT_DIRECTIONS; i++) {
        double evidence = crn_drift_chart_evidence(&own->charts[i]);
        if (evidence > 1)
            part = fmax(part, log(evidence) / log(limit_of(charts, i)));
    }
    return part;
}

void crn_drift_charts_tell(const crn_drift_charts *charts, crn_drift_told *tell, void *context)
{
    for (int32_t i = 0; i < charts->lane_count; i++)
        for (uint64_t left = charts->lanes[i].is_seen ? charts->looked_for : 0; left;
             left &= left - 1) {
            int32_t class = __builtin_ctzll(left);
            tell(context,
                 &(crn_drift_level){.lane = charts->lanes[i].number,
                                    .class = class,
                                    .part = level_of(charts, &charts->lanes[i].classes[class])});
        }
}
