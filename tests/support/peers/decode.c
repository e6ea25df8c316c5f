#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "tests/support/peers/decode.h"

#include "tests/support/cmocka_prelude.h"

const msgpack_object *crn_decoded_field(const msgpack_object *map, const char *key)
{
    assert_int_equal(map->type, MSGPACK_OBJECT_MAP);
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_str *name = &map->via.map.ptr[i].key.via.str;
        if (name->size == strlen(key) && memcmp(name->ptr, key, name->size) == 0)
            return &map->via.map.ptr[i].val;
    }
    fail_msg("no field '%s'", key);
    return NULL;
}

void crn_expect_text(const msgpack_object *object, const char *text)
{
    assert_int_equal(object->type, MSGPACK_OBJECT_STR);
    assert_int_equal(object->via.str.size, strlen(text));
    assert_memory_equal(object->via.str.ptr, text, strlen(text));
}

void crn_expect_unsigned(const msgpack_object *object, uint64_t value)
{
    assert_int_equal(object->type, MSGPACK_OBJECT_POSITIVE_INTEGER);
    assert_true(object->via.u64 == value);
}

void crn_expect_integer(const msgpack_object *object, int64_t value)
{
    if (value >= 0) {
        crn_expect_unsigned(object, (uint64_t)value);
    } else {
        assert_int_equal(object->type, MSGPACK_OBJECT_NEGATIVE_INTEGER);
        assert_true(object->via.i64 == value);
    }
}

void crn_expect_real(const msgpack_object *object, double value)
{
    assert_int_equal(object->type, MSGPACK_OBJECT_FLOAT64);
    assert_true(object->via.f64 == value);
}

void crn_expect_bool(const msgpack_object *object, bool value)
{
    assert_int_equal(object->type, MSGPACK_OBJECT_BOOLEAN);
    assert_int_equal(object->via.boolean, value);
}

const msgpack_object *crn_decoded_item(const msgpack_object *array, uint32_t index)
{
    assert_int_equal(array->type, MSGPACK_OBJECT_ARRAY);
    assert_true(index < array->via.array.size);
    return &array->via.array.ptr[index];
}

void crn_expect_items(const msgpack_object *array, uint32_t count)
{
    assert_int_equal(array->type, MSGPACK_OBJECT_ARRAY);
    assert_int_equal(array->via.array.size, count);
}

void crn_expect_reals(const msgpack_object *array, const double *values, uint32_t count)
{
    crn_expect_items(array, count);
    for (uint32_t i = 0; i < count; i++)
        crn_expect_real(crn_decoded_item(array, i), values[i]);
}

/* The keys of a map, in their order. */
void crn_expect_keys(const msgpack_object *map, const char *const *keys, uint32_t count)
{
    assert_int_equal(map->type, MSGPACK_OBJECT_MAP);
    assert_int_equal(map->via.map.size, count);
    for (uint32_t i = 0; i < count; i++)
        crn_expect_text(&map->via.map.ptr[i].key, keys[i]);
}

/* Times are whole nanoseconds printed in milliseconds;
 * this removes rounding errors at 17 digits. */
static int64_t nanoseconds_of(const msgpack_object *ms)
{
    assert_int_equal(ms->type, MSGPACK_OBJECT_FLOAT64);
    return llround(ms->via.f64 * 1e6);
}

static bool is_number(const msgpack_object *value)
{
    return value->type == MSGPACK_OBJECT_FLOAT64 ||
           value->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
           value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER || value->type == MSGPACK_OBJECT_NIL;
}

static bool is_numbers(const msgpack_object *value, uint32_t count)
{
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!is_number(&value->via.array.ptr[i]))
            return false;
    return true;
}

/* Maps and lists are looked into by their owners. */
static bool is_of_type(const msgpack_object *value, crn_field_type type)
{
    switch (type) {
    case CRN_FIELD_BOOL:
        return value->type == MSGPACK_OBJECT_BOOLEAN;
    case CRN_FIELD_UNSIGNED:
        return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER || value->type == MSGPACK_OBJECT_NIL;
    case CRN_FIELD_INTEGER:
        return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
               value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
    case CRN_FIELD_REAL:
        return is_number(value);
    case CRN_FIELD_TEXT:
        return value->type == MSGPACK_OBJECT_STR;
    case CRN_FIELD_PAIR:
        return is_numbers(value, 2);
    case CRN_FIELD_BOX:
        return is_numbers(value, 4);
    case CRN_FIELD_POINTS:
        return value->type == MSGPACK_OBJECT_BIN && value->via.bin.size % 8 == 0;
    case CRN_FIELD_SURFACE:
        return value->type == MSGPACK_OBJECT_MAP || value->type == MSGPACK_OBJECT_NIL;
    case CRN_FIELD_TIMES:
    case CRN_FIELD_TOTALS:
    case CRN_FIELD_MEASURES:
        return value->type == MSGPACK_OBJECT_MAP;
    default:
        return value->type == MSGPACK_OBJECT_ARRAY;
    }
}

