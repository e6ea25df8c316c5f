/* Decoding of verdicts in MessagePack and in JSON, valid and invalid
 * (src/formats/encoding/messagepack_json.h, decode.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "src/formats/verdict/decode.h"

static void put_text(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str_with_body(packer, text, strlen(text));
}

static void put_reals(msgpack_packer *packer, const double *values, size_t count)
{
    msgpack_pack_array(packer, count);
    for (size_t i = 0; i < count; i++)
        msgpack_pack_double(packer, values[i]);
}

static void put_defect(msgpack_packer *packer, const char *class, bool hole)
{
    static const float xy[] = {1, 2, 3.25f, 4, 1, 2};
    msgpack_pack_map(packer, 9);
    put_text(packer, "view");
    msgpack_pack_uint8(packer, 1);
    put_text(packer, "class");
    put_text(packer, class);
    put_text(packer, "closed");
    msgpack_pack_true(packer);
    put_text(packer, "hole");
    hole ? msgpack_pack_true(packer) : msgpack_pack_false(packer);
    put_text(packer, "area_px");
    msgpack_pack_double(packer, 0.1);
    put_text(packer, "mean_probability");
    msgpack_pack_double(packer, hole ? NAN : 0.75);
    put_text(packer, "bbox");
    put_reals(packer, (const double[]){1, 2, 3.25, 4}, 4);
    put_text(packer, "centroid");
    put_reals(packer, (const double[]){2, 3}, 2);
    put_text(packer, "xy");
    msgpack_pack_bin_with_body(packer, xy, sizeof xy);
}

static const struct {
    const char *key;
    uint64_t value;
} counts[] = {{"v", 1},
              {"lane", 3},
              {"epoch", UINT64_MAX},
              {"fruit", 17},
              {"sequence", 40},
              {"encoder", 99},
              {"captured_ns", 1700000000000000001},
              {"published_ns", 1700000000100000001},
              {"views_expected", 4},
              {"views_received", 3},
              {"views_judged", 2},
              {"budget_ms", 100}};

/* Packs the message below; `run` and `defect_class` may hold any bytes. */
static void pack_verdict(msgpack_sbuffer *buffer, const char *word, const char *defect_class)
{
    msgpack_packer packer;
    msgpack_sbuffer_init(buffer);
    msgpack_packer_init(&packer, buffer, msgpack_sbuffer_write);
    msgpack_pack_map(&packer, 18);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        put_text(&packer, counts[i].key);
        msgpack_pack_uint64(&packer, counts[i].value);
    }
    put_text(&packer, "run");
    put_text(&packer, "0011223344556677");
    put_text(&packer, "verdict");
    put_text(&packer, word);
    put_text(&packer, "skipped");
    msgpack_pack_array(&packer, 1);
    put_text(&packer, "ranklet");
    put_text(&packer, "latency_ms");
    msgpack_pack_map(&packer, 2);
    put_text(&packer, "queue");
    msgpack_pack_double(&packer, 0.5);
    put_text(&packer, "total");
    msgpack_pack_double(&packer, 12.25);
    put_text(&packer, "totals");
    msgpack_pack_map(&packer, 1);
    put_text(&packer, "rot");
    msgpack_pack_map(&packer, 2);
    put_text(&packer, "count");
    msgpack_pack_uint8(&packer, 1);
    put_text(&packer, "area_px");
    msgpack_pack_double(&packer, 0.1);
    put_text(&packer, "defects");
    msgpack_pack_array(&packer, 2);
    put_defect(&packer, defect_class, false);
    put_defect(&packer, defect_class, true);
}

static int decode(const void *bytes, size_t size, crn_decoded **ret_decoded, crn_error *error)
{
    crn_messagepack_json packed;
    int r = crn_messagepack_json_init(&packed, bytes, size, error);
    if (r < 0)
        return r;
    r = crn_decode(&packed, ret_decoded, error);
    crn_messagepack_json_done(&packed);
    return r;
}

static int decode_text(const char *json, crn_error *error)
{
    crn_decoded *decoded = NULL;
    int r = decode(json, strlen(json), &decoded, error);
    crn_decoded_free(&decoded);
    return r;
}

