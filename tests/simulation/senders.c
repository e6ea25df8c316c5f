#include "tests/simulation/senders.h"

#include <stdbool.h>
#include <string.h>

#include "src/formats/view/wire.h"
#include "stages/base/clock.h"
#include "stages/stage/classes.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/world.h"

#define SIDE_PX   12
#define CHANNELS  2
#define MAP_BYTES (SIDE_PX * SIDE_PX * CHANNELS)
#define DEFECT_PX 3
#define PER_ROW   2
#define APART_PX  6
#define SHORT_US  800

typedef struct sender {
    const sim_sender_settings *settings;
    sim_connection *connection;
    uint64_t epoch, next_fruit, sequence;
    sim_message *held; /* to be overtaken by the next one */
} sender;

static bool happens(uint32_t once_in)
{
    return once_in && crn_random_once_in(sim_random(), once_in);
}

static int64_t draw_us(int64_t max_us)
{
    return max_us > 0 ? crn_random_below(sim_random(), (uint32_t)max_us) : 0;
}

/* A map with that many squares of defects. */
static void draw_map(uint32_t defects, unsigned char map[MAP_BYTES])
{
    memset(map, 0, MAP_BYTES);
    for (uint32_t i = 0; i < defects; i++)
        for (uint32_t y = 0; y < DEFECT_PX; y++)
            for (uint32_t x = 0; x < DEFECT_PX; x++) {
                uint32_t row = 1 + i / PER_ROW * APART_PX + y,
                         column = 1 + i % PER_ROW * APART_PX + x;
                map[(row * SIDE_PX + column) * CHANNELS + 1] = 255;
            }
}

/* What a network, or a sender of another version, makes of a message: to be refused. */
static void spoil(crn_view_header *header, size_t *map_bytes)
{
    switch (crn_random_below(sim_random(), 3)) {
    case 0:
        header->channels++;
        header->payload_bytes += (uint64_t)SIDE_PX * SIDE_PX;
        break;
    case 1:
        header->class_set = 1;
        break;
    default:
        *map_bytes -= 1;
        break;
    }
}

static sim_message *make_message(const sender *self, uint32_t index, uint16_t view,
                                 uint64_t deadline_ns, uint64_t captured_ns, bool is_bad)
{
    const sim_fruit *it = &sim_w.fruits[index];
    unsigned char bytes[CRN_WIRE_HEADER_BYTES], map[MAP_BYTES];
    size_t map_bytes = sizeof map;
    crn_view_header header = {.sequence = self->sequence,
                              .epoch = it->epoch,
                              .fruit = it->fruit,
                              .captured_ns = captured_ns,
                              .deadline_ns = deadline_ns,
                              .encoder = index + 1,
                              .payload_bytes = MAP_BYTES,
                              .lane = it->lane,
                              .view = view,
                              .views = it->told,
                              .height = SIDE_PX,
                              .width = SIDE_PX,
                              .channels = CHANNELS,
                              .type = CRN_U8,
                              .layout = CRN_HWC};
    if (is_bad)
        spoil(&header, &map_bytes);
    draw_map(sim_defects_of(index, view), map);
    crn_wire_pack(&header, bytes);
    sim_message *message = sim_message_create(CRN_SIM_TAG(index, view, is_bad));
    sim_message_add(message, bytes, sizeof bytes);
    sim_message_add(message, map, map_bytes);
    return message;
}

static void note_lost(int64_t tag)
{
    (void)tag;
    sim_w.counts.lost_before++;
}

static void send_message(sender *self, sim_message *message)
{
    const sim_sender_settings *settings = self->settings;
    int64_t delay_us = draw_us(SHORT_US);
    if (happens(settings->faults.delay))
        delay_us += draw_us(settings->delay_max_us);
    sim_send(self->connection, message, sim_now_ns() + delay_us * CRN_NS_PER_US);
}

