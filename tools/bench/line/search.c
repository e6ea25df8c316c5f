#include "tools/bench/line/search.h"

/* A run without a pace loses what a paced one must not: begin a little below its rate. */
#define FIRST_SHARE 0.8

static double within_limits(double rate)
{
    if (rate < CRN_SEARCH_RATE_MIN)
        return CRN_SEARCH_RATE_MIN;
    return rate > CRN_SEARCH_RATE_MAX ? CRN_SEARCH_RATE_MAX : rate;
}

/* The next rate to try; 0 if the result is known. */
static double choose(const crn_search_result *known, double guess)
{
    if (!known->rate && !known->above)
        return within_limits(FIRST_SHARE * guess);
    if (!known->rate)
        return known->above > CRN_SEARCH_RATE_MIN ? within_limits(known->above / 2) : 0;
    if (!known->above && known->rate < guess)
        return within_limits(guess);
    if (!known->above)
        return known->rate < CRN_SEARCH_RATE_MAX ? within_limits(2 * known->rate) : 0;
    return known->above > CRN_SEARCH_PRECISION * known->rate ? (known->rate + known->above) / 2 : 0;
}

int crn_search(const crn_search_trial *trial, double guess, int64_t until_ns,
               crn_search_result *ret_result)
{
    crn_search_result known = {.timely = true};
    for (;;) {
        double rate = choose(&known, guess);
        if (rate > 0 && trial->now_ns(trial->context) >= until_ns) {
            known.timely = false;
            rate = 0;
        }
        if (rate == 0) {
            *ret_result = known;
            return 0;
        }
        int r = trial->keeps_up(trial->context, rate);
        if (r < 0)
            return r;
        if (r)
            known.rate = rate;
        else
            known.above = rate;
    }
}