/* The message as JSON text, owned by the caller. */
static char *print(const void *bytes, size_t size)
{
    crn_messagepack_json packed;
    assert_int_equal(crn_messagepack_json_init(&packed, bytes, size, NULL), 0);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(crn_messagepack_json_print(&packed, out), 0);
    fclose(out);
    crn_messagepack_json_done(&packed);
    return text;
}

static void check_verdict(const crn_decoded *decoded)
{
    assert_string_equal(decoded->run, "0011223344556677");
    assert_int_equal(decoded->lane, 3);
    assert_true(decoded->epoch == UINT64_MAX);
    assert_int_equal(decoded->fruit, 17);
    assert_int_equal(decoded->sequence, 40);
    assert_int_equal(decoded->kind, CRN_VERDICT_PARTIAL);
    assert_false(decoded->stale);
    assert_int_equal(decoded->encoder, 99);
    assert_true(decoded->captured_ns == 1700000000000000001);
    assert_int_equal(decoded->views_expected, 4);
    assert_int_equal(decoded->views_received, 3);
    assert_int_equal(decoded->views_judged, 2);
    assert_true(decoded->budget_ms == 100);
    assert_true(decoded->total_ms == 12.25);
    assert_int_equal(decoded->time_count, 2);
    assert_string_equal(decoded->times[0].name, "queue");
    assert_int_equal(decoded->skipped_count, 1);
    assert_string_equal(decoded->skipped[0], "ranklet");
    assert_int_equal(decoded->total_count, 1);
    assert_string_equal(decoded->totals[0].name, "rot");
    assert_true(decoded->totals[0].area_px == 0.1);
    assert_int_equal(decoded->defect_count, 2);
    assert_int_equal(decoded->point_count, 6);
    const crn_decoded_defect *hole = &decoded->defects[1];
    assert_true(hole->hole && hole->closed);
    assert_int_equal(hole->view, 1);
    assert_string_equal(hole->name, "rot");
    assert_true(isnan(hole->mean_probability));
    assert_true(decoded->defects[0].mean_probability == 0.75);
    assert_true(hole->bbox[3] == 4 && hole->centroid[0] == 2);
    assert_int_equal(hole->first_point, 3);
    assert_int_equal(hole->point_count, 3);
    assert_true(decoded->xy[8] == 3.25f && decoded->xy[9] == 4);
}

static void msgpack_and_json_decode_alike(void **state)
{
    (void)state;
    msgpack_sbuffer buffer;
    pack_verdict(&buffer, "partial", "rot");
    crn_decoded *decoded = NULL;
    assert_int_equal(decode(buffer.data, buffer.size, &decoded, NULL), 0);
    check_verdict(decoded);
    crn_decoded_free(&decoded);
    assert_null(decoded);

    char *json = print(buffer.data, buffer.size);
    assert_non_null(strstr(json, "\"xy\":[[1,2],[3.25,4],[1,2]]"));
    assert_non_null(strstr(json, "\"epoch\":18446744073709551615,"
                                 "\"epoch_text\":\"18446744073709551615\","
                                 "\"fruit\":17,\"fruit_text\":\"17\",\"sequence\""));
    assert_non_null(strstr(json, "\"area_px\":0.1,\"mean_probability\":null"));
    assert_int_equal(decode(json, strlen(json), &decoded, NULL), 0);
    check_verdict(decoded);
    crn_decoded_free(&decoded);

    char *again = print(json, strlen(json)); /* JSON in, the same JSON out */
    assert_string_equal(again, json);
    free(again);
    free(json);
    msgpack_sbuffer_destroy(&buffer);
}

