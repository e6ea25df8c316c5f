/* The line's book of slots: what a reference may name, and what is free again. */
#include "src/ingest/slots/internal.h"

#include <string.h>

#include "stages/base/clock.h"

static crn_slots_ring *find_ring(crn_slots *slots, uint64_t name)
{
    crn_slots_accept_offers(slots); /* its answer may have been quicker than the line's thread */
    for (uint32_t i = 0; i < slots->rings; i++)
        if (crn_slots_is_in_use(&slots->ring[i]) && slots->ring[i].name == name)
            return &slots->ring[i];
    return NULL;
}

/* Checks the reference against the book. */
static crn_wire_fault check(crn_slots *slots, uint32_t number, const crn_slots_reference *reference,
                            crn_slots_ring **ret_ring)
{
    crn_slots_ring *ring = find_ring(slots, reference->ring);
    if (!ring)
        return CRN_WIRE_RING;
    /* What came by the connection was sent before its end, whenever it is read. */
    bool is_refused = number == CRN_SLOTS_ANY_RING ? crn_slots_is_over(slots, ring, crn_now_ns())
                                                   : ring != &slots->ring[number];
    if (is_refused)
        return CRN_WIRE_RING;
    if (reference->slot >= ring->slots)
        return CRN_WIRE_SLOT;
    if (reference->generation != ring->book[reference->slot].generation)
        return CRN_WIRE_GENERATION;
    if (ring->book[reference->slot].in_use)
        return CRN_WIRE_SLOT_IN_USE;
    *ret_ring = ring;
    return CRN_WIRE_OK;
}

crn_wire_fault crn_slots_take(crn_slots *slots, uint32_t ring, const crn_view_header *header,
                              const crn_slots_reference *reference, crn_view **ret_view)
{
    crn_slots_ring *of = NULL;
    crn_wire_fault fault = slots ? check(slots, ring, reference, &of) : CRN_WIRE_RING;
    if (fault)
        return fault;
    uint64_t intensity_bytes = header ? crn_wire_intensity_bytes(header) : 0;
    if (header && crn_slots_view_bytes(header->payload_bytes, intensity_bytes) > of->slot_bytes) {
        crn_slots_free_slot(of, reference->slot);
        return CRN_WIRE_SLOT_SIZE;
    }
    crn_view *view = &of->views[reference->slot];
    of->book[reference->slot].in_use = true;
    of->in_use++;
    bool has_intensity = intensity_bytes > 0 && !view->gpu.maps; /* else once it is copied */
    view->intensity =
        has_intensity ? view->maps + crn_slots_intensity_at(header->payload_bytes) : NULL;
    atomic_store_explicit(&view->gpu.is_copied, false, memory_order_relaxed);
    *ret_view = view;
    return CRN_WIRE_OK;
}

void crn_slots_wake_producers(crn_slots *slots)
{
    const unsigned char byte = CRN_SLOTS_WAKE;
    for (uint32_t i = 0; i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        bool is_owed = ring->owes_wake && crn_slots_is_in_use(ring) && ring->connection >= 0;
        ring->owes_wake = false;
        if (is_owed && send(ring->connection, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            continue; /* the next receive tells why, if it matters */
    }
}

void crn_slots_free_slot(crn_slots_ring *ring, uint32_t slot)
{
    crn_slot_entry *entry = &ring->book[slot];
    *entry = (crn_slot_entry){.generation = entry->generation + 1};
    atomic_store_explicit(&ring->memory.states[slot],
                          crn_slots_word(entry->generation, CRN_SLOTS_FREE), memory_order_release);
    ring->owes_wake = true;
}

bool crn_slots_take_back(crn_slots_ring *ring, uint32_t slot)
{
    crn_slot_entry *entry = &ring->book[slot];
    uint64_t sent = crn_slots_word(entry->generation, CRN_SLOTS_SENT);
    uint64_t next = crn_slots_word(entry->generation + 1, CRN_SLOTS_FREE);
    if (!atomic_compare_exchange_strong_explicit(&ring->memory.states[slot], &sent, next,
                                                 memory_order_release, memory_order_relaxed))
        return false;
    *entry = (crn_slot_entry){.generation = entry->generation + 1};
    ring->owes_wake = true;
    return true;
}

static uint32_t number_of(const crn_slots *slots, uint32_t slot)
{
    return (slot - slots->first_slot) / slots->slots_of_ring;
}

void crn_slots_release(crn_slots *slots, crn_view *view)
{
    crn_slots_ring *ring = &slots->ring[number_of(slots, view->slot)];
    ring->in_use--;
    crn_slots_free_slot(ring, (uint32_t)(view - ring->views));
}

crn_view *crn_slots_at(crn_slots *slots, uint32_t slot)
{
    return &slots->ring[number_of(slots, slot)]
                .views[(slot - slots->first_slot) % slots->slots_of_ring];
}

bool crn_slots_may_hold(const crn_slots *slots, const crn_view *view)
{
    const crn_slots_ring *ring = &slots->ring[number_of(slots, view->slot)];
    return ring->in_use <= ring->slots / 4;
}
