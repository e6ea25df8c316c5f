#include "src/formats/encoding/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>
#include <yajl/yajl_gen.h>

#include "stages/base/clock.h"

#define FIRST_CAPACITY_BYTES 65536

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "points are sent as they lie in memory");

struct crn_encoder {
    crn_format format;
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* the buffer could not grow: further writes are ignored */
    msgpack_packer packer;
    yajl_gen json;
};

static bool grow(crn_encoder *encoder, size_t bytes)
{
    if (bytes <= encoder->capacity - encoder->size)
        return true;
    size_t capacity = encoder->capacity;
    while (capacity - encoder->size < bytes) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    unsigned char *grown = realloc(encoder->bytes, capacity);
    if (!grown)
        return false;
    encoder->bytes = grown;
    encoder->capacity = capacity;
    return true;
}

static void append(crn_encoder *encoder, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (encoder->failed || !grow(encoder, size)) {
        encoder->failed = true;
        return;
    }
    memcpy(encoder->bytes + encoder->size, bytes, size);
    encoder->size += size;
}

static int write_msgpack(void *encoder, const char *bytes, size_t size)
{
    append(encoder, bytes, size);
    return 0;
}

static void write_json(void *encoder, const char *bytes, size_t size)
{
    append(encoder, bytes, size);
}

int crn_encoder_create(crn_format format, crn_encoder **ret_encoder)
{
    crn_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return -ENOMEM;
    encoder->format = format;
    encoder->capacity = FIRST_CAPACITY_BYTES;
    encoder->bytes = malloc(encoder->capacity);
    if (!encoder->bytes)
        goto fail;
    msgpack_packer_init(&encoder->packer, encoder, write_msgpack);
    if (format == CRN_FORMAT_JSON) {
        encoder->json = yajl_gen_alloc(NULL);
        if (!encoder->json)
            goto fail;
        yajl_gen_config(encoder->json, yajl_gen_print_callback, write_json, encoder);
    }
    *ret_encoder = encoder;
    return 0;

fail:
    crn_encoder_free(&encoder);
    return -ENOMEM;
}

void crn_encoder_free(crn_encoder **encoder)
{
    if (!encoder || !*encoder)
        return;
    if ((*encoder)->json)
        yajl_gen_free((*encoder)->json);
    free((*encoder)->bytes);
    free(*encoder);
    *encoder = NULL;
}

crn_format crn_encoder_format(const crn_encoder *encoder)
{
    return encoder->format;
}

void crn_encoder_begin(crn_encoder *encoder)
{
    encoder->size = 0;
    encoder->failed = false;
    if (encoder->json)
        yajl_gen_reset(encoder->json, NULL);
}

int crn_encoder_end(crn_encoder *encoder, const unsigned char **ret_bytes, size_t *ret_size)
{
    if (encoder->failed)
        return -ENOMEM;
    *ret_bytes = encoder->bytes;
    *ret_size = encoder->size;
    return 0;
}

int crn_encoder_print(crn_encoder *encoder, FILE *out)
{
    const unsigned char *bytes;
    size_t size;
    int r = crn_encoder_end(encoder, &bytes, &size);
    if (r == 0)
        fprintf(out, "%.*s\n", (int)size, (const char *)bytes);
    return r;
}

void crn_encoder_map(crn_encoder *encoder, uint32_t pairs)
{
    if (encoder->json)
        yajl_gen_map_open(encoder->json);
    else
        msgpack_pack_map(&encoder->packer, pairs);
}

void crn_encoder_map_end(crn_encoder *encoder)
{
    if (encoder->json)
        yajl_gen_map_close(encoder->json);
}

void crn_encoder_array(crn_encoder *encoder, uint32_t items)
{
    if (encoder->json)
        yajl_gen_array_open(encoder->json);
    else
        msgpack_pack_array(&encoder->packer, items);
}

void crn_encoder_array_end(crn_encoder *encoder)
{
    if (encoder->json)
        yajl_gen_array_close(encoder->json);
}

void crn_encoder_null(crn_encoder *encoder)
{
    if (encoder->json)
        yajl_gen_null(encoder->json);
    else
        msgpack_pack_nil(&encoder->packer);
}

void crn_encoder_bool(crn_encoder *encoder, bool value)
{
    if (encoder->json)
        yajl_gen_bool(encoder->json, value);
    else if (value)
        msgpack_pack_true(&encoder->packer);
    else
        msgpack_pack_false(&encoder->packer);
}

void crn_encoder_integer(crn_encoder *encoder, int64_t value)
{
    if (encoder->json)
        yajl_gen_integer(encoder->json, value);
    else
        msgpack_pack_int64(&encoder->packer, value);
}

void crn_encoder_unsigned(crn_encoder *encoder, uint64_t value)
{
    if (encoder->json) {
        /* yajl's integer type ends at 2^63 - 1. */
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
        yajl_gen_number(encoder->json, digits, (size_t)length);
    } else {
        msgpack_pack_uint64(&encoder->packer, value);
    }
}