static void every_cut_message_is_refused(void **state)
{
    (void)state;
    msgpack_sbuffer buffer;
    pack_verdict(&buffer, "complete", "rot");
    char *json = print(buffer.data, buffer.size);
    crn_decoded *decoded = NULL;
    crn_error error;
    for (size_t size = 0; size < buffer.size; size++) {
        char *cut = malloc(size ? size : 1); /* exact, so that sanitizers detect overreads */
        memcpy(cut, buffer.data, size);
        assert_int_equal(decode(cut, size, &decoded, &error), -EBADMSG);
        free(cut);
    }
    for (size_t size = 1; size < strlen(json) - 1; size++)
        assert_int_equal(decode(json, size, &decoded, &error), -EBADMSG);
    assert_null(decoded);
    msgpack_sbuffer_write(&buffer, "\0", 1);
    assert_int_equal(decode(buffer.data, buffer.size, &decoded, &error), -EBADMSG);
    assert_string_equal(error.text, "1 bytes follow the MessagePack value");
    free(json);
    msgpack_sbuffer_destroy(&buffer);
}

#define HEAD "{\"v\":1,\"run\":\"a\",\"lane\":0,\"fruit\":1,\"sequence\":2,\"verdict\":\"late\""
#define DEFECT                                                                                     \
    "{\"view\":0,\"class\":\"rot\",\"closed\":true,\"hole\":false,\"bbox\":[0,0,1,1],\"xy\":"

static void the_key_at_fault_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *fault;
    } cases[] = {
        {"{}", "not a verdict of version 1 ('v')"},
        {"{\"v\":2}", "not a verdict of version 1 ('v')"},
        {"{\"v\":1,\"run\":\"a\"}", "'lane' is missing"},
        {"{\"v\":1,\"run\":\"a\",\"lane\":-1}", "'lane' is of another kind than expected"},
        {"{\"v\":1,\"run\":\"a\",\"lane\":1.5}", "'lane' is of another kind than expected"},
        {"{\"v\":1,\"run\":\"a\",\"lane\":0,\"fruit\":1,\"sequence\":2,\"verdict\":\"good\"}",
         "'verdict' is 'good': complete, partial or late expected"},
        {HEAD ",\"latency_ms\":[1]}", "'latency_ms' is of another kind than expected"},
        {HEAD ",\"latency_ms\":{\"queue\":\"1\"}}",
         "'latency_ms' holds something without a number"},
        {HEAD ",\"totals\":{\"rot\":{\"count\":1}}}", "'area_px' is missing"},
        {HEAD ",\"totals\":{\"rot\":3}}", "not a map where one with 'count' is expected"},
        {HEAD ",\"skipped\":[[]]}", "'skipped' holds something that is not text"},
        {HEAD ",\"defects\":[1]}", "a defect without good 'xy'"},
        {HEAD ",\"defects\":[" DEFECT "[[0]]}]}", "'xy' holds a point that is not two numbers"},
        {HEAD ",\"defects\":[" DEFECT "[[0,null]]}]}",
         "'xy' holds a point that is not two numbers"},
        {HEAD ",\"defects\":[" DEFECT "[[0,1e300]]}]}",
         "'xy' holds a point that is not two numbers"},
        {HEAD ",\"defects\":[{\"xy\":[]}]}", "'view' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_error error = {""};
        assert_int_equal(decode_text(cases[i].json, &error), -EBADMSG);
        assert_string_equal(error.text, cases[i].fault);
    }
    assert_int_equal(decode_text(HEAD "}", NULL), 0); /* the minimal verdict */
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    char *json = malloc(2 * DEPTH + 8);
    memset(json, '[', 2 * DEPTH);
    memcpy(json, "{\"v\":", 5);
    memset(json + DEPTH, ']', DEPTH - 1);
    strcpy(json + 2 * DEPTH - 10, "}");
    crn_error error;
    assert_int_equal(decode_text(json, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "nested more than"));
    free(json);
    /* Brackets within a string do not nest, even after an escaped quote. */
    assert_int_equal(decode_text(HEAD ",\"x\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}", NULL),
                     0);
}

/* Comments could hold brackets that one who counts them in the text takes for the JSON's own, or
 * quotes that hide them. 400 kB of them ended programs by a stack overflow. */
