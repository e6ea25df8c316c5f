#include "src/monitor/fruits/kept_maps.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/digits.h"

/* Views of one fruit are copied in that time: a line all of whose fruits are late must not spend
 * its thread on copies. */
#define COPIES_NS (100 * CRN_NS_PER_MS)

/* Only the line's thread fills and empties a place, and only the HTTP thread reads one: each has to
 * find it KEPT. */
enum { PLACE_FREE, PLACE_KEPT, PLACE_READ };

typedef struct place {
    atomic_int state;
    crn_view *view;  /* valid unless FREE */
    uint64_t number; /* order of the views put in; of the line's thread */
} place;

struct crn_kept_maps {
    crn_pool *pool;
    uint64_t added;
    crn_kept_fruit copied; /* the last fruit whose views were copied */
    int64_t copied_ns;     /* since when; 0: none was */
    uint32_t count;
    place places[];
};

int crn_kept_maps_create(uint32_t slots, crn_pool *pool, crn_kept_maps **ret_maps)
{
    crn_kept_maps *maps = calloc(1, sizeof *maps + slots * sizeof maps->places[0]);
    if (!maps)
        return -ENOMEM;
    maps->pool = pool;
    maps->count = slots;
    *ret_maps = maps;
    return 0;
}

void crn_kept_maps_free(crn_kept_maps **maps)
{
    free(*maps);
    *maps = NULL;
}

static bool is_of(const crn_view *view, const crn_kept_fruit *fruit)
{
    return view->header.lane == fruit->lane && view->epoch == fruit->epoch &&
           view->header.fruit == fruit->fruit;
}

static crn_kept_fruit fruit_of(const crn_view *view)
{
    return (crn_kept_fruit){view->header.lane, view->epoch, view->header.fruit};
}

/* True if the place was KEPT; it then has the state `to`. */
static bool take(place *one, int to)
{
    int kept = PLACE_KEPT;
    return atomic_compare_exchange_strong_explicit(&one->state, &kept, to, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* --- the line's thread --- */

static place *find_free(crn_kept_maps *maps)
{
    for (uint32_t i = 0; i < maps->count; i++)
        if (atomic_load_explicit(&maps->places[i].state, memory_order_relaxed) == PLACE_FREE)
            return &maps->places[i];
    return NULL;
}

/* Drops the oldest fruit but `except`; call it when no place is free. */
static void drop_oldest(crn_kept_maps *maps, const crn_kept_fruit *except)
{
    const place *oldest = NULL;
    for (uint32_t i = 0; i < maps->count; i++) {
        const place *one = &maps->places[i];
        if (!is_of(one->view, except) && (!oldest || one->number < oldest->number))
            oldest = one;
    }
    if (!oldest)
        return;
    crn_kept_fruit dropped = fruit_of(oldest->view);
    for (uint32_t i = 0; i < maps->count; i++) {
        place *one = &maps->places[i];
        if (is_of(one->view, &dropped) && take(one, PLACE_FREE))
            crn_pool_release(maps->pool, one->view);
    }
}

/* A free place for a view of this fruit, or NULL. */
static place *make_room(crn_kept_maps *maps, const crn_view *view)
{
    crn_kept_fruit fruit = fruit_of(view);
    place *one = find_free(maps);
    if (one)
        return one;
    drop_oldest(maps, &fruit);
    return find_free(maps);
}

static void fill(crn_kept_maps *maps, place *one, crn_view *view)
{
    one->view = view;
    one->number = maps->added++;
    atomic_store_explicit(&one->state, PLACE_KEPT, memory_order_release);
}

void crn_kept_maps_add(crn_kept_maps *maps, crn_view *view)
{
    place *one = make_room(maps, view);
    if (one && crn_pool_set_aside(maps->pool, view))
        fill(maps, one, view);
    else
        crn_pool_release(maps->pool, view);
}

/* False: another fruit's views were copied just before. */
static bool may_copy(crn_kept_maps *maps, const crn_view *view, int64_t now_ns)
{
    if (maps->copied_ns && is_of(view, &maps->copied))
        return true;
    if (maps->copied_ns && now_ns - maps->copied_ns < COPIES_NS)
        return false;
    maps->copied = fruit_of(view);
    maps->copied_ns = now_ns;
    return true;
}

void crn_kept_maps_add_copy(crn_kept_maps *maps, const crn_view *view, int64_t now_ns)
{
    if (!may_copy(maps, view, now_ns))
        return;
    place *one = make_room(maps, view);
    crn_view *copy = one ? crn_pool_copy_aside(maps->pool, view) : NULL;
    if (copy)
        fill(maps, one, copy);
}

/* --- the HTTP thread --- */

static void give_back(place *one)
{
    atomic_store_explicit(&one->state, PLACE_KEPT, memory_order_release);
}

/* The fruit's view of lowest index, at least `first`: READ, or NULL. */
static place *find_view(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first)
{
    place *best = NULL;
    for (uint32_t i = 0; i < maps->count; i++) {
        place *one = &maps->places[i];
        if (!take(one, PLACE_READ))
            continue;
        const crn_view_header *header = &one->view->header;
        bool better = is_of(one->view, fruit) && header->view >= first &&
                      (!best || header->view < best->view->header.view);
        if (better && best)
            give_back(best);
        if (better)
            best = one;
        else
            give_back(one);
    }
    return best;
}

/* Copies the intensity, behind the tensor if that is wanted, too. */
static int copy_view(const crn_view *view, bool tensor, crn_kept_copy *copy)
{
    size_t tensor_bytes = tensor ? view->header.payload_bytes : 0;
    size_t intensity_bytes = crn_wire_intensity_bytes(&view->header);
    size_t size = tensor_bytes + intensity_bytes;
    if (size > copy->capacity) {
        unsigned char *larger = realloc(copy->bytes, size);
        if (!larger)
            return -ENOMEM;
        copy->bytes = larger;
        copy->capacity = size;
    }
    copy->header = view->header;
    copy->arrived_ns = (uint64_t)(crn_realtime_ns() - (crn_now_ns() - view->received_ns));
    copy->size = size;
    if (tensor)
        memcpy(copy->bytes, view->maps, tensor_bytes);
    if (view->intensity)
        memcpy(copy->bytes + tensor_bytes, view->intensity, intensity_bytes);
    return 1;
}

static int copy_next(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first, bool tensor,
                     crn_kept_copy *copy)
{
    place *one = find_view(maps, fruit, first);
    if (!one)
        return 0;
    int r = copy_view(one->view, tensor, copy);
    give_back(one);
    return r;
}

int crn_kept_maps_copy(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first,
                       crn_kept_copy *copy)
{
    return copy_next(maps, fruit, first, true, copy);
}

int crn_kept_maps_copy_photo(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first,
                             crn_kept_copy *copy)
{
    return copy_next(maps, fruit, first, false, copy);
}

/* --- names --- */

/* A number and the character behind it. */
static bool parse_number(const char **text, char end, uint64_t max, uint64_t *ret_value)
{
    return crn_digits_read(text, max, ret_value) && *(*text)++ == end;
}

bool crn_kept_fruit_parse(const char *text, crn_kept_fruit *ret_fruit)
{
    uint64_t lane, epoch, fruit;
    if (!parse_number(&text, '/', UINT32_MAX, &lane) ||
        !parse_number(&text, '/', UINT64_MAX, &epoch) ||
        !parse_number(&text, '\0', UINT64_MAX, &fruit))
        return false;
    *ret_fruit = (crn_kept_fruit){(uint32_t)lane, epoch, fruit};
    return true;
}
