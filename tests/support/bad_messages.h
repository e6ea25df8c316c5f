/*
 * View messages as a line meets them: good ones, each fault of crn_wire_fault in several shapes,
 * and random ones. For the tests of wire and ingest and for runs of the whole daemon.
 */
#ifndef CRN_TESTS_SUPPORT_BAD_MESSAGES_H
#define CRN_TESTS_SUPPORT_BAD_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/ingest/wire.h"

#define CRN_MESSAGE_PARTS_MAX 6

typedef struct crn_message {
    const char *name;     /* of the fault's shape, for a failing test to say; static */
    crn_wire_fault fault; /* the reason it must be counted under; CRN_WIRE_OK for a good one */
    size_t parts;
    struct {
        unsigned char *bytes; /* owned; not NULL, even when size is 0 */
        size_t size;
    } part[CRN_MESSAGE_PARTS_MAX];
} crn_message;

/* A header that the rules accept: views of 5 x 7 pixels, u8, HWC, without intensity. */
crn_view_header crn_message_header(const crn_wire_rules *rules);

/* Sets shape, type, layout, the intensity flag, and payload_bytes to match. */
void crn_message_reshape(crn_view_header *header, uint32_t height, uint32_t width, crn_type type,
                         crn_layout layout, bool intensity);

/* The message of a header, with values between 0 and 1 that depend on its sequence. */
void crn_message_make_good(const crn_view_header *header, crn_message *ret_message);

/* Whether what arrived is what crn_message_make_good made for this header. */
bool crn_message_matches(const crn_view_header *header, const void *maps, const void *intensity);

/* The shapes of faults: 0 to count - 1. `good` is a header that the rules accept. */
size_t crn_message_bad_count(void);
void crn_message_make_bad(size_t index, const crn_view_header *good, const crn_wire_rules *rules,
                          crn_message *ret_message);

/*
 * A message of chance: noise, flipped bits, fields at their edges, parts of other sizes and
 * numbers, and some good ones. No part is larger than 64 KiB. `fault` is not meaningful. *state is
 * the seed and goes on with every call.
 */
void crn_message_make_random(uint64_t *state, const crn_view_header *good,
                             const crn_wire_rules *rules, crn_message *ret_message);

/* Whether a line must accept it: the rules of the message spelt out once more, in other words. */
bool crn_message_is_acceptable(const crn_message *message, const crn_wire_rules *rules);

/* For bending a message: sets a part's size (what is new of it is 0), adds a part of zeros. */
void crn_message_resize(crn_message *message, size_t index, size_t size);
void crn_message_add(crn_message *message, size_t size);

/* Little-endian numbers of 1 to 8 bytes. */
void crn_message_put(unsigned char *at, uint64_t value, int bytes);
uint64_t crn_message_get(const unsigned char *at, int bytes);

/* Sends all parts, waiting where the socket makes it. 0 or negative errno. */
int crn_message_send(const crn_message *message, void *socket);

void crn_message_done(crn_message *message);

/* The next 64 bits of chance. */
uint64_t crn_message_chance(uint64_t *state);

#endif
