/*
 * One way to write maps, arrays and values, in MessagePack (libmsgpack) or in JSON (yajl), so that
 * whoever writes a message writes it once. One buffer is kept and grows: after the largest message
 * nothing allocates any more.
 *
 * MessagePack needs the number of a map's pairs or an array's items before they come, JSON needs to
 * know where they end: both are said. Values follow one another as they stand in the message; in a
 * map a text (the key) and a value take turns.
 */
#ifndef CRN_SRC_PUBLISH_ENCODER_H
#define CRN_SRC_PUBLISH_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/cplusplus.h"
#include "src/config/config.h"

CRN_C_BEGIN

typedef struct crn_emit crn_emit;

/* The caller owns *ret_emit. 0, -ENOMEM. */
int crn_emit_create(crn_format format, crn_emit **ret_emit);
void crn_emit_free(crn_emit **emit);

crn_format crn_emit_format(const crn_emit *emit);

/* Starts a message; the one before is gone. */
void crn_emit_begin(crn_emit *emit);

/* The message's bytes, valid until the next begin. 0, or -ENOMEM when the buffer could not grow. */
int crn_emit_end(crn_emit *emit, const unsigned char **ret_bytes, size_t *ret_size);

void crn_emit_map(crn_emit *emit, uint32_t pairs);
void crn_emit_map_end(crn_emit *emit);
void crn_emit_array(crn_emit *emit, uint32_t items);
void crn_emit_array_end(crn_emit *emit);

void crn_emit_null(crn_emit *emit);
void crn_emit_bool(crn_emit *emit, bool value);
void crn_emit_integer(crn_emit *emit, int64_t value);
void crn_emit_unsigned(crn_emit *emit, uint64_t value);
void crn_emit_text(crn_emit *emit, const char *text); /* UTF-8 */

/* In JSON with as many digits as bring the same double back; what is not finite becomes null. */
void crn_emit_real(crn_emit *emit, double value);

/* A key and its value. */
void crn_emit_pair_bool(crn_emit *emit, const char *key, bool value);
void crn_emit_pair_unsigned(crn_emit *emit, const char *key, uint64_t value);
void crn_emit_pair_text(crn_emit *emit, const char *key, const char *text);
void crn_emit_pair_real(crn_emit *emit, const char *key, double value);
void crn_emit_pair_ms(crn_emit *emit, const char *key, int64_t ns); /* milliseconds */

/* `count` x, y pairs: in MessagePack a bin of little-endian f32, in JSON [[x, y], …]. */
void crn_emit_points(crn_emit *emit, const float *xy, uint32_t count);

/*
 * A false that can become true once the message is packed, without moving a byte: JSON leaves a
 * blank after `true`. Returns its place in the message, for crn_emit_set_bool on the message or any
 * copy of it.
 */
size_t crn_emit_later_bool(crn_emit *emit);
void crn_emit_set_bool(crn_format format, unsigned char *at, bool value);

CRN_C_END

#endif
