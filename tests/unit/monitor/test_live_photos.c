/* Photographs on their way to the pages: only when asked for, whole, and as PNG. */
#include <png.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/fruits/sheets.h"
#include "src/monitor/fruits/live_photos.h"
#include "tests/support/cmocka_prelude.h"

#define WIDTH  70
#define HEIGHT 30

typedef struct photos_fixture {
    crn_live_photos *photos;
    crn_sheets *sheets;
    unsigned char pixels[WIDTH * HEIGHT];
} photos_fixture;

static int set_up(void **state)
{
    static photos_fixture f;
    memset(&f, 0, sizeof f);
    *state = &f;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        f.pixels[i] = (unsigned char)(i * 7);
    if (crn_live_photos_create(&f.photos) < 0)
        return -1;
    return crn_sheets_create(&f.sheets);
}

static int tear_down(void **state)
{
    photos_fixture *f = *state;
    crn_live_photos_free(&f->photos);
    crn_sheets_free(&f->sheets);
    return 0;
}

static crn_view view_of(photos_fixture *f, uint64_t fruit, uint16_t number)
{
    return (crn_view){.epoch = 5, /* of the fruit, whose first sender had it */
                      .header = {.lane = 3,
                                 .epoch = 6,
                                 .fruit = fruit,
                                 .view = number,
                                 .height = HEIGHT,
                                 .width = number == 2 ? WIDTH / 2 : WIDTH,
                                 .flags = CRN_WIRE_FLAG_INTENSITY},
                      .intensity = f->pixels};
}

static void offer(photos_fixture *f, uint64_t fruit)
{
    crn_view none = {.header = {.fruit = fruit, .height = HEIGHT, .width = WIDTH}};
    crn_view first = view_of(f, fruit, 0), third = view_of(f, fruit, 2);
    crn_live_photos_begin(f->photos);
    crn_live_photos_add(f->photos, &first);
    crn_live_photos_add(f->photos, &none);
    crn_live_photos_add(f->photos, &third);
    crn_live_photos_end(f->photos);
}

static void they_come_when_asked_for(void **state)
{
    photos_fixture *f = *state;
    assert_false(crn_live_photos_are_wanted(f->photos, 3));
    assert_null(crn_live_photos_take(f->photos));
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    assert_true(crn_live_photos_are_wanted(f->photos, 3));
    assert_null(crn_live_photos_take(f->photos));
    offer(f, 8);
    assert_false(crn_live_photos_are_wanted(f->photos, 3));
    const crn_photo_set *set = crn_live_photos_take(f->photos);
    assert_non_null(set);
    assert_int_equal(set->fruit, 8);
    assert_int_equal(set->lane, 3);
    assert_int_equal(set->epoch, 5);
    assert_int_equal(set->count, 2);
    assert_int_equal(set->photos[1].view, 2);
    assert_memory_equal(set->photos[0].pixels, f->pixels, WIDTH * HEIGHT);
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    assert_null(crn_live_photos_take(f->photos));
}

/* Of another lane than is asked for they do not come, until any will do. */
static void they_come_of_the_lane_asked_for(void **state)
{
    photos_fixture *f = *state;
    crn_live_photos_want(f->photos, 4);
    assert_false(crn_live_photos_are_wanted(f->photos, 3));
    assert_true(crn_live_photos_are_wanted(f->photos, 4));
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    assert_true(crn_live_photos_are_wanted(f->photos, 3));
}

static void a_fruit_without_leaves_the_question_open(void **state)
{
    photos_fixture *f = *state;
    crn_view none = {.header = {.height = HEIGHT, .width = WIDTH}};
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    crn_live_photos_begin(f->photos);
    crn_live_photos_add(f->photos, &none);
    crn_live_photos_end(f->photos);
    assert_true(crn_live_photos_are_wanted(f->photos, 3));
}

