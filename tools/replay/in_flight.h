/*
 * The fruits that were sent and have no verdict yet, and what became of those that have one, as the
 * line's viewers hear it: how a replay without a pace keeps up with the line, and learns whether
 * the line kept up with it.
 *
 * The line judges a fruit when all its views are in, so a fruit counts from its last view on. By
 * default as many may wait as the line has slots for, less those of the fruits whose views are
 * still being sent, and fewer while verdicts take more than half of their budget.
 */
#ifndef CRN_TOOLS_REPLAY_IN_FLIGHT_H
#define CRN_TOOLS_REPLAY_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/client/keys.h"
#include "stages/base/error.h"
#include "tools/common/options.h"
#include "src/formats/verdict/decode.h"

typedef struct crn_in_flight_settings {
    const char *endpoint; /* the line's publish.viewers.bind */
    const crn_client_keys *keys;
    int64_t wait_ms;    /* for the line's first message, and for its next verdict */
    uint32_t fruits;    /* at most so many without a verdict; 0: as many as suit the line */
    bool limited;       /* false: verdicts are counted, and nothing waits for them */
    uint32_t views_max; /* of a fruit */
    uint32_t open_max;  /* fruits whose views are sent by turns */
    int signals;        /* readable: give up */
} crn_in_flight_settings;

/* A fruit as its verdict names it, and how many views of it were sent. */
typedef struct crn_in_flight_fruit {
    uint32_t lane, views;
    uint64_t epoch, fruit;
} crn_in_flight_fruit;

typedef struct crn_in_flight_result {
    uint64_t complete, partial, late;
    uint64_t unseen;   /* no verdict of theirs came */
    uint64_t lost;     /* fruits that the line did not judge as they were sent */
    uint32_t most;     /* fruits without a verdict at a time */
    char example[256]; /* the first lost one: "lane 0, fruit 3 partial: 3 received, view 1 lost:
                          no_slot" */
} crn_in_flight_result;

typedef struct crn_in_flight crn_in_flight;

/* Connects and waits until the line's viewers hear it. 0; -ECANCELED: given up; or another negative
 * errno with one line in *error. */
int crn_in_flight_open(const crn_in_flight_settings *settings, crn_in_flight **ret_in_flight,
                       crn_error *error);

/* NULL is allowed. */
void crn_in_flight_close(crn_in_flight **in_flight);

/* Prints as the tool's notice which class of the recordings, if they name them, is another one on
 * the line. */
void crn_in_flight_tell_classes(const crn_in_flight *in_flight, const crn_classes *recorded,
                                const crn_tool *tool);

/* Before a fruit's first view: waits until one more may be sent. 0; -ECANCELED: given up;
 * -ETIMEDOUT with *error: no verdict came for wait_ms. */
int crn_in_flight_await_room(crn_in_flight *in_flight, crn_error *error);

/* After a fruit's last view. 0 or -ENOMEM. */
int crn_in_flight_sent(crn_in_flight *in_flight, const crn_in_flight_fruit *fruit);

/* Reads the verdicts that have come. */
void crn_in_flight_read(crn_in_flight *in_flight);

/* After the last fruit: waits for all verdicts. As crn_in_flight_await_room. */
int crn_in_flight_finish(crn_in_flight *in_flight, crn_error *error);

crn_in_flight_result crn_in_flight_get_result(const crn_in_flight *in_flight);

#endif
