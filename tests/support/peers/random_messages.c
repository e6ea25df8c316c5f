#include "tests/support/peers/bad_messages.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/peers/message_fields.h"

uint64_t crn_message_chance(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return crn_message_chance(state) % bound;
}

static void add_noise(uint64_t *state, crn_message *message, size_t size_max)
{
    size_t part = message->parts;
    crn_message_add(message, below(state, size_max + 1));
    for (size_t i = 0; i < message->part[part].size; i++)
        message->part[part].bytes[i] = (unsigned char)crn_message_chance(state);
}

static void set_edge(uint64_t *state, unsigned char *header)
{
    static const struct {
        unsigned char at, bytes;
    } fields[] = {{4, 2},  {6, 2},  {8, 8},  {16, 8}, {24, 8}, {32, 8},  {40, 8},
                  {48, 8}, {56, 4}, {60, 2}, {62, 2}, {64, 4}, {68, 4},  {72, 4},
                  {76, 1}, {77, 1}, {80, 8}, {88, 8}, {96, 4}, {104, 4}, {112, 4}};
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     127,
                                     128,
                                     255,
                                     INT16_MAX,
                                     UINT16_MAX,
                                     INT32_MAX,
                                     UINT64_C(1) << 31,
                                     UINT32_MAX,
                                     UINT64_C(1) << 32,
                                     INT64_MAX,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX};
    size_t field = below(state, sizeof fields / sizeof fields[0]);
    unsigned char *at = header + fields[field].at;
    uint64_t value = below(state, 3) ? edges[below(state, sizeof edges / sizeof edges[0])]
                                     : crn_message_get(at, fields[field].bytes) +
                                           (below(state, 2) ? 1 : UINT64_MAX);
    crn_message_put(at, value, fields[field].bytes);
}

/* Makes a message without intensity that of a view in a slot, or of one that got none. */
static void use_slot(uint64_t *state, crn_message *message)
{
    bool none = below(state, 3) == 0;
    message->part[0].bytes[FLAGS] =
        (unsigned char)((message->part[0].bytes[FLAGS] & 8) | (none ? 4 : 2));
    crn_message_resize(message, 1, 0);
    if (none) {
        message->parts = 1;
        free(message->part[1].bytes);
        message->part[1].bytes = NULL;
        return;
    }
    crn_message_resize(message, 1, 24);
    for (int i = 0; i < 24; i++)
        message->part[1].bytes[i] = i / 4 == 3 ? 0 : (unsigned char)crn_message_chance(state);
}

/* Another valid view, though not always within the rules. */
static crn_view_header random_header(uint64_t *state, const crn_view_header *good)
{
    crn_view_header header = *good;
    header.views = (uint16_t)below(state, 6);
    header.view = (uint16_t)below(state, 6);
    header.channels = below(state, 4) ? good->channels : (uint32_t)(1 + below(state, 5));
    crn_message_reshape(&header, (uint32_t)(1 + below(state, 20)), (uint32_t)(1 + below(state, 20)),
                        (crn_type)(1 + below(state, 3)), (crn_layout)(1 + below(state, 2)),
                        below(state, 2));
    if (below(state, 2)) {
        header.flags |= CRN_WIRE_FLAG_POSE;
        header.pose = (crn_wire_pose){(float)below(state, 99), 47, (float)(1 + below(state, 60)),
                                      40, -(float)below(state, 7)};
    }
    return header;
}

void crn_message_make_random(uint64_t *state, const crn_view_header *good,
                             const crn_wire_rules *rules, crn_message *ret_message)
{
    uint64_t kind = below(state, 6);
    if (kind == 0) {
        *ret_message = (crn_message){0};
        for (uint64_t parts = 1 + below(state, 5); parts-- > 0;)
            add_noise(state, ret_message, ret_message->parts ? 300 : 200);
        if (below(state, 2) && ret_message->part[0].size >= 4)
            memcpy(ret_message->part[0].bytes, "CRN1", 4);
    } else if (kind == 1) {
        /* Replaces large ones: filling them would dominate the run time. */
        while (true) {
            crn_message_make_bad(below(state, crn_message_bad_count()), good, rules, ret_message);
            if (ret_message->parts < 2 || ret_message->part[1].size <= rules->max_bytes)
                break;
            crn_message_done(ret_message);
        }
    } else {
        crn_view_header header = random_header(state, good);
        crn_message_make_good(&header, ret_message);
        if (rules->slots && ret_message->parts == 2 && below(state, 3) == 0)
            use_slot(state, ret_message);
        if (kind == 2)
            for (uint64_t flips = 1 + below(state, 4); flips-- > 0;)
                ret_message->part[0].bytes[below(state, CRN_WIRE_HEADER_BYTES)] ^=
                    (unsigned char)(1u << below(state, 8));
        if (kind == 3)
            for (uint64_t edges = 1 + below(state, 3); edges-- > 0;)
                set_edge(state, ret_message->part[0].bytes);
        if (kind == 4)
            crn_message_resize(ret_message, below(state, ret_message->parts), below(state, 400));
    }
    ret_message->name = "random";
}

bool crn_message_is_acceptable(const crn_message *message, const crn_wire_rules *rules)
{
    const unsigned char *h = message->part[0].bytes;
    if (message->part[0].size != 128 || memcmp(h, "CRN1\x80\0", 6) != 0)
        return false;
    bool intensity = h[FLAGS] & 1, slot = h[FLAGS] & 2, none = h[FLAGS] & 4, pose = h[FLAGS] & 8;
    if ((h[FLAGS] & ~8) > (rules->slots ? 5 : 1) || h[FLAGS + 1] ||
        message->parts != (none                 ? 1u
                           : intensity && !slot ? 3u
                                                : 2u))
        return false;
    if (slot && (message->part[1].size != 24 || crn_message_get(message->part[1].bytes + 12, 4)))
        return false;
    for (int i = 0; i < 128; i++)
        if ((i == RESERVED || i == RESERVED + 1 || i >= (pose ? TAIL : POSE)) && h[i])
            return false;
    for (int i = 0; i < 5 && pose; i++) {
        float number;
        uint32_t bits = (uint32_t)crn_message_get(h + POSE + 4 * i, 4);
        memcpy(&number, &bits, sizeof number);
        if (!(number <= 1e6F && number >= -1e6F) || ((i == 2 || i == 3) && number <= 0))
            return false;
    }
    if (h[DTYPE] < 1 || h[DTYPE] > 3 || h[LAYOUT] < 1 || h[LAYOUT] > 2)
        return false;
    /* Sides below 2^31 and an element of 4 bytes stay below 2^95. */
    unsigned __int128 pixels =
        (unsigned __int128)crn_message_get(h + HEIGHT, 4) * crn_message_get(h + WIDTH, 4);
    unsigned __int128 bytes = pixels * crn_message_get(h + CHANNELS, 4) * (1u << (h[DTYPE] - 1));
    if (bytes == 0 || bytes != crn_message_get(h + PAYLOAD, 8))
        return false;
    if (!slot && !none &&
        (bytes != message->part[1].size || (intensity && pixels != message->part[2].size)))
        return false;
    uint64_t view = crn_message_get(h + VIEW, 2), views = crn_message_get(h + VIEWS, 2);
    uint64_t class_set = crn_message_get(h + CLASS_SET, 8);
    return bytes + (intensity ? pixels : 0) <= rules->max_bytes &&
           crn_message_get(h + CHANNELS, 4) == rules->channels &&
           (class_set == 0 || class_set == rules->class_set) && view < rules->views &&
           views <= rules->views && (views == 0 || view < views);
}
