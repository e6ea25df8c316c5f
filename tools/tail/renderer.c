#include "tools/tail/renderer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct crn_renderer {
    char *dir;
    int32_t last;
    crn_photos *photos; /* NULL: none */
    crn_palette palette;
    crn_photo extent; /* extent of all contours so far: the size of views without a photograph */
    crn_decoded *waiting[CRN_PICTURES_MAX]; /* ring starting at `first` */
    int32_t first, count;
    uint64_t drawn, missed;
};

int crn_renderer_create(const char *dir, int32_t last, crn_renderer **ret_pictures,
                        crn_error *error)
{
    if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
        int code = -errno;
        return crn_error_set(error, code, "%s: cannot make the folder: %s", dir, strerror(-code));
    }
    struct stat status;
    if (stat(dir, &status) < 0 || !S_ISDIR(status.st_mode))
        return crn_error_set(error, -ENOTDIR, "%s: not a folder; pictures need one", dir);
    crn_renderer *pictures = calloc(1, sizeof *pictures);
    if (pictures)
        pictures->dir = strdup(dir);
    if (!pictures || !pictures->dir) {
        crn_renderer_free(&pictures);
        return crn_error_set(error, -ENOMEM, "%s: no memory for pictures", dir);
    }
    pictures->last = last;
    *ret_pictures = pictures;
    return 0;
}

void crn_renderer_free(crn_renderer **pictures)
{
    if (!*pictures)
        return;
    for (int32_t i = 0; i < CRN_PICTURES_MAX; i++)
        crn_decoded_free(&(*pictures)->waiting[i]);
    crn_photos_free(&(*pictures)->photos);
    free((*pictures)->dir);
    free(*pictures);
    *pictures = NULL;
}

int crn_renderer_over(crn_renderer *pictures, const char *path, crn_error *error)
{
    if (!pictures->photos && crn_photos_create(&pictures->photos) < 0)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its photographs", path);
    return crn_photos_add(pictures->photos, path, error);
}

/* Removes the oldest from the ring and passes it to the caller. */
static crn_decoded *pop_oldest(crn_renderer *pictures)
{
    crn_decoded *verdict = pictures->waiting[pictures->first];
    pictures->waiting[pictures->first] = NULL;
    pictures->first = (pictures->first + 1) % CRN_PICTURES_MAX;
    pictures->count--;
    return verdict;
}

void crn_renderer_offer(crn_renderer *pictures, crn_decoded **verdict)
{
    crn_draw_extent(*verdict, &pictures->extent);
    if (pictures->count == (pictures->last ? pictures->last : CRN_PICTURES_MAX)) {
        crn_decoded *oldest = pop_oldest(pictures);
        crn_decoded_free(&oldest);
        pictures->missed += !pictures->last;
    }
    pictures->waiting[(pictures->first + pictures->count++) % CRN_PICTURES_MAX] = *verdict;
    *verdict = NULL;
}

bool crn_renderer_waiting(const crn_renderer *pictures)
{
    return !pictures->last && pictures->count;
}

int crn_renderer_draw(crn_renderer *pictures, crn_error *error)
{
    if (!pictures->count)
        return 0;
    crn_decoded *verdict = pop_oldest(pictures);
    crn_photo photos[CRN_DRAW_VIEWS_MAX] = {{0}};
    for (int32_t view = 0; pictures->photos && view < CRN_DRAW_VIEWS_MAX; view++)
        photos[view] =
            crn_photos_find(pictures->photos, verdict->lane, verdict->fruit, (uint64_t)view);
    char path[4096];
    snprintf(path, sizeof path, "%s/fruit_%" PRIu64 "_%" PRIu64 ".png", pictures->dir,
             verdict->lane, verdict->fruit);
    int r = crn_draw_verdict(verdict, photos, CRN_DRAW_VIEWS_MAX, pictures->extent,
                             &pictures->palette, path, error);
    crn_decoded_free(&verdict);
    if (r < 0)
        return r;
    pictures->drawn++;
    return 1;
}

void crn_renderer_count(const crn_renderer *pictures, uint64_t *ret_drawn, uint64_t *ret_missed)
{
    *ret_drawn = pictures->drawn;
    *ret_missed = pictures->missed;
}
