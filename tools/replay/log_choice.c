#include "tools/replay/log_choice.h"

#include <errno.h>
#include <stdlib.h>

#include "src/formats/verdict/decode.h"
#include "tools/common/verdicts/log_fruits.h"
#include "stages/base/buffer/array.h"

typedef struct scan {
    const crn_replay_filter *filter;
    crn_log_epochs epochs;
    crn_log_choice choice; /* epoch: the log's, until all are known */
} scan;

static bool fits(const crn_replay_filter *filter, const crn_decoded *verdict)
{
    return (filter->late && verdict->kind == CRN_VERDICT_LATE) ||
           (filter->partial && verdict->kind == CRN_VERDICT_PARTIAL) ||
           (filter->over_budget && crn_is_over_budget(verdict));
}

static int add(crn_log_choice *choice, const crn_log_fruit *fruit)
{
    if (crn_array_grow(&choice->fruits, choice->count, sizeof *choice->fruits) < 0)
        return -ENOMEM;
    choice->fruits[choice->count++] =
        (crn_replay_fruit){(uint32_t)fruit->lane, fruit->epoch, fruit->fruit};
    return 0;
}

static int visit(void *context, const crn_log_fruit *fruit, const crn_messagepack_json *packed,
                 const crn_logged_verdict *logged)
{
    scan *s = context;
    crn_decoded *verdict = NULL;
    crn_error ignored;
    (void)logged;
    int r = crn_log_epochs_add(&s->epochs, fruit->epoch);
    if (!r)
        r = crn_decode_head(packed, &verdict, &ignored);
    if (!r && fruit->lane <= UINT32_MAX && fits(s->filter, verdict))
        r = add(&s->choice, fruit);
    crn_decoded_free(&verdict);
    return r == -EBADMSG ? 0 : r;
}

/* Keeps the fruits of epochs that the recordings have, and their index in the epoch's place. */
static void find_epochs(scan *s)
{
    size_t kept = 0, index;
    size_t before = !s->epochs.as_recorded && s->epochs.logged_count > s->epochs.recorded_count
                        ? s->epochs.logged_count - s->epochs.recorded_count
                        : 0;
    for (size_t i = 0; i < s->choice.count; i++) {
        crn_replay_fruit fruit = s->choice.fruits[i];
        if (!crn_log_epochs_find(&s->epochs, fruit.epoch, &index) || index < before)
            continue;
        fruit.epoch = index - before;
        s->choice.fruits[kept++] = fruit;
    }
    s->choice.count = kept;
    if (kept)
        qsort(s->choice.fruits, kept, sizeof *s->choice.fruits, crn_replay_fruit_compare);
}

int crn_log_choice_read(const crn_replay_filter *filter, const uint64_t *epochs, uint32_t count,
                        crn_log_choice *ret_choice, crn_error *error)
{
    scan s = {.filter = filter, .epochs = {.recorded = epochs, .recorded_count = count}};
    int r = crn_log_visit(filter->log, 0, visit, &s, stderr, error);
    if (!r && !s.choice.count)
        r = crn_error_set(error, -ENODATA, "%s: none of its verdicts is%s%s%s", filter->log,
                          filter->late ? " late" : "",
                          filter->partial ? filter->late ? " or partial" : " partial" : "",
                          !filter->over_budget              ? ""
                          : filter->late || filter->partial ? " or over its budget"
                                                            : " over its budget");
    crn_log_epochs_sort(&s.epochs);
    if (!r)
        find_epochs(&s);
    crn_log_epochs_done(&s.epochs);
    if (r)
        crn_log_choice_done(&s.choice);
    else
        *ret_choice = s.choice;
    return r;
}

void crn_log_choice_done(crn_log_choice *choice)
{
    free(choice->fruits);
    *choice = (crn_log_choice){0};
}

bool crn_log_choice_has(const crn_log_choice *choice, uint32_t lane, uint32_t epoch_index,
                        uint64_t fruit)
{
    crn_replay_fruit like = {lane, epoch_index, fruit};
    return choice->count &&
           bsearch(&like, choice->fruits, choice->count, sizeof like, crn_replay_fruit_compare);
}
