#include "tools/common/verdicts/sequence_check.h"
#include "stages/base/buffer/array.h"
#include "stages/base/buffer/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_BYTES  64
#define NAMED_MOST 4 /* up to this many lost ones are listed individually */

typedef struct followed_lane {
    uint64_t lane;
    uint64_t next; /* next expected sequence */
    bool begun;    /* seen in this run */
} followed_lane;

struct crn_sequence_check {
    char run[RUN_BYTES];
    followed_lane *lanes; /* few, hence linear search */
    crn_sequence_check_stats stats;
};

int crn_sequence_check_create(crn_sequence_check **ret_follow)
{
    crn_sequence_check *follow = calloc(1, sizeof *follow);
    if (!follow)
        return -ENOMEM;
    *ret_follow = follow;
    return 0;
}

void crn_sequence_check_free(crn_sequence_check **follow)
{
    if (!*follow)
        return;
    free((*follow)->lanes);
    free(*follow);
    *follow = NULL;
}

bool crn_sequence_check_run(crn_sequence_check *follow, const char *run)
{
    if (follow->stats.runs && !strncmp(follow->run, run, RUN_BYTES - 1))
        return false;
    snprintf(follow->run, sizeof follow->run, "%s", run);
    for (size_t i = 0; i < follow->stats.lanes; i++)
        follow->lanes[i].begun = false;
    return follow->stats.runs++ > 0;
}

static followed_lane *find_lane(crn_sequence_check *follow, uint64_t number, bool add)
{
    for (size_t i = 0; i < follow->stats.lanes; i++)
        if (follow->lanes[i].lane == number)
            return &follow->lanes[i];
    if (!add)
        return NULL;
    if (crn_array_grow(&follow->lanes, follow->stats.lanes, sizeof *follow->lanes) < 0)
        return NULL;
    followed_lane *lane = &follow->lanes[follow->stats.lanes++];
    *lane = (followed_lane){.lane = number};
    return lane;
}

int crn_sequence_check_resume(crn_sequence_check *follow, const char *run, uint64_t lane_number,
                              uint64_t next)
{
    crn_sequence_check_run(follow, run);
    followed_lane *lane = find_lane(follow, lane_number, true);
    if (!lane)
        return -ENOMEM;
    lane->begun = true;
    lane->next = next;
    return 0;
}

crn_sequence_finding crn_sequence_check_verdict(crn_sequence_check *follow, uint64_t lane_number,
                                                uint64_t sequence, uint64_t *ret_first)
{
    followed_lane *lane = find_lane(follow, lane_number, true);
    if (!lane)
        return CRN_FOLLOWED_FIRST;
    if (lane->begun && sequence < lane->next) {
        follow->stats.old++;
        return CRN_FOLLOWED_OLD;
    }
    uint64_t lost = lane->begun ? sequence - lane->next : 0;
    crn_sequence_finding followed = !lane->begun ? CRN_FOLLOWED_FIRST
                                    : lost       ? CRN_FOLLOWED_GAP
                                                 : CRN_FOLLOWED_NEXT;
    if (lost)
        *ret_first = lane->next;
    follow->stats.lost += lost;
    lane->begun = true;
    lane->next = sequence + 1;
    return followed;
}

bool crn_sequence_check_last(crn_sequence_check *follow, uint64_t lane_number, uint64_t sequence,
                             uint64_t *ret_first)
{
    followed_lane *lane = find_lane(follow, lane_number, false);
    if (!lane || !lane->begun || sequence < lane->next)
        return false;
    *ret_first = lane->next;
    follow->stats.lost += sequence - lane->next + 1;
    lane->next = sequence + 1;
    return true;
}

const crn_sequence_check_stats *crn_sequence_check_get_stats(const crn_sequence_check *follow)
{
    return &follow->stats;
}

void crn_sequence_check_name_gap(uint64_t first, uint64_t last, char *text, size_t size)
{
    if (last - first >= NAMED_MOST) {
        snprintf(text, size, "%" PRIu64 " to %" PRIu64, first, last);
        return;
    }
    crn_text list = crn_text_in(text, size);
    for (uint64_t i = first; i <= last; i++)
        crn_text_add(&list, "%s%" PRIu64, i > first ? ", " : "", i);
}
