#include "tools/tail/photos.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "stages/base/buffer/array.h"

typedef struct photo_entry {
    uint32_t lane;
    uint16_t view;
    uint64_t fruit;
    crn_photo photo; /* pixels owned */
} photo_entry;

struct crn_photos {
    photo_entry *entries; /* sorted by lane, fruit, view */
    size_t count;
};

int crn_photos_create(crn_photos **ret_photos)
{
    crn_photos *photos = calloc(1, sizeof *photos);
    if (!photos)
        return -ENOMEM;
    *ret_photos = photos;
    return 0;
}

void crn_photos_free(crn_photos **photos)
{
    if (!*photos)
        return;
    for (size_t i = 0; i < (*photos)->count; i++)
        free((void *)(*photos)->entries[i].photo.pixels);
    free((*photos)->entries);
    free(*photos);
    *photos = NULL;
}

static int compare(const void *a, const void *b)
{
    const photo_entry *left = a, *right = b;
    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    if (left->fruit != right->fruit)
        return left->fruit < right->fruit ? -1 : 1;
    return (left->view > right->view) - (left->view < right->view);
}

static int add_view(crn_photos *photos, const crn_recorded_view *view)
{
    if (crn_array_grow(&photos->entries, photos->count, sizeof *photos->entries) < 0)
        return -ENOMEM;
    const crn_view_header *header = &view->header;
    size_t bytes = (size_t)header->height * header->width;
    uint8_t *pixels = NULL;
    if (view->intensity) {
        pixels = malloc(bytes);
        if (!pixels)
            return -ENOMEM;
        memcpy(pixels, view->intensity, bytes);
    }
    photos->entries[photos->count++] = (photo_entry){
        header->lane,
        header->view,
        header->fruit,
        {pixels, (int32_t)header->height, (int32_t)header->width},
    };
    return 0;
}

int crn_photos_add(crn_photos *photos, const char *path, crn_error *error)
{
    crn_recording_reader *reader = NULL;
    int r = crn_recording_open(path, &reader, error);
    if (r < 0)
        return r;
    crn_recorded_view view;
    while ((r = crn_recording_next(reader, &view, error)) > 0) {
        if (add_view(photos, &view) < 0) {
            r = crn_error_set(error, -ENOMEM, "%s: no memory for its photographs", path);
            break;
        }
    }
    crn_recording_end(&reader);
    qsort(photos->entries, photos->count, sizeof *photos->entries, compare);
    return r;
}

/* Finds the range of a lane's entries; false if it has none. */
static bool find_lane(const crn_photos *photos, uint64_t lane, size_t *ret_first, size_t *ret_end)
{
    size_t first = 0;
    while (first < photos->count && photos->entries[first].lane != lane)
        first++;
    size_t end = first;
    while (end < photos->count && photos->entries[end].lane == lane)
        end++;
    *ret_first = first;
    *ret_end = end;
    return end > first;
}

crn_photo crn_photos_find(const crn_photos *photos, uint64_t lane, uint64_t fruit, uint64_t view)
{
    size_t first, end;
    if (!find_lane(photos, lane, &first, &end) || view > UINT16_MAX)
        return (crn_photo){0};
    uint64_t lowest = photos->entries[first].fruit, highest = photos->entries[end - 1].fruit;
    if (fruit < lowest)
        return (crn_photo){0};
    if (fruit > highest && highest - lowest < UINT64_MAX)
        fruit = lowest + (fruit - lowest) % (highest - lowest + 1);
    photo_entry wanted = {.lane = (uint32_t)lane, .view = (uint16_t)view, .fruit = fruit};
    const photo_entry *found =
        bsearch(&wanted, photos->entries + first, end - first, sizeof wanted, compare);
    return found ? found->photo : (crn_photo){0};
}
