/* The result store: results are preserved, blocks are reused, a full store reports so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/publish/result_store.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

/* Bytes that tell a result from others, and its positions from each other. */
static unsigned char *make_bytes(size_t size, uint32_t seed)
{
    unsigned char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(seed * 31 + i + i / 251);
    return bytes;
}

/* Stores the bytes in three parts, one of them empty. */
static int put(crn_result_store *store, const unsigned char *bytes, size_t size, uint32_t *handle)
{
    crn_result_part parts[] = {{bytes, size / 3}, {NULL, 0}, {bytes + size / 3, size - size / 3}};
    return crn_result_store_put(store, parts, 3, handle);
}

/* Reads the result in pieces of these many bytes, every other one passed over. */
static void expect_in_pieces(const crn_result_store *store, uint32_t handle,
                             const unsigned char *bytes, size_t size, size_t piece)
{
    crn_result_reader reader = crn_result_store_open(store, handle);
    unsigned char *read = malloc(piece);
    assert_non_null(read);
    for (size_t at = 0, i = 0; at < size; at += piece, i++) {
        size_t here = size - at < piece ? size - at : piece;
        crn_result_read(&reader, i % 2 ? NULL : read, here);
        if (i % 2 == 0)
            assert_memory_equal(read, bytes + at, here);
    }
    free(read);
}

static void expect_same(const crn_result_store *store, uint32_t handle, const unsigned char *bytes,
                        size_t size)
{
    static const size_t pieces[] = {1, 100, 4095, 4096, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        expect_in_pieces(store, handle, bytes, size, pieces[i]);
}

static void test_what_goes_in_comes_out(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 17, 4095, 4096, 4097, 8192, 200000, 0, 3 * 4096};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(1 << 20, &store), 0);
    size_t all = crn_result_store_blocks_free(store);
    unsigned char *in[SIZES];
    uint32_t handles[SIZES];
    for (uint32_t i = 0; i < SIZES; i++) {
        in[i] = make_bytes(sizes[i], i);
        assert_int_equal(put(store, in[i], sizes[i], &handles[i]), 0);
    }
    for (uint32_t i = 0; i < SIZES; i++)
        expect_same(store, handles[i], in[i], sizes[i]);
    assert_true(crn_result_store_blocks_free(store) < all);
    for (uint32_t i = 0; i < SIZES; i++) {
        crn_result_store_release(store, handles[i]);
        free(in[i]);
    }
    crn_result_store_release(store, CRN_RESULT_NONE);
    assert_int_equal(crn_result_store_blocks_free(store), all);
    crn_result_store_free(&store);
    assert_null(store);
}

/* A reader that was copied reads on from where it was. */
static void test_a_result_is_read_at_two_positions(void **state)
{
    (void)state;
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(1 << 16, &store), 0);
    unsigned char *bytes = make_bytes(20000, 5);
    uint32_t handle;
    assert_int_equal(put(store, bytes, 20000, &handle), 0);
    crn_result_reader first = crn_result_store_open(store, handle);
    crn_result_reader second = first;
    crn_result_read(&second, NULL, 12000);
    unsigned char read[5000];
    for (size_t at = 0; at < 10000; at += 5000) {
        crn_result_read(&first, read, 5000);
        assert_memory_equal(read, bytes + at, 5000);
        crn_result_read(&second, read, 4000);
        assert_memory_equal(read, bytes + 12000 + at / 5000 * 4000, 4000);
    }
    free(bytes);
    crn_result_store_free(&store);
}

/* Results of random size are stored and released:
 * nothing is lost, mixed up or leaked, full or not. */
static void test_blocks_come_back(void **state)
{
    (void)state;
    enum { HELD = 24, ROUNDS = 3000 };
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(256 * 1024, &store), 0);
    size_t all = crn_result_store_blocks_free(store);
    assert_int_equal(all, 64);
    unsigned char *held[HELD] = {NULL};
    size_t sizes[HELD];
    uint32_t handles[HELD];
    crn_random random = {crn_random_seed()};
    int refused = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t place = crn_random_below(&random, HELD);
        if (held[place]) {
            expect_in_pieces(store, handles[place], held[place], sizes[place], 777);
            crn_result_store_release(store, handles[place]);
            free(held[place]);
            held[place] = NULL;
            continue;
        }
        size_t size = crn_random_below(&random, 40000);
        unsigned char *made = make_bytes(size, round);
        size_t before = crn_result_store_blocks_free(store);
        uint32_t handle = 77;
        int r = put(store, made, size, &handle);
        if (r < 0) {
            assert_int_equal(r, -ENOBUFS);
            assert_int_equal(handle, 77);
            assert_int_equal(crn_result_store_blocks_free(store), before);
            free(made);
            refused++;
            continue;
        }
        held[place] = made;
        sizes[place] = size;
        handles[place] = handle;
    }
    assert_true(refused > 0);
    for (uint32_t place = 0; place < HELD; place++) {
        if (!held[place])
            continue;
        crn_result_store_release(store, handles[place]);
        free(held[place]);
    }
    assert_int_equal(crn_result_store_blocks_free(store), all);
    crn_result_store_free(&store);
}

static void test_sizes_without_meaning_are_refused(void **state)
{
    (void)state;
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(0, &store), -EINVAL);
    assert_int_equal(crn_result_store_create(SIZE_MAX, &store), -EINVAL);
    assert_null(store);
    crn_result_store_free(&store);
    crn_result_store_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_goes_in_comes_out),
        cmocka_unit_test(test_a_result_is_read_at_two_positions),
        cmocka_unit_test(test_blocks_come_back),
        cmocka_unit_test(test_sizes_without_meaning_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
