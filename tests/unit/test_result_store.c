/* The result store: results are preserved, blocks are reused, a full store reports so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/publish/result_store.h"
#include "tests/support/cmocka_prelude.h"

#define DEFECTS_MAX 300
#define POINTS_MAX  20000

/* Textures per defect. */
#define TEXTURES 3

static crn_defects make_defects(uint32_t defects, uint32_t points)
{
    crn_defects made = {.defect_capacity = defects,
                        .point_capacity = points,
                        .texture_capacity = TEXTURES * defects};
    made.textures = calloc(TEXTURES * (size_t)defects + 1, sizeof *made.textures);
    made.defects = calloc(defects + 1, sizeof *made.defects);
    made.xy = calloc(2 * (size_t)points + 1, sizeof *made.xy);
    assert_non_null(made.defects);
    assert_non_null(made.xy);
    assert_non_null(made.textures);
    return made;
}

static void free_defects(crn_defects *defects)
{
    free(defects->defects);
    free(defects->xy);
    free(defects->textures);
}

/* Gives every field of every defect, coordinate and
 * texture a distinct value, depending on the seed. */
static void fill(crn_defects *defects, uint32_t count, uint32_t points, uint32_t seed)
{
    memset(defects->defects, 0, count * sizeof *defects->defects);
    for (uint32_t i = 0; i < count; i++) {
        defects->defects[i].channel = (int32_t)(seed + i);
        defects->defects[i].parent = (int32_t)i - 1;
        defects->defects[i].hole = i & 1;
        defects->defects[i].first_point = i;
        defects->defects[i].area_px = seed * 1000.0 + i;
        defects->defects[i].mean_probability = 1.0 / (i + seed + 1);
        defects->defects[i].first_texture = TEXTURES * i;
        defects->defects[i].texture_count = TEXTURES;
    }
    for (uint32_t i = 0; i < 2 * points; i++)
        defects->xy[i] = (float)(seed * 100000 + i);
    defects->defect_count = count;
    defects->point_count = points;
    defects->texture_count = TEXTURES * count;
    for (uint32_t i = 0; i < defects->texture_count; i++)
        defects->textures[i] = (crn_texture){.width = (int32_t)(seed + i),
                                             .height = (int32_t)i,
                                             .vertical = (float)seed + (float)i / 7,
                                             .horizontal = (float)i,
                                             .diagonal = -(float)(seed + i)};
    defects->truncated = seed & 1;
}

static void expect_same(const crn_result_store *store, uint32_t handle, const crn_defects *expected)
{
    crn_defects read = make_defects(DEFECTS_MAX, POINTS_MAX);
    crn_result_store_read(store, handle, &read);
    assert_int_equal(read.defect_count, expected->defect_count);
    assert_int_equal(read.point_count, expected->point_count);
    assert_int_equal(read.truncated, expected->truncated);
    assert_memory_equal(read.defects, expected->defects,
                        expected->defect_count * sizeof *expected->defects);
    assert_memory_equal(read.xy, expected->xy, expected->point_count * 2 * sizeof *expected->xy);
    assert_int_equal(read.texture_count, expected->texture_count);
    assert_memory_equal(read.textures, expected->textures,
                        expected->texture_count * sizeof *expected->textures);
    free_defects(&read);
}

static void test_what_goes_in_comes_out(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 2}, {3, 17}, {300, 20000}, {0, 0}, {40, 511}};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(1 << 20, &store), 0);
    size_t all = crn_result_store_blocks_free(store);
    crn_defects in[SIZES];
    uint32_t handles[SIZES];
    for (uint32_t i = 0; i < SIZES; i++) {
        in[i] = make_defects(sizes[i][0], sizes[i][1]);
        fill(&in[i], sizes[i][0], sizes[i][1], i);
        assert_int_equal(crn_result_store_put(store, &in[i], &handles[i]), 0);
    }
    for (uint32_t i = 0; i < SIZES; i++)
        expect_same(store, handles[i], &in[i]);
    for (uint32_t i = 0; i < SIZES; i++) {
        crn_result_store_release(store, handles[i]);
        free_defects(&in[i]);
    }
    assert_int_equal(crn_result_store_blocks_free(store), all);
    crn_result_store_free(&store);
    assert_null(store);
}