static void comments_do_not_hide_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *level, *end;
    } hidden[] = {
        {"{\"v\":", "[/*]*/", ""},
        {"{\"v\":", "[//]\n", ""},
        {"{\"v\":/*\"*/", "[", "/*\"*/"},
    };
    enum { DEPTH = 60000 };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        char *json = calloc(1, 8 * DEPTH), *at = stpcpy(json, hidden[i].begin);
        for (int level = 0; level < DEPTH; level++)
            at = stpcpy(at, hidden[i].level);
        memset(at, ']', DEPTH);
        strcpy(at + DEPTH, "}");
        strcat(at, hidden[i].end);
        crn_error error = {""};
        assert_int_equal(decode_text(json, &error), -EBADMSG);
        if (!strstr(error.text, "not good JSON"))
            fail_msg("%s", error.text);
        free(json);
    }
    crn_error error = {""};
    assert_int_equal(decode_text(HEAD ",\"x\":1/* none of JSON */}", &error), -EBADMSG);
}

/* Whole numbers stay exact up to 64 bits, also as keys' values beside nested ones. */
static void json_values_keep_their_kinds(void **state)
{
    (void)state;
    static const char json[] =
        "{\"a\":[18446744073709551615,-9223372036854775808,0,-0.5,1e3,"
        "18446744073709551616],\"b\":{},\"c\":[[],{\"d\":null}],\"e\":[true,false],"
        "\"f\":\"\\u0041\\u0000b\"}";
    crn_messagepack_json packed;
    assert_int_equal(crn_messagepack_json_init(&packed, json, strlen(json), NULL), 0);
    const msgpack_object *root = &packed.tree.data;
    const msgpack_object *a = crn_value_get(root, "a")->via.array.ptr;
    assert_true(a[0].via.u64 == UINT64_MAX);
    assert_true(a[1].type == MSGPACK_OBJECT_NEGATIVE_INTEGER && a[1].via.i64 == INT64_MIN);
    assert_int_equal(a[2].type, MSGPACK_OBJECT_POSITIVE_INTEGER);
    assert_true(a[3].via.f64 == -0.5);
    assert_true(a[4].type == MSGPACK_OBJECT_FLOAT64 && a[4].via.f64 == 1000);
    assert_true(a[5].type == MSGPACK_OBJECT_FLOAT64 && a[5].via.f64 == 0x1p64);
    assert_int_equal(crn_value_get(root, "b")->via.map.size, 0);
    const msgpack_object *c = crn_value_get(root, "c");
    assert_int_equal(c->via.array.size, 2);
    assert_int_equal(c->via.array.ptr[0].via.array.size, 0);
    assert_int_equal(crn_value_get(&c->via.array.ptr[1], "d")->type, MSGPACK_OBJECT_NIL);
    assert_int_equal(crn_value_get(root, "f")->via.str.size, 3);
    crn_messagepack_json_done(&packed);
}

/* Lengths and counts that exceed the bytes are refused before memory is allocated. */
static void claims_beyond_the_bytes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *said;
    } cases[] = {
        {"\xdd\xff\xff\xff\xff", 5, "announces 4294967295 values in 0 bytes"},
        {"\xdf\xff\xff\xff\xff", 5, "announces 8589934590 values in 0 bytes"},
        {"\xdd\x00\xff\xff\xff\xc0", 6, "announces 16777215 values in 1 bytes"},
        {"\xdc\x00\x02\xdd\x7f\xff\xff\xff\xc0", 9, "announces"},
        {"\x92\x92\xc0", 3, "announces 3 values in 1 bytes"},
        {"\xc6\xff\xff\xff\xff", 5, "cut short"},
        {"\xdb\x00\x00\x00\x02x", 6, "cut short"},
        {"\xc9\xff\xff\xff\xff\x01", 6, "cut short"},
        {"\xda\x00", 2, "cut short"},
        {"\xcb\x00", 2, "cut short"},
        {"\xd8\x00", 2, "cut short"},
        {"\xbfx", 2, "cut short"},
        {"", 0, "cut short"},
        {"\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
         "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0",
         34, "nested more than 32 deep"},
        {"\x80\xc0", 2, "1 bytes follow"},
        {"{\"v\":1}\0{}", 10, "not good JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_messagepack_json packed;
        crn_error error = {""};
        void *exact = malloc(cases[i].size + !cases[i].size); /* sanitizers detect overreads */
        assert_non_null(exact);
        memcpy(exact, cases[i].bytes, cases[i].size);
        assert_int_equal(crn_messagepack_json_init(&packed, exact, cases[i].size, &error),
                         -EBADMSG);
        if (!strstr(error.text, cases[i].said))
            fail_msg("case %zu: %s", i, error.text);
        free(exact);
    }
}

