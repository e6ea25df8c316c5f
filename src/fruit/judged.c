#include "src/fruit/judged.h"

#include <errno.h>
#include <stdlib.h>

struct crn_judged {
    uint32_t capacity, next; /* `next` is the oldest once all are in use */
    uint32_t mask;           /* of `index` */
    uint32_t *index;         /* open addressing by number: place in `fruits` + 1; 0 is empty */
    crn_judged_fruit *fruits;
};

static uint32_t index_size(int32_t capacity)
{
    uint32_t size = 4;
    while (size < 2 * (uint32_t)capacity)
        size *= 2;
    return size;
}

size_t crn_judged_bytes(int32_t capacity)
{
    return (size_t)capacity * sizeof(crn_judged_fruit) + index_size(capacity) * sizeof(uint32_t);
}

int crn_judged_create(int32_t capacity, crn_judged **ret_judged)
{
    crn_judged *judged = calloc(1, sizeof *judged);
    if (!judged)
        return -ENOMEM;
    uint32_t size = index_size(capacity);
    judged->capacity = (uint32_t)capacity;
    judged->mask = size - 1;
    judged->index = calloc(size, sizeof *judged->index);
    judged->fruits = calloc((size_t)capacity, sizeof *judged->fruits);
    if (!judged->index || !judged->fruits) {
        crn_judged_free(&judged);
        return -ENOMEM;
    }
    *ret_judged = judged;
    return 0;
}

void crn_judged_free(crn_judged **judged)
{
    if (!judged || !*judged)
        return;
    free((*judged)->index);
    free((*judged)->fruits);
    free(*judged);
    *judged = NULL;
}

/* --- the index: from a fruit's number to its place -------------------------------------------- */

static uint32_t home_of(const crn_judged *judged, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint64_t mixed = fruit * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32 ^ epoch) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 32 ^ lane) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(mixed >> 32) & judged->mask;
}

/* Position in the index of that fruit, or the empty one where it belongs. */
static uint32_t index_of(const crn_judged *judged, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint32_t at = home_of(judged, lane, epoch, fruit);
    for (; judged->index[at]; at = (at + 1) & judged->mask) {
        const crn_judged_fruit *found = &judged->fruits[judged->index[at] - 1];
        if (found->fruit == fruit && found->epoch == epoch && found->lane == lane)
            break;
    }
    return at;
}

/* Removes a fruit by backward-shift deletion (linear probing). */
static void forget(crn_judged *judged, crn_judged_fruit *fruit)
{
    if (!fruit->known)
        return;
    fruit->known = false;
    uint32_t mask = judged->mask;
    uint32_t gap = index_of(judged, fruit->lane, fruit->epoch, fruit->fruit);
    for (uint32_t at = (gap + 1) & mask; judged->index[at]; at = (at + 1) & mask) {
        const crn_judged_fruit *moved = &judged->fruits[judged->index[at] - 1];
        uint32_t home = home_of(judged, moved->lane, moved->epoch, moved->fruit);
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        judged->index[gap] = judged->index[at];
        gap = at;
    }
    judged->index[gap] = 0;
}

crn_judged_fruit *crn_judged_find(crn_judged *judged, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint32_t found = judged->index[index_of(judged, lane, epoch, fruit)];
    return found ? &judged->fruits[found - 1] : NULL;
}

bool crn_judged_remember(crn_judged *judged, const crn_judged_fruit *fruit, int64_t straggler_ns)
{
    crn_judged_fruit *before = crn_judged_find(judged, fruit->lane, fruit->epoch, fruit->fruit);
    /* What came after the former verdict may have been the first views of this fruit. */
    uint64_t stragglers = before ? before->stragglers : 0;
    if (before)
        forget(judged, before);
    crn_judged_fruit *place = &judged->fruits[judged->next];
    bool too_soon = place->known && fruit->judged_ns - place->judged_ns < straggler_ns;
    forget(judged, place);
    *place = *fruit;
    place->came |= stragglers;
    place->known = true;
    judged->index[index_of(judged, fruit->lane, fruit->epoch, fruit->fruit)] = judged->next + 1;
    judged->next = (judged->next + 1) % judged->capacity;
    return !too_soon;
}

/* --- decisions -------------------------------------------------------------------------------- */

bool crn_judged_is_near(const crn_judged_fruit *fruit, const crn_view_header *header,
                        int64_t straggler_ns, bool otherwise)
{
    uint64_t a = fruit->captured_ns, b = crn_wire_captured_ns(header);
    return a > 0 && b > 0 ? (a > b ? a - b : b - a) <= (uint64_t)straggler_ns : otherwise;
}

static crn_judged_look straggle(crn_judged_fruit *fruit, uint64_t bit)
{
    fruit->stragglers |= bit & ~fruit->came;
    fruit->came |= bit;
    return CRN_JUDGED_STRAGGLER;
}

/* Whether the view may be one more of the fruit that took the number too early. */
static bool is_of_again(const crn_judged_fruit *fruit, uint64_t bit, int64_t age_ns,
                        int64_t assemble_ns)
{
    return fruit->again && !(fruit->again & bit) &&
           age_ns - fruit->again_ms * CRN_NS_PER_MS <= assemble_ns;
}

crn_judged_look crn_judged_view(crn_judged_fruit *fruit, const crn_view_header *header, bool is_new,
                                const crn_judged_times *times)
{
    int64_t straggler_ns = times->straggler_ns;
    uint64_t bit = UINT64_C(1) << (header->view & 63);
    bool had = fruit->came & bit,
         timed = fruit->captured_ns > 0 && crn_wire_captured_ns(header) > 0;
    bool near = crn_judged_is_near(fruit, header, straggler_ns, false);
    int64_t age_ns = times->now_ns - fruit->judged_ns;
    if (age_ns > CRN_JUDGED_KEEP_NS)
        return CRN_JUDGED_RETURNS;
    if (age_ns > straggler_ns) {
        bool returns = had ? is_new || (timed && !near) : timed && !near;
        if (!returns)
            return straggle(fruit, bit);
        if (!is_of_again(fruit, bit, age_ns, times->assemble_ns))
            return CRN_JUDGED_RETURNS;
        fruit->again |= bit;
        return CRN_JUDGED_EARLY_TOO;
    }
    if (!had || !(timed ? header->captured_ns > fruit->captured_ns : is_new))
        return straggle(fruit, bit);
    bool another = fruit->again == 0 || fruit->again & bit;
    fruit->again = another ? bit : fruit->again | bit;
    if (another)
        fruit->again_ms = (uint32_t)(age_ns / CRN_NS_PER_MS) & INT32_MAX;
    return another ? CRN_JUDGED_EARLY : CRN_JUDGED_EARLY_TOO;
}