static void too_large_ones_are_left_out(void **state)
{
    photos_fixture *f = *state;
    crn_view large = view_of(f, 1, 0), small = view_of(f, 1, 1);
    large.header.height = large.header.width = 2049; /* more than CRN_LIVE_PHOTOS_BYTES: not read */
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    crn_live_photos_begin(f->photos);
    crn_live_photos_add(f->photos, &large);
    crn_live_photos_add(f->photos, &small);
    crn_live_photos_end(f->photos);
    const crn_photo_set *set = crn_live_photos_take(f->photos);
    assert_int_equal(set->count, 1);
    assert_int_equal(set->photos[0].view, 1);
}

/* Two threads: what is taken is one fruit's, whole. */
static void *run_line(void *argument)
{
    photos_fixture *f = argument;
    for (uint64_t fruit = 1; fruit <= 2000;) {
        if (!crn_live_photos_are_wanted(f->photos, 3))
            continue;
        memset(f->pixels, (int)fruit, sizeof f->pixels);
        offer(f, fruit++);
    }
    return NULL;
}

static void one_fruit_at_a_time(void **state)
{
    photos_fixture *f = *state;
    pthread_t line;
    uint64_t last = 0;
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    assert_int_equal(pthread_create(&line, NULL, run_line, f), 0);
    while (last < 2000) {
        const crn_photo_set *set = crn_live_photos_take(f->photos);
        if (!set)
            continue;
        assert_int_equal(set->fruit, last + 1);
        last = set->fruit;
        for (uint32_t i = 0; i < set->count; i++)
            for (uint32_t k = 0; k < set->photos[i].height_px * set->photos[i].width_px; k++)
                assert_int_equal(set->photos[i].pixels[k], (unsigned char)last);
        crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    }
    pthread_join(line, NULL);
}

static void a_sheet_holds_the_pixels(void **state)
{
    photos_fixture *f = *state;
    crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
    offer(f, 8);
    const crn_sheet *sheet = crn_sheets_add(f->sheets, crn_live_photos_take(f->photos));
    assert_non_null(sheet);
    assert_int_equal(sheet->number, 1);
    assert_int_equal(sheet->part_count, 2);
    assert_int_equal(sheet->parts[1].y_px, HEIGHT);
    assert_int_equal(sheet->parts[1].width_px, WIDTH / 2);
    png_image image = {.version = PNG_IMAGE_VERSION};
    const void *png;
    size_t size;
    crn_sheet_file *file = crn_sheet_hold(sheet, &png, &size);
    assert_true(png_image_begin_read_from_memory(&image, png, size));
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, 2 * HEIGHT);
    image.format = PNG_FORMAT_GRAY;
    unsigned char read[2 * HEIGHT][WIDTH];
    assert_true(png_image_finish_read(&image, NULL, read, WIDTH, NULL));
    assert_memory_equal(read, f->pixels, WIDTH * HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        assert_memory_equal(read[HEIGHT + y], f->pixels + y * (WIDTH / 2), WIDTH / 2);
        assert_int_equal(read[HEIGHT + y][WIDTH - 1], 0);
    }
    crn_sheet_let_go(file);
}

/* A wide photograph above a high one would be a square of 10^10 pixels, most of them black. */
static void a_sheet_stays_small(void **state)
{
    photos_fixture *f = *state;
    static unsigned char pixels[100000];
    crn_photo_set set = {.count = 3,
                         .photos = {{.view = 0, .height_px = 1, .width_px = 30000},
                                    {.view = 1, .height_px = 30000, .width_px = 1},
                                    {.view = 2, .height_px = 1, .width_px = 100}}};
    for (uint32_t i = 0; i < set.count; i++)
        set.photos[i].pixels = pixels;
    const crn_sheet *sheet = crn_sheets_add(f->sheets, &set);
    assert_int_equal(sheet->part_count, 2);
    assert_int_equal(sheet->parts[1].view, 2);
    assert_int_equal(sheet->parts[1].y_px, 1);
    set = (crn_photo_set){.count = 1,
                          .photos = {{.height_px = 1, .width_px = 100000, .pixels = pixels}}};
    assert_null(crn_sheets_add(f->sheets, &set)); /* browsers do not show it */
}