static void texts_are_safe_to_print(void **state)
{
    (void)state;
    msgpack_sbuffer buffer;
    pack_verdict(&buffer, "complete",
                 "\033[2Ja\xff\xc3\xa4\xed\xa0\x80\xc0\x80 \xe2\x82\xac\xc2\x9b\xe0\x80\x80 "
                 "\xf0\x9f\x8d\x91");
    crn_decoded *decoded = NULL;
    assert_int_equal(decode(buffer.data, buffer.size, &decoded, NULL), 0);
    assert_string_equal(decoded->defects[0].name,
                        "\\x1b[2Ja\\xff\xc3\xa4\\xed\\xa0\\x80\\xc0\\x80 \xe2\x82\xac\\xc2\\x9b");
    crn_decoded_free(&decoded);
    char *json = print(buffer.data, buffer.size);
    assert_non_null(strstr(json, "\"class\":\"?\""));
    free(json);
    msgpack_sbuffer_destroy(&buffer);

    pack_verdict(&buffer, "complete", "\033\x7f\xc2\x9b\xe2\x80\xae\xc3\xa4");
    json = print(buffer.data, buffer.size);
    assert_non_null(strstr(json, "\"class\":\"\\u001B\\u007f\\u009b\\u202e\xc3\xa4\""));
    free(json);
    msgpack_sbuffer_destroy(&buffer);

    char name[100]; /* truncated between characters, never within one */
    memset(name, 'a', sizeof name);
    strcpy(name + CRN_DECODED_TEXT_BYTES - 2, "\xc3\xa4");
    pack_verdict(&buffer, "complete", name);
    assert_int_equal(decode(buffer.data, buffer.size, &decoded, NULL), 0);
    assert_int_equal(strlen(decoded->defects[0].name), CRN_DECODED_TEXT_BYTES - 2);
    crn_decoded_free(&decoded);
    msgpack_sbuffer_destroy(&buffer);
}

static void the_status_says_the_last_sequences(void **state)
{
    (void)state;
    static const char json[] =
        "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"lanes\":[{\"lane\":0,\"sequence\":7},"
        "{\"lane\":1,\"sequence\":null},5,{\"lane\":9,\"sequence\":0}],"
        "\"slots\":20,\"alive_ms\":100,\"classes\":[\"ground\",\"rot\"]}";
    crn_messagepack_json packed;
    crn_decoded_status status;
    assert_int_equal(crn_messagepack_json_init(&packed, json, strlen(json), NULL), 0);
    assert_int_equal(crn_decode_status(&packed, &status, NULL), 0);
    crn_messagepack_json_done(&packed);
    assert_string_equal(status.state, "running");
    assert_int_equal(status.lane_count, 2);
    assert_int_equal(status.lanes[0].sequence, 7);
    assert_int_equal(status.lanes[1].lane, 9);
    assert_int_equal(status.slots, 20);
    assert_int_equal(status.alive_ms, 100);
    assert_int_equal(status.class_count, 2);
    assert_string_equal(status.classes[1], "rot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(msgpack_and_json_decode_alike),
        cmocka_unit_test(every_cut_message_is_refused),
        cmocka_unit_test(the_key_at_fault_is_named),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(comments_do_not_hide_nesting),
        cmocka_unit_test(json_values_keep_their_kinds),
        cmocka_unit_test(claims_beyond_the_bytes_are_refused),
        cmocka_unit_test(texts_are_safe_to_print),
        cmocka_unit_test(the_status_says_the_last_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
