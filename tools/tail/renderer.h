/*
 * Queue of verdicts to be drawn, so that drawing never delays reception: a few verdicts are kept
 * and drawn when there is time.
 */
#ifndef CRN_TOOLS_TAIL_RENDERER_H
#define CRN_TOOLS_TAIL_RENDERER_H

#include "tools/common/drawing/draw.h"
#include "tools/tail/photos.h"

#define CRN_PICTURES_MAX 16

typedef struct crn_renderer crn_renderer;

/*
 * Pictures go to `dir`, created if missing, as fruit_<lane>_<fruit>.png. last: 0 draws all;
 * otherwise only the last so many verdicts (at most CRN_PICTURES_MAX) are drawn. 0 or negative
 * errno with *error.
 */
int crn_renderer_create(const char *dir, int32_t last, crn_renderer **ret_pictures,
                        crn_error *error);
void crn_renderer_free(crn_renderer **pictures);

/* Adds a recording whose photographs are drawn under the contours. */
int crn_renderer_over(crn_renderer *pictures, const char *path, crn_error *error);

/*
 * Takes ownership of *verdict and sets it to NULL. If CRN_PICTURES_MAX (or `last`) are already
 * waiting, the oldest is dropped.
 */
void crn_renderer_offer(crn_renderer *pictures, crn_decoded **verdict);

/* True if a waiting verdict may be drawn before the end of the input. */
bool crn_renderer_waiting(const crn_renderer *pictures);

/* Draws the oldest waiting verdict. 1, 0 if there is none, negative errno with *error. */
int crn_renderer_draw(crn_renderer *pictures, crn_error *error);

/* Verdicts drawn so far, and dropped because too many
 * waited (with `last`, earlier ones do not count). */
void crn_renderer_count(const crn_renderer *pictures, uint64_t *ret_drawn, uint64_t *ret_missed);

#endif
