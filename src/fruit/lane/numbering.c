#include "src/fruit/lane/numbering.h"

crn_numbering crn_numbering_begin(const crn_view_header *header)
{
    return (crn_numbering){
        .epoch = header->epoch,
        .first = header->sequence,
        .highest = header->sequence,
        .seen = 1,
        .first_captured_ns = crn_wire_captured_ns(header),
        .latest_captured_ns = crn_wire_captured_ns(header),
    };
}

/* True if this message cannot continue the sequence: its sender restarted. */
static bool begins_again(crn_numbering *numbers, const crn_view_header *header)
{
    uint64_t sequence = header->sequence, captured_ns = crn_wire_captured_ns(header);
    uint64_t latest_ns = numbers->latest_captured_ns;
    uint64_t behind = numbers->highest - sequence;
    bool is_new =
        sequence > numbers->highest || (behind < CRN_LANE_WINDOW && !(numbers->seen >> behind & 1));
    if (captured_ns > latest_ns)
        numbers->latest_captured_ns = captured_ns;
    if (is_new || (captured_ns == 0) != (latest_ns == 0)) {
        numbers->repeats = 0;
        return false;
    }
    if (captured_ns > 0)
        return captured_ns > latest_ns ||
               (sequence == numbers->first && captured_ns != numbers->first_captured_ns);
    bool in_order = sequence == numbers->first + numbers->repeats;
    numbers->repeats = in_order ? numbers->repeats + 1 : sequence == numbers->first;
    return numbers->repeats == CRN_LANE_REPEATS;
}

/* Counts a sequence number that is near the others; returns whether it was not seen before. */
static bool count_near(crn_numbering *numbers, uint64_t sequence, bool of_before,
                       crn_lane_stats *stats)
{
    if (sequence > numbers->highest) {
        uint64_t ahead = sequence - numbers->highest;
        stats->missing += ahead - 1;
        stats->reordered += of_before;
        numbers->seen = ahead < CRN_LANE_WINDOW ? numbers->seen << ahead | 1 : 1;
        numbers->highest = sequence;
        numbers->has_far = false;
        return true;
    }
    uint64_t behind = numbers->highest - sequence;
    if (behind >= CRN_LANE_WINDOW) {
        stats->reordered++;
        return false;
    }
    uint64_t bit = UINT64_C(1) << behind;
    if (numbers->seen & bit) {
        stats->duplicates++;
        return false;
    }
    numbers->seen |= bit;
    stats->reordered++;
    stats->missing -= sequence > numbers->first;
    return true;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* A number far from the others: the sequence goes on there only if a neighbour of it comes next. */
static bool count_far(crn_numbering *numbers, const crn_view_header *header, crn_lane_stats *stats)
{
    uint64_t sequence = header->sequence;
    bool goes_on = numbers->has_far && sequence != numbers->far &&
                   distance(sequence, numbers->far) < CRN_LANE_WINDOW;
    if (goes_on) {
        *numbers = crn_numbering_begin(header);
        return true;
    }
    bool is_new = !numbers->has_far || sequence != numbers->far;
    stats->jumps += is_new;
    numbers->far = sequence;
    numbers->has_far = true;
    return is_new;
}

bool crn_numbering_count(crn_numbering *numbers, const crn_view_header *header, bool of_before,
                         crn_lane_stats *stats, bool *ret_is_new)
{
    uint64_t sequence = header->sequence;
    bool is_far = distance(sequence, numbers->highest) > CRN_LANE_GAP_MAX;
    if (is_far && sequence > numbers->highest) {
        *ret_is_new = count_far(numbers, header, stats);
        return true;
    }
    if (begins_again(numbers, header))
        return false;
    *ret_is_new = is_far ? count_far(numbers, header, stats)
                         : count_near(numbers, sequence, of_before, stats);
    return true;
}
