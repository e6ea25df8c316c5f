/*
 * The verdicts that a line gave on a replay, compared with those of a recorded run, fruit by fruit.
 *
 * Both are read from verdict logs (publish.log), because nothing else has every verdict: viewers
 * lose some under load, and the grader's socket has one reader. What a log left out shows as a
 * fruit without a verdict.
 *
 * Fruits are paired by lane, fruit and epoch. A replay gives its views an epoch of its own, or
 * several if the recordings have several, in order; so the n-th epoch of a replay stands for the
 * n-th of the recordings. The recorded run is either the one that was recorded, with the
 * recordings' own epochs, or another replay.
 */
#ifndef CRN_TOOLS_REPLAY_EXPECT_EXPECT_H
#define CRN_TOOLS_REPLAY_EXPECT_EXPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/config/config.h"
#include "stages/base/error.h"
#include "tools/common/comparison/report.h"
#include "tools/replay/expect/expect_outlets.h"
#include "tools/common/comparison/difference.h"

typedef struct crn_expect_settings {
    const char *expected, *got; /* folders of verdict logs */
    double tolerance;           /* see crn_difference_find */
    int64_t wait_ms;            /* for the line's next verdict */
    const uint64_t *epochs;     /* of the recordings, by index; must outlive it */
    uint32_t epoch_count;
    uint64_t run_epoch;         /* of the replay's first epoch */
    bool all;                   /* a line per difference, not a summary by class */
    bool whole;                 /* all fruits of the recordings were sent */
    const crn_outlets *outlets; /* by which both runs' verdicts are decided; NULL: they are not */
    crn_comparison_report *report; /* is given each fruit; NULL: none. The caller finishes it */
} crn_expect_settings;

typedef struct crn_expect_result {
    uint64_t fruits;  /* compared */
    uint64_t unequal; /* fruits with a difference, or in one of both runs only */
    uint64_t unsent;  /* fruits of the recorded run that were not sent: not compared */
    crn_difference_counts counts;
    crn_outlet_changes outlets; /* of the fruits compared; each that differs is a difference */
    uint64_t other_recipe;      /* of the unequal fruits; the first one's recipes stand below */
    char recipe_expected[CRN_RECIPE_NAME_BYTES], recipe_got[CRN_RECIPE_NAME_BYTES];
} crn_expect_result;

typedef struct crn_expect crn_expect;

/* Before the first view is sent: checks that both logs are there, and remembers where the line's
 * ends. 0, or a negative errno with one line in *error. */
int crn_expect_open(const char *expected, const char *got, crn_expect **ret_expect,
                    crn_error *error);

/* NULL is allowed. */
void crn_expect_close(crn_expect **expect);

/* A fruit whose first view was sent; epoch: index of its epoch in the replay. 0 or -ENOMEM. */
int crn_expect_sent(crn_expect *expect, uint32_t lane, uint64_t epoch, uint64_t fruit);

/*
 * After the last view: waits for the verdicts, compares, and prints the differences. All were equal
 * if *ret_result has no difference. `give_up` is asked every 50 ms, and ends the waiting when true.
 * 0, or a negative errno with one line in *error.
 */
int crn_expect_run(crn_expect *expect, const crn_expect_settings *settings,
                   bool (*give_up)(void *context), void *context, FILE *out,
                   crn_expect_result *ret_result, crn_error *error);

/* The last lines: how many differ, and what may explain it. */
void crn_expect_print(const crn_expect_settings *settings, const crn_expect_result *result,
                      FILE *out);

#endif
