#include "src/formats/encoding/messagepack_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_gen.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/encoding/json_read.h"
#include "src/formats/encoding/messagepack_check.h"
#include "stages/base/utf8.h"

int crn_messagepack_json_init(crn_messagepack_json *ret_packed, const void *bytes, size_t size,
                              crn_error *error)
{
    crn_messagepack_json packed;
    msgpack_unpacked_init(&packed.tree);
    msgpack_sbuffer_init(&packed.repacked);
    int r = 0;

    if (size && *(const char *)bytes == '{') {
        r = crn_json_read(bytes, size, &packed.repacked, error);
        if (r < 0)
            goto fail;
        bytes = packed.repacked.data;
        size = packed.repacked.size;
    }
    r = crn_messagepack_check(bytes, size, error);
    if (r < 0)
        goto fail;
    size_t used = 0;
    msgpack_unpack_return unpacked = msgpack_unpack_next(&packed.tree, bytes, size, &used);
    if (unpacked == MSGPACK_UNPACK_NOMEM_ERROR)
        r = crn_error_set(error, -ENOMEM, "no memory for a message of %zu bytes", size);
    else if (unpacked != MSGPACK_UNPACK_SUCCESS)
        r = crn_error_set(error, -EBADMSG, "neither whole MessagePack nor JSON (%zu bytes)", size);
    else if (used != size)
        r = crn_error_set(error, -EBADMSG, "%zu bytes follow the MessagePack value", size - used);
    else if (packed.tree.data.type != MSGPACK_OBJECT_MAP)
        r = crn_error_set(error, -EBADMSG, "not a map of keys and values");
    if (r < 0)
        goto fail;
    *ret_packed = packed;
    return 0;

fail:
    crn_messagepack_json_done(&packed);
    return r;
}

void crn_messagepack_json_done(crn_messagepack_json *packed)
{
    msgpack_unpacked_destroy(&packed->tree);
    msgpack_sbuffer_destroy(&packed->repacked);
    memset(packed, 0, sizeof *packed);
}

/* Prints with the fewest of the given digits that read back as the same value. */
static void print_real(yajl_gen json, double value, int digits, int digits_max)
{
    char text[40] = "null";
    bool same = !isfinite(value);
    for (; !same && digits <= digits_max; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        same = digits_max <= 9 ? (float)back == (float)value : back == value;
    }
    yajl_gen_number(json, text, strlen(text));
}

/* Little-endian f32 pairs: the coordinates of a contour. */
static void print_points(yajl_gen json, const msgpack_object_bin *bin)
{
    yajl_gen_array_open(json);
    for (uint32_t at = 0; at + 8 <= bin->size; at += 8) {
        float point[2];
        memcpy(point, bin->ptr + at, sizeof point);
        yajl_gen_array_open(json);
        print_real(json, point[0], 6, 9);
        print_real(json, point[1], 6, 9);
        yajl_gen_array_close(json);
    }
    yajl_gen_array_close(json);
}

static void print_text(yajl_gen json, const msgpack_object_str *text)
{
    if (yajl_gen_string(json, (const unsigned char *)text->ptr, text->size) != yajl_gen_status_ok)
        yajl_gen_string(json, (const unsigned char *)"?", 1); /* not UTF-8 */
}

static void print_value(yajl_gen json, const msgpack_object *value);

/* A whole number that JavaScript and jq may round stands again as a text, as the encoder writes it;
 * a map that came as JSON has that text already. */
static void print_id_text(yajl_gen json, const msgpack_object *map, const msgpack_object_kv *entry)
{
    const msgpack_object_str *key = &entry->key.via.str;
    char text_key[64], digits[24];
    if (entry->val.type != MSGPACK_OBJECT_POSITIVE_INTEGER ||
        !crn_encoder_is_id(key->ptr, key->size))
        return;
    snprintf(text_key, sizeof text_key, "%.*s" CRN_ID_TEXT, (int)key->size, key->ptr);
    if (crn_value_get(map, text_key))
        return;
    snprintf(digits, sizeof digits, "%" PRIu64, entry->val.via.u64);
    yajl_gen_string(json, (const unsigned char *)text_key, strlen(text_key));
    yajl_gen_string(json, (const unsigned char *)digits, strlen(digits));
}

static void print_map(yajl_gen json, const msgpack_object *map)
{
    yajl_gen_map_open(json);
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *entry = &map->via.map.ptr[i];
        if (entry->key.type != MSGPACK_OBJECT_STR)
            continue; /* JSON has no such keys */
        print_text(json, &entry->key.via.str);
        print_value(json, &entry->val);
        print_id_text(json, map, entry);
    }
    yajl_gen_map_close(json);
}

static void print_value(yajl_gen json, const msgpack_object *value)
{
    char text[24];
    switch (value->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        yajl_gen_bool(json, value->via.boolean);
        break;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        snprintf(text, sizeof text, "%" PRIu64, value->via.u64);
        yajl_gen_number(json, text, strlen(text));
        break;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        yajl_gen_integer(json, value->via.i64);
        break;
    case MSGPACK_OBJECT_FLOAT32:
        print_real(json, value->via.f64, 6, 9);
        break;
    case MSGPACK_OBJECT_FLOAT64:
        print_real(json, value->via.f64, 15, 17);
        break;
    case MSGPACK_OBJECT_STR:
        print_text(json, &value->via.str);
        break;
    case MSGPACK_OBJECT_BIN:
        print_points(json, &value->via.bin);
        break;
    case MSGPACK_OBJECT_ARRAY:
        yajl_gen_array_open(json);
        for (uint32_t i = 0; i < value->via.array.size; i++)
            print_value(json, &value->via.array.ptr[i]);
        yajl_gen_array_close(json);
        break;
    case MSGPACK_OBJECT_MAP:
        print_map(json, value);
        break;
    default:
        yajl_gen_null(json);
        break;
    }
}

/* Writes JSON with \uNNNN for what a terminal obeys and yajl leaves: DEL, C1 controls,
 * bidirectional overrides. Outside of its texts JSON has none of them. */
static void write_safely(const char *text, size_t length, FILE *out)
{
    size_t from = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        int32_t character = crn_utf8_read(text + at, length - at, &bytes);
        if (character < 0 || crn_utf8_prints(character) || character > 0xffff)
            continue;
        fwrite(text + from, 1, at - from, out);
        fprintf(out, "\\u%04x", (unsigned)character);
        from = at + bytes;
    }
    fwrite(text + from, 1, length - from, out);
}

int crn_messagepack_json_print(const crn_messagepack_json *packed, FILE *out)
{
    yajl_gen json = yajl_gen_alloc(NULL);
    if (!json)
        return -ENOMEM;
    yajl_gen_config(json, yajl_gen_validate_utf8, 1);
    print_value(json, &packed->tree.data);
    const unsigned char *text;
    size_t length;
    yajl_gen_get_buf(json, &text, &length);
    write_safely((const char *)text, length, out);
    fputc('\n', out);
    yajl_gen_free(json);
    return ferror(out) ? -EIO : 0;
}
