/*
 * Where the belt is: a counter's readings against time. It reads no clock and does no I/O. All
 * times are of CLOCK_MONOTONIC, all positions in ticks.
 */
#ifndef CRN_TOOLS_SORTER_BELT_BELT_H
#define CRN_TOOLS_SORTER_BELT_BELT_H

#include <stdbool.h>
#include <stdint.h>

#define CRN_BELT_HISTORY 512 /* readings: 2.5 s of one every 5 ms */

typedef struct crn_belt_plan {
    int32_t bits;       /* width of the counter, 16 to 64: it wraps around there */
    double speed_max;   /* ticks per second in either direction; what is faster is a jump */
    int64_t stop_ns;    /* shortest time from that speed to standstill */
    int64_t age_max_ns; /* the position is unknown so long after the last reading */
} crn_belt_plan;

/* A reading of the counter: `tick` at time_ns, give or take uncertain_ns. */
typedef struct crn_belt_reading {
    uint64_t tick;
    int64_t time_ns, uncertain_ns;
} crn_belt_reading;

typedef struct crn_belt_stats {
    uint64_t readings, late, refused, jumps, silences;
} crn_belt_stats;

/* A reading; the position is its tick, continued beyond the counter's width. */
typedef struct crn_belt_point {
    int64_t time_ns, uncertain_ns, position;
} crn_belt_point;

/* The position as a line: valid from the last reading on, until the belt's age_max_ns after it. */
typedef struct crn_belt_motion {
    int64_t time_ns;
    double position; /* at time_ns */
    double speed;    /* ticks per second */
} crn_belt_motion;

typedef struct crn_belt {
    crn_belt_plan plan;
    crn_belt_point history[CRN_BELT_HISTORY]; /* ring; times ascend */
    uint64_t count;                           /* of this epoch, so far */
    crn_belt_motion motion;
    crn_belt_point suspect; /* contradicts those before it; the next reading tells */
    bool has_suspect;
    uint64_t epoch; /* positions of two epochs have nothing to do with each other */
    crn_belt_stats stats;
} crn_belt;

void crn_belt_init(crn_belt *belt, const crn_belt_plan *plan);

/* Takes a reading. One that is not later than the last is passed over. One that the belt cannot
 * have reached makes the position unknown until the next: if that agrees with the readings before,
 * it was a false one; otherwise the counter jumped, and a new epoch begins. So it does after a
 * silence of more than age_max_ns: the counter may have been reset meanwhile. */
void crn_belt_read(crn_belt *belt, const crn_belt_reading *reading);

/* The motion at now_ns; false if it is unknown: no two readings, the last one too old, or in
 * contradiction to those before. */
bool crn_belt_get_motion(const crn_belt *belt, int64_t now_ns, crn_belt_motion *ret_motion);

/* True if the last reading is older than age_max_ns, or there is none. */
bool crn_belt_is_silent(const crn_belt *belt, int64_t now_ns);

/* True if the position becomes known with the next reading: an epoch has begun with one reading. */
bool crn_belt_is_beginning(const crn_belt *belt, int64_t now_ns);

/* The position that a motion has at a time. */
double crn_belt_at(const crn_belt_motion *motion, int64_t time_ns);

/*
 * The position of a counter's tick that was read at about time_ns by another program (the camera's)
 * from the same counter. False if the belt was not observed then, or somewhere else.
 */
bool crn_belt_locate(const crn_belt *belt, uint64_t tick, int64_t time_ns, int64_t *ret_position);

#endif
