#include "src/fruit/lane/senders.h"

#include "stages/base/clock.h"

#define ALIVE_NS       (5 * CRN_NS_PER_S) /* silence after which a sender counts as ended */
#define UNDER_WAY_NS   (CRN_NS_PER_S / 2) /* what was under way at its end has arrived */
#define OVERLAP_NS     (CRN_NS_PER_S / 4) /* two that sent so long at once are not successors */
#define VIEWS_TO_PROVE 4                  /* where capture times do not tell */
#define VIEWS_ALONE    3                  /* before different numbers are told */

crn_sender *crn_senders_find(crn_senders *senders, uint64_t epoch)
{
    if (senders->count > 0 && crn_senders_last(senders)->numbers.epoch == epoch)
        return crn_senders_last(senders);
    for (int32_t i = 0; i < senders->count; i++)
        if (senders->at[i].numbers.epoch == epoch)
            return &senders->at[i];
    return NULL;
}

static void begin(crn_senders *senders, crn_sender *place, const crn_view_header *header,
                  int64_t now_ns)
{
    senders->begun++;
    *place = (crn_sender){.numbers = crn_numbering_begin(header),
                          .key = header->epoch,
                          .order = senders->begun,
                          .proven = senders->begun,
                          .begun_captured_ns = crn_wire_captured_ns(header),
                          .begun_ns = now_ns};
    for (int32_t i = 0; i < senders->count; i++)
        senders->at[i].since = 0;
}

/* A place for a sender: a free one, or that of the one that was silent longest. */
static crn_sender *find_place(crn_senders *senders)
{
    if (senders->count < CRN_SENDERS_MAX)
        return &senders->at[senders->count++];
    crn_sender *place = senders->at;
    for (int32_t i = 1; i < senders->count; i++)
        if (senders->at[i].last_ns < place->last_ns)
            place = &senders->at[i];
    return place;
}

/* --- who is alive beside whom ----------------------------------------------------------------- */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Notes beside which later ones the sender is alive, as it sent this view. */
static void prove(crn_senders *senders, crn_sender *sender, const crn_view_header *header,
                  int64_t now_ns)
{
    for (int32_t i = 0; i < senders->count; i++) {
        const crn_sender *other = &senders->at[i];
        if (other->order <= sender->proven)
            continue;
        int64_t since_ns = now_ns - other->begun_ns;
        bool timed = other->begun_captured_ns > 0 && crn_wire_captured_ns(header) > 0;
        bool later = !timed || header->captured_ns > other->begun_captured_ns;
        if ((since_ns >= UNDER_WAY_NS && later) ||
            (since_ns >= ALIVE_NS && sender->since >= VIEWS_TO_PROVE))
            sender->proven = other->order;
    }
}

static bool are_both_alive(const crn_sender *a, const crn_sender *b, int64_t now_ns)
{
    const crn_sender *first = a->order < b->order ? a : b, *second = first == a ? b : a;
    return first->proven >= second->order && now_ns - first->last_ns < ALIVE_NS &&
           now_ns - second->last_ns < ALIVE_NS;
}

/* Whether both send the same view, and did so at the same time. */
static bool overlap(const crn_sender *a, const crn_sender *b, int64_t now_ns)
{
    return a->indices & b->indices && now_ns - a->last_ns < ALIVE_NS &&
           now_ns - b->last_ns < ALIVE_NS &&
           earlier_of(a->last_ns, b->last_ns) - later_of(a->begun_ns, b->begun_ns) >= OVERLAP_NS;
}

/* Whether the sender sends the same view as one whose fruits are kept under that epoch. */
static bool overlaps_any(const crn_senders *senders, const crn_sender *sender, uint64_t key,
                         int64_t now_ns)
{
    for (int32_t i = 0; i < senders->count; i++) {
        const crn_sender *other = &senders->at[i];
        if (other != sender && other->key == key && overlap(sender, other, now_ns))
            return true;
    }
    return false;
}

/* --- views ------------------------------------------------------------------------------------ */

/* Whether a sender that began later is there, and this one was not seen alive beside it. */
static bool is_superseded(const crn_senders *senders, const crn_sender *sender)
{
    return sender->proven < senders->begun;
}

static void note(crn_senders *senders, crn_sender *sender, const crn_view_header *header,
                 int64_t now_ns)
{
    uint64_t bit = UINT64_C(1) << (header->view & 63);
    bool is_new = !(sender->indices & bit);
    senders->last = (int32_t)(sender - senders->at);
    sender->indices |= bit;
    sender->last_ns = now_ns;
    sender->since += sender->since < UINT32_MAX;
    prove(senders, sender, header, now_ns);
    if (is_new && sender->key != sender->numbers.epoch &&
        overlaps_any(senders, sender, sender->key, now_ns))
        crn_senders_part(senders);
}

bool crn_senders_count(crn_senders *senders, const crn_view_header *header, int64_t now_ns,
                       crn_lane_stats *stats)
{
    crn_sender *sender = crn_senders_find(senders, header->epoch);
    bool is_new = true, is_known = sender;
    bool goes_on = is_known && crn_numbering_count(&sender->numbers, header,
                                                   is_superseded(senders, sender), stats, &is_new);
    stats->restarts += !is_known && senders->count > 0;
    stats->reused += is_known && !goes_on;
    if (!is_known)
        sender = find_place(senders);
    if (!goes_on)
        begin(senders, sender, header, now_ns);
    note(senders, sender, header, now_ns);
    return is_new || !goes_on;
}

crn_sender *crn_senders_beside(crn_senders *senders, int32_t *at, int64_t now_ns)
{
    const crn_sender *sender = crn_senders_last(senders);
    while (*at < senders->count) {
        crn_sender *other = &senders->at[(*at)++];
        if (other != sender && other->key != sender->key && are_both_alive(sender, other, now_ns))
            return other;
    }
    return NULL;
}

/* Whether some sender of the one group sends the same view as one of the other. */
static bool groups_overlap(const crn_senders *senders, uint64_t key, uint64_t other, int64_t now_ns)
{
    for (int32_t i = 0; i < senders->count; i++)
        if (senders->at[i].key == key && overlaps_any(senders, &senders->at[i], other, now_ns))
            return true;
    return false;
}

crn_meeting crn_senders_meet(crn_senders *senders, crn_sender *other, bool shares, int64_t now_ns)
{
    crn_sender *sender = crn_senders_last(senders);
    bool same = groups_overlap(senders, sender->key, other->key, now_ns);
    if (shares && !same) {
        uint64_t key = sender->order < other->order ? sender->key : other->key;
        uint64_t gone = sender->order < other->order ? other->key : sender->key;
        for (int32_t i = 0; i < senders->count; i++)
            if (senders->at[i].key == gone)
                senders->at[i].key = key;
        sender->alone = other->alone = 0;
        return CRN_MEETING_JOINED;
    }
    if (same)
        return shares ? CRN_MEETING_SAME : CRN_MEETING_NONE;
    sender->alone += sender->alone < UINT32_MAX;
    return sender->alone >= VIEWS_ALONE && other->alone >= VIEWS_ALONE ? CRN_MEETING_NUMBER
                                                                       : CRN_MEETING_NONE;
}