void crn_encoder_text(crn_encoder *encoder, const char *text)
{
    size_t length = strlen(text);
    if (encoder->json) {
        yajl_gen_string(encoder->json, (const unsigned char *)text, length);
    } else {
        msgpack_pack_str(&encoder->packer, length);
        msgpack_pack_str_body(&encoder->packer, text, length);
    }
}

void crn_encoder_real(crn_encoder *encoder, double value)
{
    if (!isfinite(value)) {
        crn_encoder_null(encoder);
    } else if (encoder->json) {
        char digits[32];
        int length = snprintf(digits, sizeof digits, "%.15g", value);
        if (strtod(digits, NULL) != value)
            length = snprintf(digits, sizeof digits, "%.17g", value);
        yajl_gen_number(encoder->json, digits, (size_t)length);
    } else {
        msgpack_pack_double(&encoder->packer, value);
    }
}

void crn_encoder_pair_bool(crn_encoder *encoder, const char *key, bool value)
{
    crn_encoder_text(encoder, key);
    crn_encoder_bool(encoder, value);
}

bool crn_encoder_is_id(const char *key, size_t length)
{
    static const char *const ids[] = {"epoch", "fruit", "encoder", "longest_fruit"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (strlen(ids[i]) == length && memcmp(ids[i], key, length) == 0)
            return true;
    return false;
}

void crn_encoder_pair_unsigned(crn_encoder *encoder, const char *key, uint64_t value)
{
    crn_encoder_text(encoder, key);
    crn_encoder_unsigned(encoder, value);
    if (!encoder->json || !crn_encoder_is_id(key, strlen(key)))
        return;
    char text_key[32], digits[24];
    snprintf(text_key, sizeof text_key, "%s" CRN_ID_TEXT, key);
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    crn_encoder_pair_text(encoder, text_key, digits);
}

void crn_encoder_pair_text(crn_encoder *encoder, const char *key, const char *text)
{
    crn_encoder_text(encoder, key);
    crn_encoder_text(encoder, text);
}

void crn_encoder_pair_real(crn_encoder *encoder, const char *key, double value)
{
    crn_encoder_text(encoder, key);
    crn_encoder_real(encoder, value);
}

void crn_encoder_pair_ms(crn_encoder *encoder, const char *key, int64_t ns)
{
    crn_encoder_pair_real(encoder, key, (double)ns / (double)CRN_NS_PER_MS);
}

static void emit_json_coordinate(crn_encoder *encoder, float value)
{
    if (!isfinite(value)) {
        yajl_gen_null(encoder->json);
        return;
    }
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%.9g", (double)value);
    yajl_gen_number(encoder->json, digits, (size_t)length);
}

void crn_encoder_points(crn_encoder *encoder, const float *xy, uint32_t count)
{
    if (!encoder->json) {
        size_t bytes = (size_t)count * 2 * sizeof *xy;
        msgpack_pack_bin(&encoder->packer, bytes);
        msgpack_pack_bin_body(&encoder->packer, xy, bytes);
        return;
    }
    yajl_gen_array_open(encoder->json);
    for (size_t i = 0; i < count; i++) {
        yajl_gen_array_open(encoder->json);
        emit_json_coordinate(encoder, xy[2 * i]);
        emit_json_coordinate(encoder, xy[2 * i + 1]);
        yajl_gen_array_close(encoder->json);
    }
    yajl_gen_array_close(encoder->json);
}

size_t crn_encoder_later_bool(crn_encoder *encoder)
{
    crn_encoder_bool(encoder, false);
    return encoder->size - (encoder->json ? strlen("false") : 1);
}

void crn_encoder_set_bool(crn_format format, unsigned char *at, bool value)
{
    if (format == CRN_FORMAT_JSON)
        memcpy(at, value ? "true " : "false", strlen("false"));
    else
        *at = value ? 0xc3 : 0xc2;
}

size_t crn_encoder_gap(crn_encoder *encoder)
{
    if (encoder->json) {
        /* Written, because yajl counts values, and taken back. */
        yajl_gen_integer(encoder->json, 0);
        encoder->size -= !encoder->failed;
    }
    return encoder->size;
}

unsigned char *crn_encoder_piece(crn_encoder *encoder, size_t size)
{
    if (encoder->failed || !grow(encoder, size)) {
        encoder->failed = true;
        return NULL;
    }
    encoder->size += size;
    return encoder->bytes + encoder->size - size;
}

void crn_encoder_fill_gap(crn_encoder *encoder, int64_t value)
{
    if (!encoder->json) {
        msgpack_pack_int64(&encoder->packer, value);
        return;
    }
    /* snprintf would take half of the time of joining a verdict. */
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        digits[--at] = '-';
    append(encoder, digits + at, sizeof digits - at);
}

void crn_encoder_separate(crn_encoder *encoder)
{
    if (encoder->json)
        append(encoder, ",", 1);
}

size_t crn_encoder_array_begin_bytes(crn_format format, uint32_t items)
{
    return format == CRN_FORMAT_JSON || items < 16 ? 1 : items <= UINT16_MAX ? 3 : 5;
}