/* A map that begins with the first `count` keys of the table. */
static void expect_first(const msgpack_object *map, const crn_field *fields, uint32_t count)
{
    assert_int_equal(map->type, MSGPACK_OBJECT_MAP);
    assert_true(map->via.map.size >= count);
    for (uint32_t i = 0; i < count; i++) {
        const msgpack_object_kv *entry = &map->via.map.ptr[i];
        crn_expect_text(&entry->key, fields[i].key);
        if (!is_of_type(&entry->val, fields[i].type))
            fail_msg("'%s' is not of its field's type", fields[i].key);
    }
}

/* A map of the first `count` keys of the table. */
static void expect_fields(const msgpack_object *map, const crn_field *fields, uint32_t count)
{
    expect_first(map, fields, count);
    assert_int_equal(map->via.map.size, count);
}

/* True if the map's key at this place, behind those that it always has, is that one. */
static bool key_is(const msgpack_object *map, uint32_t place, const char *key)
{
    const msgpack_object_kv *entry = map->via.map.ptr + place;
    return map->via.map.size > place && entry->key.via.str.size == strlen(key) &&
           memcmp(entry->key.via.str.ptr, key, strlen(key)) == 0;
}

static void expect_defect(const msgpack_object *defect)
{
    uint32_t keys = CRN_KEYS_defect_always;
    expect_first(defect, crn_defect_fields, keys);
    if (key_is(defect, keys, CRN_KEY(defect, on_fruit))) {
        msgpack_object_type type = defect->via.map.ptr[keys].val.type;
        assert_true(type == MSGPACK_OBJECT_BOOLEAN || type == MSGPACK_OBJECT_NIL);
        keys++;
    }
    bool textures = key_is(defect, keys, CRN_KEY(defect, ranklet));
    assert_int_equal(defect->via.map.size, keys + textures);
    if (!textures)
        return;
    const msgpack_object *list = crn_decoded_field(defect, CRN_KEY(defect, ranklet));
    for (uint32_t i = 0; i < list->via.array.size; i++)
        expect_fields(&list->via.array.ptr[i], crn_texture_fields, CRN_KEYS_texture);
}

static void expect_each(const msgpack_object *maps, const crn_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < maps->via.array.size; i++)
        expect_fields(&maps->via.array.ptr[i], fields, count);
}

static void expect_surface(const msgpack_object *surface)
{
    if (surface->type == MSGPACK_OBJECT_NIL)
        return;
    expect_fields(surface, crn_surface_fields, CRN_KEYS_surface);
    expect_each(crn_decoded_field(surface, CRN_KEY(surface, pose)), crn_pose_fields, CRN_KEYS_pose);
    expect_each(crn_decoded_field(surface, CRN_KEY(surface, defects)), crn_spot_fields,
                CRN_KEYS_spot);
    const msgpack_object *classes = crn_decoded_field(surface, CRN_KEY(surface, classes));
    for (uint32_t i = 0; i < classes->via.map.size; i++)
        expect_fields(&classes->via.map.ptr[i].val, crn_measure_fields, CRN_KEYS_measure);
}

void crn_expect_verdict(const msgpack_object *verdict)
{
    bool measures = key_is(verdict, CRN_KEYS_verdict_always, CRN_KEY(verdict, surface));
    expect_fields(verdict, crn_verdict_fields, CRN_KEYS_verdict_always + measures);
    if (measures)
        expect_surface(crn_decoded_field(verdict, CRN_KEY(verdict, surface)));
    const msgpack_object *times = crn_decoded_field(verdict, CRN_KEY(verdict, latency_ms));
    uint32_t last = times->via.map.size - 1;
    crn_expect_text(&times->via.map.ptr[0].key, CRN_KEY(time, queue));
    crn_expect_text(&times->via.map.ptr[last].key, CRN_KEY(time, total));
    for (uint32_t i = 0; i <= last; i++)
        assert_true(is_number(&times->via.map.ptr[i].val));
    const msgpack_object *views = crn_decoded_field(verdict, CRN_KEY(verdict, view_states));
    for (uint32_t i = 0; i < views->via.array.size; i++) {
        const msgpack_object *view = &views->via.array.ptr[i];
        bool values = view->via.map.size > CRN_KEYS_view_always;
        expect_fields(view, crn_view_fields, values ? CRN_KEYS_view : CRN_KEYS_view_always);
    }
    const msgpack_object *totals = crn_decoded_field(verdict, CRN_KEY(verdict, totals));
    for (uint32_t i = 0; i < totals->via.map.size; i++)
        expect_fields(&totals->via.map.ptr[i].val, crn_total_fields, CRN_KEYS_total);
    const msgpack_object *defects = crn_decoded_field(verdict, CRN_KEY(verdict, defects));
    for (uint32_t i = 0; i < defects->via.array.size; i++)
        expect_defect(&defects->via.array.ptr[i]);
}

