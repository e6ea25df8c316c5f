#include "src/formats/verdict/decode_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stages/base/utf8.h"

bool crn_decode_real(const msgpack_object *value, double *ret_real)
{
    *ret_real = crn_value_real(value);
    return !isnan(*ret_real) || value->type == MSGPACK_OBJECT_NIL ||
           value->type == MSGPACK_OBJECT_FLOAT32 || value->type == MSGPACK_OBJECT_FLOAT64;
}

bool crn_decode_reals(const msgpack_object *value, uint32_t count, double *ret_reals)
{
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!crn_decode_real(&value->via.array.ptr[i], &ret_reals[i]))
            return false;
    return true;
}

bool crn_decode_text(const msgpack_object *value, char ret_text[CRN_DECODED_TEXT_BYTES])
{
    if (value->type == MSGPACK_OBJECT_STR)
        crn_utf8_show(value->via.str.ptr, value->via.str.size, ret_text, CRN_DECODED_TEXT_BYTES);
    else if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        snprintf(ret_text, CRN_DECODED_TEXT_BYTES, "%" PRIu64, value->via.u64);
    else
        return false;
    return true;
}

static bool read_field(const msgpack_object *value, crn_field_type type, void *target)
{
    switch (type) {
    case CRN_FIELD_BOOL:
        if (value->type == MSGPACK_OBJECT_BOOLEAN)
            *(bool *)target = value->via.boolean;
        return value->type == MSGPACK_OBJECT_BOOLEAN;
    case CRN_FIELD_UNSIGNED:
        return crn_value_unsigned(value, UINT64_MAX, target);
    case CRN_FIELD_REAL:
        return crn_decode_real(value, target);
    case CRN_FIELD_TEXT:
        return crn_decode_text(value, target);
    case CRN_FIELD_PAIR:
        return crn_decode_reals(value, 2, target);
    case CRN_FIELD_BOX:
        return crn_decode_reals(value, 4, target);
    default:
        return false;
    }
}

int crn_decode_fields(const msgpack_object *map, const crn_decode_field *fields, void *target,
                      crn_error *error)
{
    if (map->type != MSGPACK_OBJECT_MAP)
        return crn_error_set(error, -EBADMSG, "not a map where one with '%s' is expected",
                             fields[0].field->key);
    for (const crn_decode_field *f = fields; f->field; f++) {
        const char *key = f->field->key;
        const msgpack_object *value = crn_value_get(map, key);
        if (!value && f->required)
            return crn_error_set(error, -EBADMSG, "'%s' is missing", key);
        bool is_null = value && value->type == MSGPACK_OBJECT_NIL;
        if (is_null && !f->required && f->field->type != CRN_FIELD_REAL)
            continue;
        if (value && !read_field(value, f->field->type, (char *)target + f->offset))
            return crn_error_set(error, -EBADMSG, "'%s' is of another kind than expected", key);
    }
    return 0;
}

const msgpack_object *crn_decode_many(const msgpack_object *map, const char *key,
                                      msgpack_object_type type, crn_error *error)
{
    static const msgpack_object empty_map = {.type = MSGPACK_OBJECT_MAP};
    static const msgpack_object empty_array = {.type = MSGPACK_OBJECT_ARRAY};
    const msgpack_object *value = crn_value_get(map, key);
    if (!value)
        return type == MSGPACK_OBJECT_MAP ? &empty_map : &empty_array;
    if (value->type == type)
        return value;
    crn_error_set(error, -EBADMSG, "'%s' is of another kind than expected", key);
    return NULL;
}