static void test_no_defects_need_no_block(void **state)
{
    (void)state;
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(1, &store), 0);
    assert_int_equal(crn_result_store_blocks_free(store), 1);
    crn_defects none = make_defects(1, 1);
    uint32_t handle = 0;
    assert_int_equal(crn_result_store_put(store, &none, &handle), 0);
    assert_int_equal(handle, CRN_RESULT_NONE);
    assert_int_equal(crn_result_store_blocks_free(store), 1);
    expect_same(store, CRN_RESULT_NONE, &none);
    crn_result_store_release(store, CRN_RESULT_NONE);

    /* Leaving out all of them is a result too. */
    none.truncated = true;
    assert_int_equal(crn_result_store_put(store, &none, &handle), 0);
    expect_same(store, handle, &none);
    free_defects(&none);
    crn_result_store_free(&store);
}

/* Views of random size are stored and released:
 * nothing is lost, mixed up or leaked, full or not. */
static void test_blocks_come_back(void **state)
{
    (void)state;
    enum { HELD = 24, ROUNDS = 3000 };
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(256 * 1024, &store), 0);
    size_t all = crn_result_store_blocks_free(store);
    assert_int_equal(all, 64);
    crn_defects held[HELD] = {{0}};
    uint32_t handles[HELD];
    uint64_t random = 20261120;
    int refused = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t place = (uint32_t)(random >> 33) % HELD;
        if (held[place].defects) {
            expect_same(store, handles[place], &held[place]);
            crn_result_store_release(store, handles[place]);
            free_defects(&held[place]);
            held[place].defects = NULL;
            continue;
        }
        uint32_t count = 1 + (uint32_t)(random >> 40) % 60;
        uint32_t points = (uint32_t)(random >> 50) % 3000;
        crn_defects made = make_defects(count, points);
        fill(&made, count, points, round);
        size_t before = crn_result_store_blocks_free(store);
        uint32_t handle = 77;
        int r = crn_result_store_put(store, &made, &handle);
        if (r < 0) {
            assert_int_equal(r, -ENOBUFS);
            assert_int_equal(handle, 77);
            assert_int_equal(crn_result_store_blocks_free(store), before);
            free_defects(&made);
            refused++;
            continue;
        }
        held[place] = made;
        handles[place] = handle;
    }
    assert_true(refused > 0);
    for (uint32_t place = 0; place < HELD; place++) {
        if (!held[place].defects)
            continue;
        crn_result_store_release(store, handles[place]);
        free_defects(&held[place]);
    }
    assert_int_equal(crn_result_store_blocks_free(store), all);
    crn_result_store_free(&store);
}

static void test_what_does_not_fit_reads_as_truncated(void **state)
{
    (void)state;
    crn_result_store *store = NULL;
    assert_int_equal(crn_result_store_create(1 << 20, &store), 0);
    crn_defects in = make_defects(5, 50);
    fill(&in, 5, 50, 2);
    uint32_t handle;
    assert_int_equal(crn_result_store_put(store, &in, &handle), 0);
    crn_defects small = make_defects(5, 49);
    crn_result_store_read(store, handle, &small);
    assert_int_equal(small.defect_count, 0);
    assert_int_equal(small.point_count, 0);
    assert_true(small.truncated);
    free_defects(&small);
    small = make_defects(5, 50);
    small.texture_capacity--;
    crn_result_store_read(store, handle, &small);
    assert_int_equal(small.defect_count, 0);
    assert_int_equal(small.texture_count, 0);
    assert_true(small.truncated);
    free_defects(&small);
    free_defects(&in);
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
        cmocka_unit_test(test_no_defects_need_no_block),
        cmocka_unit_test(test_blocks_come_back),
        cmocka_unit_test(test_what_does_not_fit_reads_as_truncated),
        cmocka_unit_test(test_sizes_without_meaning_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
