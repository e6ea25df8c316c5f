/*
 * View messages for testing: valid ones, several cases of each crn_wire_fault, and random ones.
 * Used by the tests of wire and ingest and by runs of the whole daemon.
 */
#ifndef CRN_TESTS_SUPPORT_BAD_MESSAGES_H
#define CRN_TESTS_SUPPORT_BAD_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/view/wire.h"

#define CRN_MESSAGE_PARTS_MAX 6

typedef struct crn_message {
    const char *name;     /* name of the case for failure messages; static */
    crn_wire_fault fault; /* the reason that must be counted; CRN_WIRE_OK for a valid message */
    size_t parts;
    struct {
        unsigned char *bytes; /* owned; not NULL even if size is 0 */
        size_t size;
    } part[CRN_MESSAGE_PARTS_MAX];
} crn_message;

/* A valid header: views of 5 x 7 pixels, u8, HWC, without intensity. */
crn_view_header crn_message_header(const crn_wire_rules *rules);

/* Sets size, type, layout, the intensity flag, and the matching payload_bytes. */
void crn_message_reshape(crn_view_header *header, uint32_t height, uint32_t width, crn_type type,
                         crn_layout layout, bool intensity);

/* Creates the message for a header, with values between 0 and 1 that depend on its sequence. */
void crn_message_make_good(const crn_view_header *header, crn_message *ret_message);

/* True if the received parts are those of crn_message_make_good for this header. */
bool crn_message_matches(const crn_view_header *header, const void *maps, const void *intensity);

/* The cases of invalid messages: 0 to count - 1. `good` is a valid header. */
size_t crn_message_bad_count(void);
void crn_message_make_bad(size_t index, const crn_view_header *good, const crn_wire_rules *rules,
                          crn_message *ret_message);

/*
 * Creates a random message: noise, flipped bits, fields at their limits, parts of wrong sizes and
 * numbers, and some valid ones. No part exceeds 64 KiB. `fault` is not meaningful. *state is the
 * seed and advances with every call.
 */
void crn_message_make_random(uint64_t *state, const crn_view_header *good,
                             const crn_wire_rules *rules, crn_message *ret_message);

/* True if the message must be accepted: a second, independent implementation of the rules. */
bool crn_message_is_acceptable(const crn_message *message, const crn_wire_rules *rules);

/* Modify a message: resize a part (new bytes are 0), append a part of zeros. */
void crn_message_resize(crn_message *message, size_t index, size_t size);
void crn_message_add(crn_message *message, size_t size);

/* Stores a little-endian number of 1 to 8 bytes. */
void crn_message_put(unsigned char *at, uint64_t value, int bytes);
uint64_t crn_message_get(const unsigned char *at, int bytes);

/* Sends all parts, blocking while the socket is full. 0 or negative errno. */
int crn_message_send(const crn_message *message, void *socket);

void crn_message_done(crn_message *message);

/* The next 64 random bits. */
uint64_t crn_message_chance(uint64_t *state);

#endif