#define NOISE_SIDE 2048

/* What slow readers hold counts: beyond the limit there are no new sheets, until one lets go. */
static void readers_share_files_within_the_limit(void **state)
{
    photos_fixture *f = *state;
    unsigned char *noise = malloc(NOISE_SIDE * NOISE_SIDE);
    crn_sheet_file *held[CRN_SHEETS_MAX];
    const void *png, *again;
    size_t size, count = 0;
    assert_non_null(noise);
    for (int i = 0; i < NOISE_SIDE * NOISE_SIDE; i++)
        noise[i] = (unsigned char)rand();
    crn_photo_set set = {
        .count = 1, .photos = {{.height_px = NOISE_SIDE, .width_px = NOISE_SIDE, .pixels = noise}}};
    const crn_sheet *sheet;
    while ((sheet = crn_sheets_add(f->sheets, &set))) {
        assert_true(count < CRN_SHEETS_MAX);
        held[count++] = crn_sheet_hold(sheet, &png, &size);
    }
    assert_int_equal(count, CRN_SHEETS_BYTES / size);
    assert_memory_equal(png, "\x89PNG", 4);
    crn_sheet_let_go(held[0]);
    sheet = crn_sheets_add(f->sheets, &set);
    assert_non_null(sheet);
    held[0] = crn_sheet_hold(sheet, &png, &size);
    assert_ptr_equal(crn_sheet_hold(sheet, &again, &size), held[0]);
    assert_ptr_equal(again, png);
    crn_sheet_let_go(held[0]);
    for (size_t i = 0; i < count; i++)
        crn_sheet_let_go(held[i]);
    free(noise);
}

/* A sender that was restarted without a new epoch numbers its fruits alike. */
static void of_fruits_numbered_alike_the_latest_counts(void **state)
{
    photos_fixture *f = *state;
    for (uint64_t i = 1; i <= 2; i++) {
        crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
        offer(f, 8);
        assert_non_null(crn_sheets_add(f->sheets, crn_live_photos_take(f->photos)));
        assert_int_equal(crn_sheets_of(f->sheets, 3, 5, 8)->number, i);
    }
}

static void the_last_sheets_are_kept(void **state)
{
    photos_fixture *f = *state;
    for (uint64_t fruit = 1; fruit <= CRN_SHEETS_MAX + 3; fruit++) {
        crn_live_photos_want(f->photos, CRN_LIVE_PHOTOS_ANY);
        offer(f, fruit);
        assert_non_null(crn_sheets_add(f->sheets, crn_live_photos_take(f->photos)));
    }
    assert_null(crn_sheets_find(f->sheets, 0));
    assert_null(crn_sheets_find(f->sheets, 3));
    assert_null(crn_sheets_find(f->sheets, CRN_SHEETS_MAX + 4));
    for (uint64_t number = 4; number <= CRN_SHEETS_MAX + 3; number++)
        assert_int_equal(crn_sheets_find(f->sheets, number)->fruit, number);
    assert_null(crn_sheets_of(f->sheets, 3, 5, 3));
    assert_null(crn_sheets_of(f->sheets, 3, 4, 9));
    assert_int_equal(crn_sheets_of(f->sheets, 3, 5, 9)->number, 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_come_when_asked_for),
        TEST(they_come_of_the_lane_asked_for),
        TEST(a_fruit_without_leaves_the_question_open),
        TEST(too_large_ones_are_left_out),
        TEST(one_fruit_at_a_time),
        TEST(a_sheet_holds_the_pixels),
        TEST(a_sheet_stays_small),
        TEST(the_last_sheets_are_kept),
        TEST(readers_share_files_within_the_limit),
        TEST(of_fruits_numbered_alike_the_latest_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
