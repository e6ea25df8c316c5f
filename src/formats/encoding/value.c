#include "src/formats/encoding/value.h"

#include <math.h>
#include <string.h>

#include "stages/base/utf8.h"

static bool is_text(const msgpack_object *value, const char *text, size_t size)
{
    return value->type == MSGPACK_OBJECT_STR && value->via.str.size == size &&
           memcmp(value->via.str.ptr, text, size) == 0;
}

const msgpack_object *crn_value_get(const msgpack_object *map, const char *key)
{
    uint32_t count = map && map->type == MSGPACK_OBJECT_MAP ? map->via.map.size : 0;
    size_t size = strlen(key);
    for (uint32_t i = 0; i < count; i++)
        if (is_text(&map->via.map.ptr[i].key, key, size))
            return &map->via.map.ptr[i].val;
    return NULL;
}

uint32_t crn_value_count(const msgpack_object *array)
{
    return array && array->type == MSGPACK_OBJECT_ARRAY ? array->via.array.size : 0;
}

const msgpack_object *crn_value_item(const msgpack_object *array, uint32_t at)
{
    return at < crn_value_count(array) ? &array->via.array.ptr[at] : NULL;
}

bool crn_value_unsigned(const msgpack_object *value, uint64_t max, uint64_t *ret_number)
{
    if (!value || value->type != MSGPACK_OBJECT_POSITIVE_INTEGER || value->via.u64 > max)
        return false;
    *ret_number = value->via.u64;
    return true;
}

double crn_value_real(const msgpack_object *value)
{
    if (!value)
        return NAN;
    switch (value->type) {
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return value->via.f64;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return (double)value->via.u64;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return (double)value->via.i64;
    default:
        return NAN;
    }
}

bool crn_value_is_true(const msgpack_object *value)
{
    return value && value->type == MSGPACK_OBJECT_BOOLEAN && value->via.boolean;
}

bool crn_value_is_text(const msgpack_object *value, const char *text)
{
    return value && is_text(value, text, strlen(text));
}

static bool is_printable(const char *text, size_t length)
{
    for (size_t at = 0, bytes; at < length; at += bytes) {
        int32_t character = crn_utf8_read(text + at, length - at, &bytes);
        if (character < 0 || !crn_utf8_prints(character))
            return false;
    }
    return true;
}

bool crn_value_copy_text(const msgpack_object *value, char *ret_text, size_t size)
{
    if (!value || value->type != MSGPACK_OBJECT_STR || value->via.str.size == 0 ||
        value->via.str.size >= size || !is_printable(value->via.str.ptr, value->via.str.size))
        return false;
    memcpy(ret_text, value->via.str.ptr, value->via.str.size);
    ret_text[value->via.str.size] = '\0';
    return true;
}

bool crn_value_copy_bytes(const msgpack_object *value, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    if (!value || value->type != MSGPACK_OBJECT_STR || value->via.str.size >= size)
        return false;
    memcpy(ret_text, value->via.str.ptr, value->via.str.size);
    ret_text[value->via.str.size] = '\0';
    return true;
}