void crn_expect_latency_parts(const msgpack_object *verdict)
{
    const msgpack_object *latency = crn_decoded_field(verdict, "latency_ms");
    int64_t total_ns = nanoseconds_of(crn_decoded_field(latency, "total")), sum_ns = -total_ns;
    for (uint32_t i = 0; i < latency->via.map.size; i++) {
        int64_t part_ns = nanoseconds_of(&latency->via.map.ptr[i].val);
        assert_true(part_ns >= 0);
        sum_ns += part_ns;
    }
    assert_true(sum_ns <= total_ns);
}

static void expect_same_points(const msgpack_object_bin *bin, yajl_val value)
{
    assert_true(YAJL_IS_ARRAY(value));
    assert_int_equal(bin->size, YAJL_GET_ARRAY(value)->len * 2 * sizeof(float));
    for (size_t i = 0; i < YAJL_GET_ARRAY(value)->len; i++) {
        yajl_val pair = YAJL_GET_ARRAY(value)->values[i];
        assert_true(YAJL_IS_ARRAY(pair));
        assert_int_equal(YAJL_GET_ARRAY(pair)->len, 2);
        for (size_t k = 0; k < 2; k++) {
            float expected;
            memcpy(&expected, bin->ptr + (2 * i + k) * sizeof expected, sizeof expected);
            yajl_val coordinate = YAJL_GET_ARRAY(pair)->values[k];
            if (isfinite(expected))
                assert_true(strtof(YAJL_GET_NUMBER(coordinate), NULL) == expected);
            else
                assert_true(YAJL_IS_NULL(coordinate));
        }
    }
}

/* In JSON a number that JavaScript may round stands again, as a text behind it. */
static bool has_text(const msgpack_object_kv *pair)
{
    static const char *const keys[] = {"epoch", "fruit", "encoder"};
    if (pair->val.type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (pair->key.via.str.size == strlen(keys[i]) &&
            memcmp(pair->key.via.str.ptr, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static void expect_same_map(const msgpack_object_map *map, yajl_val value)
{
    assert_true(YAJL_IS_OBJECT(value));
    const char **keys = YAJL_GET_OBJECT(value)->keys;
    yajl_val *values = YAJL_GET_OBJECT(value)->values;
    size_t at = 0, length = YAJL_GET_OBJECT(value)->len;
    for (uint32_t i = 0; i < map->size; i++, at++) {
        assert_true(at < length);
        crn_expect_text(&map->ptr[i].key, keys[at]);
        crn_expect_same(&map->ptr[i].val, values[at]);
        if (!has_text(&map->ptr[i]))
            continue;
        char key[32];
        snprintf(key, sizeof key, "%s_text", keys[at]);
        assert_true(++at < length);
        assert_string_equal(keys[at], key);
        assert_string_equal(YAJL_GET_STRING(values[at]), YAJL_GET_NUMBER(values[at - 1]));
    }
    assert_int_equal(at, length);
}

static void expect_same_array(const msgpack_object_array *array, yajl_val value)
{
    assert_true(YAJL_IS_ARRAY(value));
    assert_int_equal(YAJL_GET_ARRAY(value)->len, array->size);
    for (uint32_t i = 0; i < array->size; i++)
        crn_expect_same(&array->ptr[i], YAJL_GET_ARRAY(value)->values[i]);
}

/* Both formats hold the same values, to the last bit and in the same order. */
void crn_expect_same(const msgpack_object *object, yajl_val value)
{
    switch (object->type) {
    case MSGPACK_OBJECT_NIL:
        assert_true(YAJL_IS_NULL(value));
        break;
    case MSGPACK_OBJECT_BOOLEAN:
        assert_true(object->via.boolean ? YAJL_IS_TRUE(value) : YAJL_IS_FALSE(value));
        break;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        assert_true(strtoull(YAJL_GET_NUMBER(value), NULL, 10) == object->via.u64);
        break;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        assert_true(strtoll(YAJL_GET_NUMBER(value), NULL, 10) == object->via.i64);
        break;
    case MSGPACK_OBJECT_FLOAT64:
        assert_true(YAJL_IS_NUMBER(value));
        assert_true(strtod(YAJL_GET_NUMBER(value), NULL) == object->via.f64);
        break;
    case MSGPACK_OBJECT_STR:
        assert_true(YAJL_IS_STRING(value));
        crn_expect_text(object, YAJL_GET_STRING(value));
        break;
    case MSGPACK_OBJECT_BIN:
        expect_same_points(&object->via.bin, value);
        break;
    case MSGPACK_OBJECT_ARRAY:
        expect_same_array(&object->via.array, value);
        break;
    case MSGPACK_OBJECT_MAP:
        expect_same_map(&object->via.map, value);
        break;
    default:
        fail_msg("a type that no verdict has: %d", object->type);
    }
}
