#include "src/publish/encoder.h"

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

struct crn_emit {
    crn_format format;
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* the buffer could not grow: nothing more is written */
    msgpack_packer packer;
    yajl_gen json;
};

static bool grow(crn_emit *emit, size_t bytes)
{
    if (bytes <= emit->capacity - emit->size)
        return true;
    size_t capacity = emit->capacity;
    while (capacity - emit->size < bytes) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    unsigned char *grown = realloc(emit->bytes, capacity);
    if (!grown)
        return false;
    emit->bytes = grown;
    emit->capacity = capacity;
    return true;
}

static void append(crn_emit *emit, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (emit->failed || !grow(emit, size)) {
        emit->failed = true;
        return;
    }
    memcpy(emit->bytes + emit->size, bytes, size);
    emit->size += size;
}

static int write_msgpack(void *emit, const char *bytes, size_t size)
{
    append(emit, bytes, size);
    return 0;
}

static void write_json(void *emit, const char *bytes, size_t size)
{
    append(emit, bytes, size);
}

int crn_emit_create(crn_format format, crn_emit **ret_emit)
{
    crn_emit *emit = calloc(1, sizeof *emit);
    if (!emit)
        return -ENOMEM;
    emit->format = format;
    emit->capacity = FIRST_CAPACITY_BYTES;
    emit->bytes = malloc(emit->capacity);
    if (!emit->bytes)
        goto fail;
    msgpack_packer_init(&emit->packer, emit, write_msgpack);
    if (format == CRN_FORMAT_JSON) {
        emit->json = yajl_gen_alloc(NULL);
        if (!emit->json)
            goto fail;
        yajl_gen_config(emit->json, yajl_gen_print_callback, write_json, emit);
    }
    *ret_emit = emit;
    return 0;

fail:
    crn_emit_free(&emit);
    return -ENOMEM;
}

void crn_emit_free(crn_emit **emit)
{
    if (!emit || !*emit)
        return;
    if ((*emit)->json)
        yajl_gen_free((*emit)->json);
    free((*emit)->bytes);
    free(*emit);
    *emit = NULL;
}

crn_format crn_emit_format(const crn_emit *emit)
{
    return emit->format;
}

void crn_emit_begin(crn_emit *emit)
{
    emit->size = 0;
    emit->failed = false;
    if (emit->json)
        yajl_gen_reset(emit->json, NULL);
}

int crn_emit_end(crn_emit *emit, const unsigned char **ret_bytes, size_t *ret_size)
{
    if (emit->failed)
        return -ENOMEM;
    *ret_bytes = emit->bytes;
    *ret_size = emit->size;
    return 0;
}

void crn_emit_map(crn_emit *emit, uint32_t pairs)
{
    if (emit->json)
        yajl_gen_map_open(emit->json);
    else
        msgpack_pack_map(&emit->packer, pairs);
}

void crn_emit_map_end(crn_emit *emit)
{
    if (emit->json)
        yajl_gen_map_close(emit->json);
}

void crn_emit_array(crn_emit *emit, uint32_t items)
{
    if (emit->json)
        yajl_gen_array_open(emit->json);
    else
        msgpack_pack_array(&emit->packer, items);
}

void crn_emit_array_end(crn_emit *emit)
{
    if (emit->json)
        yajl_gen_array_close(emit->json);
}

void crn_emit_null(crn_emit *emit)
{
    if (emit->json)
        yajl_gen_null(emit->json);
    else
        msgpack_pack_nil(&emit->packer);
}

void crn_emit_bool(crn_emit *emit, bool value)
{
    if (emit->json)
        yajl_gen_bool(emit->json, value);
    else if (value)
        msgpack_pack_true(&emit->packer);
    else
        msgpack_pack_false(&emit->packer);
}

void crn_emit_integer(crn_emit *emit, int64_t value)
{
    if (emit->json)
        yajl_gen_integer(emit->json, value);
    else
        msgpack_pack_int64(&emit->packer, value);
}

void crn_emit_unsigned(crn_emit *emit, uint64_t value)
{
    if (emit->json) {
        /* yajl's own integers end at 2^63 - 1. */
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
        yajl_gen_number(emit->json, digits, (size_t)length);
    } else {
        msgpack_pack_uint64(&emit->packer, value);
    }
}

void crn_emit_text(crn_emit *emit, const char *text)
{
    size_t length = strlen(text);
    if (emit->json) {
        yajl_gen_string(emit->json, (const unsigned char *)text, length);
    } else {
        msgpack_pack_str(&emit->packer, length);
        msgpack_pack_str_body(&emit->packer, text, length);
    }
}

void crn_emit_real(crn_emit *emit, double value)
{
    if (!isfinite(value)) {
        crn_emit_null(emit);
    } else if (emit->json) {
        char digits[32];
        int length = snprintf(digits, sizeof digits, "%.15g", value);
        if (strtod(digits, NULL) != value)
            length = snprintf(digits, sizeof digits, "%.17g", value);
        yajl_gen_number(emit->json, digits, (size_t)length);
    } else {
        msgpack_pack_double(&emit->packer, value);
    }
}

void crn_emit_pair_bool(crn_emit *emit, const char *key, bool value)
{
    crn_emit_text(emit, key);
    crn_emit_bool(emit, value);
}

void crn_emit_pair_unsigned(crn_emit *emit, const char *key, uint64_t value)
{
    crn_emit_text(emit, key);
    crn_emit_unsigned(emit, value);
}

void crn_emit_pair_text(crn_emit *emit, const char *key, const char *text)
{
    crn_emit_text(emit, key);
    crn_emit_text(emit, text);
}

void crn_emit_pair_real(crn_emit *emit, const char *key, double value)
{
    crn_emit_text(emit, key);
    crn_emit_real(emit, value);
}

void crn_emit_pair_ms(crn_emit *emit, const char *key, int64_t ns)
{
    crn_emit_pair_real(emit, key, (double)ns / (double)CRN_NS_PER_MS);
}

static void emit_json_coordinate(crn_emit *emit, float value)
{
    if (!isfinite(value)) {
        yajl_gen_null(emit->json);
        return;
    }
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%.9g", (double)value);
    yajl_gen_number(emit->json, digits, (size_t)length);
}

void crn_emit_points(crn_emit *emit, const float *xy, uint32_t count)
{
    if (!emit->json) {
        size_t bytes = (size_t)count * 2 * sizeof *xy;
        msgpack_pack_bin(&emit->packer, bytes);
        msgpack_pack_bin_body(&emit->packer, xy, bytes);
        return;
    }
    yajl_gen_array_open(emit->json);
    for (size_t i = 0; i < count; i++) {
        yajl_gen_array_open(emit->json);
        emit_json_coordinate(emit, xy[2 * i]);
        emit_json_coordinate(emit, xy[2 * i + 1]);
        yajl_gen_array_close(emit->json);
    }
    yajl_gen_array_close(emit->json);
}

size_t crn_emit_later_bool(crn_emit *emit)
{
    crn_emit_bool(emit, false);
    return emit->size - (emit->json ? strlen("false") : 1);
}

void crn_emit_set_bool(crn_format format, unsigned char *at, bool value)
{
    if (format == CRN_FORMAT_JSON)
        memcpy(at, value ? "true " : "false", strlen("false"));
    else
        *at = value ? 0xc3 : 0xc2;
}
