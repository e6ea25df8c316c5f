#include "src/fruit/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "stages/base/hash_index.h"

struct crn_judged {
    uint32_t capacity, next; /* `next` is the oldest once all are in use */
    crn_hash_index index;    /* of `fruits` by number */
    crn_judged_fruit *fruits;
};

size_t crn_judged_bytes(int32_t capacity)
{
    return (size_t)capacity * sizeof(crn_judged_fruit) + crn_hash_index_bytes((uint32_t)capacity);
}

int crn_judged_create(int32_t capacity, crn_judged **ret_judged)
{
    crn_judged *judged = calloc(1, sizeof *judged);
    if (!judged)
        return -ENOMEM;
    judged->capacity = (uint32_t)capacity;
    judged->fruits = calloc((size_t)capacity, sizeof *judged->fruits);
    if (crn_hash_index_init(&judged->index, judged->capacity) < 0 || !judged->fruits) {
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
    crn_hash_index_done(&(*judged)->index);
    free((*judged)->fruits);
    free(*judged);
    *judged = NULL;
}

static uint32_t hash_of(const void *judged, uint32_t number)
{
    const crn_judged_fruit *fruit = &((const crn_judged *)judged)->fruits[number];
    return crn_fruit_hash(fruit->lane, fruit->epoch, fruit->fruit);
}

static void forget(crn_judged *judged, crn_judged_fruit *fruit)
{
    if (fruit->known)
        crn_hash_index_remove(&judged->index, (uint32_t)(fruit - judged->fruits), hash_of, judged);
    fruit->known = false;
}

crn_judged_fruit *crn_judged_find(crn_judged *judged, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint32_t at = crn_fruit_hash(lane, epoch, fruit), number;
    for (; (number = crn_hash_index_at(&judged->index, at)) != CRN_HASH_INDEX_NONE; at++) {
        crn_judged_fruit *found = &judged->fruits[number];
        if (found->fruit == fruit && found->epoch == epoch && found->lane == lane)
            return found;
    }
    return NULL;
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
    crn_hash_index_add(&judged->index, hash_of(judged, judged->next), judged->next);
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