static void send_view(sender *self, uint32_t index, uint16_t view, uint64_t deadline_ns,
                      uint64_t captured_ns)
{
    const sim_sender_faults *faults = &self->settings->faults;
    sim_message *overtaken = self->held;
    self->held = NULL;
    if (happens(faults->lose)) {
        sim_w.counts.lost_before++;
    } else {
        if (happens(faults->spoil))
            send_message(self, make_message(self, index, view, deadline_ns, captured_ns, true));
        sim_message *message = make_message(self, index, view, deadline_ns, captured_ns, false);
        if (happens(faults->repeat))
            send_message(self, make_message(self, index, view, deadline_ns, captured_ns, false));
        if (!overtaken && happens(faults->reorder))
            self->held = message;
        else
            send_message(self, message);
    }
    self->sequence++;
    if (overtaken)
        send_message(self, overtaken);
}

static uint32_t add_fruit(sender *self)
{
    uint32_t index = sim_w.fruit_count++;
    const sim_sender_settings *settings = self->settings;
    sim_w.fruits[index] = (sim_fruit){.epoch = self->epoch,
                                      .fruit = self->next_fruit++,
                                      .lane = settings->lane,
                                      .views = settings->views,
                                      .told = settings->views_told ? settings->views : 0};
    return index;
}

/* A header's deadline: soon, now, or just past. */
static uint64_t draw_deadline(void)
{
    int64_t ahead_us = crn_random_between(sim_random(), -5000, 60000);
    return (uint64_t)(sim_realtime_ns() + ahead_us * CRN_NS_PER_US);
}

static void send_fruit(sender *self)
{
    const sim_sender_settings *settings = self->settings;
    uint32_t index = add_fruit(self);
    int32_t stalls_before = happens(settings->faults.stall)
                                ? crn_random_between(sim_random(), 0, settings->views - 1)
                                : -1;
    uint64_t captured_ns = (uint64_t)sim_realtime_ns();
    bool is_hurried = happens(settings->faults.hurry); /* all of its views */
    for (uint16_t view = 0; view < settings->views; view++) {
        if (view == stalls_before)
            sim_sleep_until(sim_now_ns() + draw_us(settings->delay_max_us) * CRN_NS_PER_US);
        uint64_t deadline_ns = is_hurried ? draw_deadline() : 0;
        sim_w.fruits[index].view_deadline_ns[view] = deadline_ns;
        send_view(self, index, view, deadline_ns, captured_ns);
        sim_sleep_until(sim_now_ns() + draw_us(SHORT_US) * CRN_NS_PER_US);
    }
}

/* Starts again: another epoch, and another connection. What it had not sent yet is lost. */
static void restart(sender *self)
{
    if (self->held) {
        note_lost(self->held->tag);
        sim_message_free(self->held);
        self->held = NULL;
    }
    sim_disconnect_sender(self->connection, note_lost);
    sim_sleep_until(sim_now_ns() + draw_us(20000) * CRN_NS_PER_US);
    self->connection = sim_connect_sender();
    self->epoch = crn_random_next(sim_random()) | 1;
    self->sequence = 0;
    if (crn_random_once_in(sim_random(), 2))
        self->next_fruit += UINT64_C(1) << 20;
}

void *sim_run_sender(void *argument)
{
    sender self = {.settings = argument, .connection = sim_connect_sender()};
    self.epoch = crn_random_next(sim_random()) | 1;
    int32_t in_burst = 0;
    for (uint32_t i = 0; i < self.settings->fruits; i++) {
        send_fruit(&self);
        if (happens(self.settings->faults.restart))
            restart(&self);
        if (happens(self.settings->faults.burst))
            in_burst = crn_random_between(sim_random(), 2, 12);
        if (in_burst-- <= 0)
            sim_sleep_until(sim_now_ns() + draw_us(2 * self.settings->interval_us) * CRN_NS_PER_US);
    }
    if (self.held)
        send_message(&self, self.held);
    return NULL;
}
