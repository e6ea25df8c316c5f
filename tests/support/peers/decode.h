/* Reads back verdicts and status messages; anything unexpected fails the test. */
#ifndef CRN_TESTS_SUPPORT_DECODE_H
#define CRN_TESTS_SUPPORT_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include <msgpack.h>
#include <yajl/yajl_tree.h>

/* The value of that key in a map; the item of an array. */
const msgpack_object *crn_decoded_field(const msgpack_object *map, const char *key);
const msgpack_object *crn_decoded_item(const msgpack_object *array, uint32_t index);

void crn_expect_text(const msgpack_object *object, const char *text);
void crn_expect_unsigned(const msgpack_object *object, uint64_t value);
void crn_expect_integer(const msgpack_object *object, int64_t value);
void crn_expect_real(const msgpack_object *object, double value); /* exact equality */
void crn_expect_bool(const msgpack_object *object, bool value);

/* An array of that many items; of these reals. */
void crn_expect_items(const msgpack_object *array, uint32_t count);
void crn_expect_reals(const msgpack_object *array, const double *values, uint32_t count);

/* A map with exactly these keys, in this order. */
void crn_expect_keys(const msgpack_object *map, const char *const *keys, uint32_t count);

/* A whole verdict with the keys, order and types of the tables in src/formats/verdict/fields.h. */
void crn_expect_verdict(const msgpack_object *verdict);

/* The parts of the verdict's latency_ms add up to at most its total. */
void crn_expect_latency_parts(const msgpack_object *verdict);

/* MessagePack and JSON hold the same values, to the last bit and in the same order. */
void crn_expect_same(const msgpack_object *object, yajl_val value);

#endif
