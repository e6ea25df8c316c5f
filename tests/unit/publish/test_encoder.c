/* The encoder: extreme values round-trip, and a message of the same size as the previous one
 * allocates nothing. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/encoding/encoder.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/sanitized.h"

/* Sanitizers have their own allocator, whose calls cannot be counted here. */
#ifdef CRN_SANITIZED
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static size_t allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}
#endif

typedef struct written {
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
} written;

static void begin(written *message, crn_format format)
{
    assert_int_equal(crn_encoder_create(format, &message->encoder), 0);
    assert_int_equal(crn_encoder_format(message->encoder), format);
    crn_encoder_begin(message->encoder);
}

static void end(written *message)
{
    assert_int_equal(crn_encoder_end(message->encoder, &message->bytes, &message->size), 0);
}

/* Encodes the same in both formats and decodes both. */
static void expect_both_same(void (*write)(crn_encoder *))
{
    written messages[2];
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        begin(&messages[format], format);
        write(messages[format].encoder);
        end(&messages[format]);
    }
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    const char *packed = (const char *)messages[CRN_FORMAT_MSGPACK].bytes;
    size_t read = 0;
    assert_int_equal(
        msgpack_unpack_next(&unpacked, packed, messages[CRN_FORMAT_MSGPACK].size, &read),
        MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(read, messages[CRN_FORMAT_MSGPACK].size);
    char *text = calloc(messages[CRN_FORMAT_JSON].size + 1, 1);
    memcpy(text, messages[CRN_FORMAT_JSON].bytes, messages[CRN_FORMAT_JSON].size);
    yajl_val tree = yajl_tree_parse(text, NULL, 0);
    assert_non_null(tree);
    crn_expect_same(&unpacked.data, tree);
    yajl_tree_free(tree);
    free(text);
    msgpack_unpacked_destroy(&unpacked);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++)
        crn_encoder_free(&messages[format].encoder);
}

static const double reals[] = {0.0,     -0.0,  1.0 / 3, 0.1,  1e300, DBL_MIN, DBL_TRUE_MIN,
                               DBL_MAX, -1e-7, 1e15,    1e17, NAN,   INFINITY};

static void write_extremes(crn_encoder *encoder)
{
    crn_encoder_map(encoder, 5);
    crn_encoder_text(encoder, "reals");
    crn_encoder_array(encoder, sizeof reals / sizeof reals[0]);
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        crn_encoder_real(encoder, reals[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "integers");
    crn_encoder_array(encoder, 4);
    crn_encoder_integer(encoder, INT64_MIN);
    crn_encoder_integer(encoder, -1);
    crn_encoder_unsigned(encoder, UINT64_MAX);
    crn_encoder_unsigned(encoder, 0);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "a \"key\"\\\n\xc3\xa9");
    crn_encoder_text(encoder, "\t\x01/");
    crn_encoder_text(encoder, "xy");
    crn_encoder_points(
        encoder, (const float[]){0.1f, FLT_MAX, -FLT_TRUE_MIN, 16777215.0f, NAN, 1.0f / 3}, 3);
    crn_encoder_text(encoder, "others");
    crn_encoder_array(encoder, 4);
    crn_encoder_null(encoder);
    crn_encoder_bool(encoder, true);
    crn_encoder_bool(encoder, false);
    crn_encoder_points(encoder, NULL, 0);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

static void test_extremes_come_back(void **state)
{
    (void)state;
    expect_both_same(write_extremes);
}

static void test_json_is_plain(void **state)
{
    (void)state;
    written json;
    begin(&json, CRN_FORMAT_JSON);
    crn_encoder_map(json.encoder, 3);
    crn_encoder_text(json.encoder, "later");
    size_t at = crn_encoder_later_bool(json.encoder);
    crn_encoder_text(json.encoder, "xy");
    crn_encoder_points(json.encoder, (const float[]){-1.0f, 0.1f, NAN, 2.5f}, 2);
    crn_encoder_text(json.encoder, "reals");
    crn_encoder_array(json.encoder, 3);
    crn_encoder_real(json.encoder, 0.1);
    crn_encoder_real(json.encoder, 31.25);
    crn_encoder_real(json.encoder, -INFINITY);
    crn_encoder_array_end(json.encoder);
    crn_encoder_map_end(json.encoder);
    end(&json);
    static const char expected[] =
        "{\"later\":false,\"xy\":[[-1,0.100000001],[null,2.5]],\"reals\":[0.1,31.25,null]}";
    assert_int_equal(json.size, strlen(expected));
    assert_memory_equal(json.bytes, expected, json.size);
    assert_memory_equal(json.bytes + at, "false", 5);
    crn_encoder_free(&json.encoder);
    crn_encoder_free(&json.encoder);
    crn_encoder_free(NULL);
}

/* Every number of digits, and both ends. */
static void test_gaps_are_filled_as_if_known(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 9, 10, 127, 128, -1, -33, 65536, INT64_MAX, INT64_MIN};
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            written known, gap, joined;
            begin(&known, format);
            crn_encoder_array(known.encoder, 2);
            crn_encoder_integer(known.encoder, values[i]);
            crn_encoder_text(known.encoder, "next");
            crn_encoder_array_end(known.encoder);
            end(&known);
            begin(&gap, format);
            crn_encoder_array(gap.encoder, 2);
            size_t at = crn_encoder_gap(gap.encoder);
            crn_encoder_text(gap.encoder, "next");
            crn_encoder_array_end(gap.encoder);
            end(&gap);
            begin(&joined, format);
            memcpy(crn_encoder_piece(joined.encoder, at), gap.bytes, at);
            crn_encoder_fill_gap(joined.encoder, values[i]);
            memcpy(crn_encoder_piece(joined.encoder, gap.size - at), gap.bytes + at, gap.size - at);
            end(&joined);
            assert_int_equal(joined.size, known.size);
            assert_memory_equal(joined.bytes, known.bytes, known.size);
            crn_encoder_free(&known.encoder);
            crn_encoder_free(&gap.encoder);
            crn_encoder_free(&joined.encoder);
        }
    }
}

#if COUNTS_ALLOCATIONS
static void test_nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    static float xy[60000];
    for (size_t i = 0; i < 60000; i++)
        xy[i] = (float)i / 7;
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        written message;
        begin(&message, format);
        size_t cold = allocations, warm = 0;
        for (int round = 0; round < 20; round++) {
            crn_encoder_begin(message.encoder);
            write_extremes(message.encoder);
            crn_encoder_begin(message.encoder);
            crn_encoder_points(message.encoder, xy, 30000);
            end(&message);
            if (round == 0)
                warm = allocations;
        }
        assert_true(warm > cold); /* the buffer had to grow at first */
        assert_int_equal(allocations, warm);
        crn_encoder_free(&message.encoder);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps_are_filled_as_if_known),
        cmocka_unit_test(test_extremes_come_back),
        cmocka_unit_test(test_json_is_plain),
#if COUNTS_ALLOCATIONS
        cmocka_unit_test(test_nothing_is_allocated_once_warm),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
