#include "tests/support/parts/recorded.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

char recorded_folder[] = "/tmp/test_recorded.XXXXXX";
char recorded_path[64], recorded_part[72];

int recorded_setup(void **state)
{
    (void)state;
    if (!mkdtemp(recorded_folder))
        return -1;
    snprintf(recorded_path, sizeof recorded_path, "%s/r.tif", recorded_folder);
    snprintf(recorded_part, sizeof recorded_part, "%s.part", recorded_path);
    return 0;
}

void recorded_clear(void)
{
    char path[PATH_MAX];
    DIR *folder = opendir(recorded_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", recorded_folder, entry->d_name);
        unlink(path);
    }
    closedir(folder);
}

int recorded_teardown(void **state)
{
    (void)state;
    unlink(recorded_path);
    unlink(recorded_part);
    return rmdir(recorded_folder);
}

#define BYTES_MAX 70000
static unsigned char maps_made[BYTES_MAX], intensity_made[BYTES_MAX];

crn_recorded_view recorded_view(uint64_t number, crn_type type, crn_layout layout,
                                uint32_t channels, uint32_t height, uint32_t width, bool intensity)
{
    uint64_t bytes = (uint64_t)channels * height * width * crn_type_bytes(type);
    assert_true(bytes <= BYTES_MAX);
    uint64_t state = number * 0x9e3779b97f4a7c15u + bytes;
    for (uint64_t i = 0; i < bytes; i++)
        maps_made[i] = (unsigned char)((state = state * 6364136223846793005u + 1) >> 56);
    for (uint32_t i = 0; i < height * width; i++)
        intensity_made[i] = (unsigned char)((state = state * 6364136223846793005u + 1) >> 56);
    crn_recorded_view view = {
        .header = {.sequence = UINT64_MAX - number,
                   .epoch = (UINT64_C(1) << 63) + 1 + number,
                   .fruit = (UINT64_C(1) << 53) + 1 + number,
                   .captured_ns = UINT64_C(1790000000123456789) + number,
                   .deadline_ns = UINT64_MAX,
                   .encoder = number,
                   .class_set = UINT64_C(0xfedcba9876543211),
                   .payload_bytes = bytes,
                   .lane = UINT32_MAX,
                   .flags = (uint16_t)((intensity ? CRN_WIRE_FLAG_INTENSITY : 0) |
                                       (number % 2 ? CRN_WIRE_FLAG_POSE : 0)),
                   .view = UINT16_MAX - 1,
                   .views = UINT16_MAX,
                   .height = height,
                   .width = width,
                   .channels = channels,
                   .type = type,
                   .layout = layout},
        .arrived_ns = UINT64_C(1790000000987654321),
        .maps = maps_made,
        .intensity = intensity ? intensity_made : NULL};
    if (number % 2)
        view.header.pose = (crn_wire_pose){0.1F, 1e6F, 1e-6F, 40, -1.0F / 3};
    return view;
}

crn_recorded_view recorded_small(uint64_t number)
{
    return recorded_view(number, CRN_U8, CRN_HWC, 3, 5, 7, true);
}

void recorded_assert_header(const crn_recorded_view *a, const crn_recorded_view *b)
{
    const crn_view_header *h = &a->header, *i = &b->header;
    assert_true(h->sequence == i->sequence && h->epoch == i->epoch && h->fruit == i->fruit);
    assert_true(h->captured_ns == i->captured_ns && h->deadline_ns == i->deadline_ns);
    assert_true(h->encoder == i->encoder && h->class_set == i->class_set);
    assert_true(h->payload_bytes == i->payload_bytes && h->lane == i->lane && h->flags == i->flags);
    assert_true(h->view == i->view && h->views == i->views && h->height == i->height);
    assert_true(h->width == i->width && h->channels == i->channels);
    assert_memory_equal(&h->pose, &i->pose, sizeof h->pose);
    assert_true(h->type == i->type && h->layout == i->layout && a->arrived_ns == b->arrived_ns);
}

void recorded_assert_same(const crn_recorded_view *a, const crn_recorded_view *b)
{
    recorded_assert_header(a, b);
    assert_memory_equal(a->maps, b->maps, a->header.payload_bytes);
    assert_true((a->intensity == NULL) == (b->intensity == NULL));
    if (a->intensity)
        assert_memory_equal(a->intensity, b->intensity, (size_t)a->header.height * a->header.width);
}

crn_recording_writer *recorded_create(void)
{
    crn_error error;
    crn_recording_writer *writer = NULL;
    if (crn_recording_create(recorded_path, true, &writer, &error))
        fail_msg("%s", error.text);
    return writer;
}

void recorded_add(crn_recording_writer *writer, const crn_recorded_view *view)
{
    crn_error error;
    if (crn_recording_write(writer, view, &error))
        fail_msg("%s", error.text);
}

void recorded_finish(crn_recording_writer *writer)
{
    crn_error error;
    if (crn_recording_close(&writer, &error))
        fail_msg("%s", error.text);
    assert_null(writer);
}

crn_recording_reader *recorded_open(const char *file)
{
    crn_error error;
    crn_recording_reader *reader = NULL;
    if (crn_recording_open(file, &reader, &error))
        fail_msg("%s", error.text);
    return reader;
}

void recorded_write_small(uint64_t count)
{
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < count; i++) {
        crn_recorded_view view = recorded_small(i);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
}

uint64_t recorded_read_small(const char *file, int *ret_end, crn_error *error)
{
    crn_recording_reader *reader = recorded_open(file);
    crn_recorded_view got;
    uint64_t count = 0;
    while ((*ret_end = crn_recording_next(reader, &got, error)) > 0) {
        crn_recorded_view want = recorded_small(count++);
        recorded_assert_same(&want, &got);
    }
    crn_recording_end(&reader);
    return count;
}

static int is_segment(const struct dirent *entry)
{
    return strncmp(entry->d_name, "cernita-", strlen("cernita-")) == 0;
}

static uint64_t count_views(const char *path)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error error;
    uint64_t views = 0;
    if (crn_recording_open(path, &reader, &error) < 0)
        return 0;
    while (crn_recording_skip(reader, &view, &error) > 0)
        views++;
    crn_recording_end(&reader);
    return views;
}

void recorded_await(const char *folder, uint64_t views)
{
    uint64_t seen = 0;
    for (int64_t until_ns = crn_now_ns() + 60 * CRN_NS_PER_S; seen < views; sched_yield()) {
        struct dirent **names;
        int files = scandir(folder, &names, is_segment, alphasort);
        seen = 0;
        for (int i = 0; i < files; i++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
            seen += count_views(path);
            free(names[i]);
        }
        if (files >= 0)
            free(names);
        if (crn_now_ns() > until_ns)
            fail_msg("%u views were recorded, %u expected", (unsigned)seen, (unsigned)views);
    }
}

size_t recorded_load(const char *file, unsigned char *bytes, size_t room)
{
    FILE *in = fopen(file, "rb");
    assert_non_null(in);
    size_t size = fread(bytes, 1, room, in);
    fclose(in);
    return size;
}

void recorded_save(const char *file, const void *bytes, size_t size)
{
    FILE *out = fopen(file, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}
