/*
 * Common interface to write maps, arrays and values in MessagePack (libmsgpack) or JSON (yajl), so
 * that every message is written by one function. Keeps one growing buffer: after the largest
 * message it no longer allocates.
 *
 * MessagePack needs the number of a map's pairs or an array's items in advance, JSON needs to know
 * where they end: callers give both. Values are written in the order of the message; in a map,
 * texts (keys) and values alternate.
 */
#ifndef CRN_SRC_FORMATS_ENCODING_ENCODER_H
#define CRN_SRC_FORMATS_ENCODING_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/api.h"
#include "stages/config/config.h"

CRN_C_BEGIN

typedef struct crn_encoder crn_encoder;

/* The caller owns *ret_encoder. Returns 0 or -ENOMEM. */
int crn_encoder_create(crn_format format, crn_encoder **ret_encoder);
void crn_encoder_free(crn_encoder **encoder);

crn_format crn_encoder_format(const crn_encoder *encoder);

/* Starts a message and discards the previous one. */
void crn_encoder_begin(crn_encoder *encoder);

/* Returns the message's bytes, valid until the next begin. Returns 0, or
 * -ENOMEM if the buffer could not grow. */
int crn_encoder_end(crn_encoder *encoder, const unsigned char **ret_bytes, size_t *ret_size);

/* Ends a message of JSON and prints it as a line. Returns 0 or -ENOMEM, as crn_encoder_end. */
int crn_encoder_print(crn_encoder *encoder, FILE *out);

void crn_encoder_map(crn_encoder *encoder, uint32_t pairs);
void crn_encoder_map_end(crn_encoder *encoder);
void crn_encoder_array(crn_encoder *encoder, uint32_t items);
void crn_encoder_array_end(crn_encoder *encoder);

void crn_encoder_null(crn_encoder *encoder);
void crn_encoder_bool(crn_encoder *encoder, bool value);
void crn_encoder_integer(crn_encoder *encoder, int64_t value);
void crn_encoder_unsigned(crn_encoder *encoder, uint64_t value);
void crn_encoder_text(crn_encoder *encoder, const char *text); /* UTF-8 */

/* In JSON with as many digits as a round trip needs; non-finite values become null. */
void crn_encoder_real(crn_encoder *encoder, double value);

/*
 * True for keys whose numbers name something or count a position, and may need all 64 bits:
 * "epoch", "fruit", "encoder", "longest_fruit". In JSON they stand twice, as a number and as a text
 * behind it under the key + CRN_ID_TEXT, because JavaScript and jq round whole numbers above 2^53.
 * Times in ns stand once: rounded, they are off by 128 ns.
 */
bool crn_encoder_is_id(const char *key, size_t length);
#define CRN_ID_TEXT "_text"

/* Writes a key and its value, the unsigned one of crn_encoder_is_id in JSON with its text. */
void crn_encoder_pair_bool(crn_encoder *encoder, const char *key, bool value);
void crn_encoder_pair_unsigned(crn_encoder *encoder, const char *key, uint64_t value);
void crn_encoder_pair_text(crn_encoder *encoder, const char *key, const char *text);
void crn_encoder_pair_real(crn_encoder *encoder, const char *key, double value);
void crn_encoder_pair_ms(crn_encoder *encoder, const char *key, int64_t ns); /* milliseconds */

/* Writes `count` x, y pairs: in MessagePack a bin of little-endian f32, in JSON [[x, y], …]. */
void crn_encoder_points(crn_encoder *encoder, const float *xy, uint32_t count);

/*
 * Writes a false that can be changed to true in the packed message in place: JSON leaves a blank
 * after `true`. Returns its offset in the message, for crn_encoder_set_bool on the message or any
 * copy.
 */
size_t crn_encoder_later_bool(crn_encoder *encoder);
void crn_encoder_set_bool(crn_format format, unsigned char *at, bool value);

/*
 * Messages from pieces: items of an array that another encoder of the same format wrote are copied
 * into this one's array, whose begin and end are written as usual. An integer that the other
 * encoder did not know yet is a gap: nothing is there.
 */

/* Leaves a gap in the place of an integer; returns its offset in the message. */
size_t crn_encoder_gap(crn_encoder *encoder);

/* Adds `size` bytes, which the caller writes before the next call; NULL if there is no memory. */
unsigned char *crn_encoder_piece(crn_encoder *encoder, size_t size);

/* Fills a gap between two pieces. */
void crn_encoder_fill_gap(crn_encoder *encoder, int64_t value);

/* Separates pieces that are whole items. */
void crn_encoder_separate(crn_encoder *encoder);

/* Bytes that begin an array of so many items; in JSON it ends with 1 byte, else with none. */
size_t crn_encoder_array_begin_bytes(crn_format format, uint32_t items);

CRN_C_END

#endif
