/* The search for the highest rate that is kept up with, in bounded time. */
#ifndef CRN_TOOLS_BENCH_LINE_SEARCH_H
#define CRN_TOOLS_BENCH_LINE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Lowest rate tried: below it a fruit's views would be further apart than assemble_ms. */
#define CRN_SEARCH_RATE_MIN 4.0
#define CRN_SEARCH_RATE_MAX 1e5

/* The rate is known when the lowest one that failed is at most so much above it. */
#define CRN_SEARCH_PRECISION 1.05

typedef struct crn_search_trial {
    /* One run at a rate: 1 if it was kept up with, 0 if not, a negative errno ends the search. */
    int (*keeps_up)(void *context, double rate);
    int64_t (*now_ns)(void *context);
    void *context;
} crn_search_trial;

typedef struct crn_search_result {
    double rate;  /* the highest one that was kept up with; 0: none */
    double above; /* the lowest one that was not; 0: none */
    bool timely;  /* false: time ran out before `above` was within CRN_SEARCH_PRECISION */
} crn_search_result;

/*
 * Begins near `guess`, the rate that a run without a pace had, and brackets from there. No run
 * begins after until_ns. 0, or the errno of a run.
 */
int crn_search(const crn_search_trial *trial, double guess, int64_t until_ns,
               crn_search_result *ret_result);

#endif
