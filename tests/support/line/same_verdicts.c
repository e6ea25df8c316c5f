#include "tests/support/line/same_verdicts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/verdict_log/reader.h"
#include "tests/support/cmocka_prelude.h"

#define VERDICTS_MAX 64

typedef struct kept_verdict {
    uint64_t lane, fruit;
    unsigned char *bytes;
    crn_messagepack_json tree;
} kept_verdict;

typedef struct kept_log {
    kept_verdict verdicts[VERDICTS_MAX];
    int count;
} kept_log;

static void read_log(const char *dir, kept_log *ret_log)
{
    crn_verdict_reader *reader;
    crn_logged_verdict logged;
    crn_error error;
    *ret_log = (kept_log){0};
    if (crn_verdict_reader_open(dir, &reader, &error))
        fail_msg("%s", error.text);
    while (crn_verdict_reader_next(reader, &logged, &error) > 0) {
        assert_true(ret_log->count < VERDICTS_MAX);
        kept_verdict *it = &ret_log->verdicts[ret_log->count++];
        it->bytes = malloc(logged.size);
        assert_non_null(it->bytes);
        memcpy(it->bytes, logged.bytes, logged.size);
        assert_int_equal(crn_messagepack_json_init(&it->tree, it->bytes, logged.size, &error), 0);
        const msgpack_object *root = &it->tree.tree.data;
        assert_true(crn_value_unsigned(crn_value_get(root, "lane"), UINT64_MAX, &it->lane));
        assert_true(crn_value_unsigned(crn_value_get(root, "fruit"), UINT64_MAX, &it->fruit));
    }
    crn_verdict_reader_close(&reader);
}

static void free_log(kept_log *log)
{
    for (int i = 0; i < log->count; i++) {
        crn_messagepack_json_done(&log->verdicts[i].tree);
        free(log->verdicts[i].bytes);
    }
}

static bool is_in(const msgpack_object *key, const char *const *names)
{
    while (*names && !crn_value_is_text(key, *names))
        names++;
    return *names;
}

static bool is_equal(const msgpack_object *a, const msgpack_object *b, const char *const *but,
                     char where[256])
{
    if (a->type == MSGPACK_OBJECT_MAP && b->type == a->type && a->via.map.size == b->via.map.size) {
        for (uint32_t i = 0; i < a->via.map.size; i++) {
            const msgpack_object_kv *one = &a->via.map.ptr[i], *two = &b->via.map.ptr[i];
            if (!msgpack_object_equal(one->key, two->key))
                return false;
            if (!is_in(&one->key, but) && !is_equal(&one->val, &two->val, but, where)) {
                snprintf(where + strlen(where), 256 - strlen(where), " < %.*s",
                         (int)one->key.via.str.size, one->key.via.str.ptr);
                return false;
            }
        }
        return true;
    }
    if (a->type != MSGPACK_OBJECT_ARRAY || b->type != a->type ||
        a->via.array.size != b->via.array.size)
        return msgpack_object_equal(*a, *b);
    for (uint32_t i = 0; i < a->via.array.size; i++)
        if (!is_equal(&a->via.array.ptr[i], &b->via.array.ptr[i], but, where))
            return false;
    return true;
}

void crn_test_same_verdicts(const char *dir, const char *other, int count, const char *const *but)
{
    static kept_log one, two;
    read_log(dir, &one);
    read_log(other, &two);
    assert_int_equal(one.count, count);
    assert_int_equal(two.count, count);
    for (int i = 0; i < one.count; i++) {
        int at = 0;
        char where[256] = "";
        while (at < two.count && (two.verdicts[at].lane != one.verdicts[i].lane ||
                                  two.verdicts[at].fruit != one.verdicts[i].fruit))
            at++;
        assert_true(at < two.count);
        if (!is_equal(&one.verdicts[i].tree.tree.data, &two.verdicts[at].tree.tree.data, but,
                      where))
            fail_msg("fruit %d differs:%s", (int)one.verdicts[i].fruit, where);
    }
    free_log(&one);
    free_log(&two);
}
