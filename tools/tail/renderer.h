/*
 * Verdicts that wait to be drawn, so that drawing never stands between two receptions: a few are
 * kept, and drawn when there is time.
 */
#ifndef CRN_TOOLS_TAIL_RENDERER_H
#define CRN_TOOLS_TAIL_RENDERER_H

#include "tools/tail/draw.h"

#define CRN_PICTURES_MAX 16

typedef struct crn_renderer crn_renderer;

/*
 * Pictures go to `dir`, made if it is not there, as fruit_<lane>_<fruit>.png. last: 0, or of all
 * verdicts only the last so many (at most CRN_PICTURES_MAX) are drawn. 0 or negative errno with
 * *error.
 */
int crn_renderer_create(const char *dir, int32_t last, crn_renderer **ret_pictures,
                        crn_error *error);
void crn_renderer_free(crn_renderer **pictures);

/* Adds a recording whose photographs go under the outlines. */
int crn_renderer_over(crn_renderer *pictures, const char *path, crn_error *error);

/*
 * Takes *verdict and nulls it. When CRN_PICTURES_MAX (or `last`) wait already the oldest is given
 * up.
 */
void crn_renderer_offer(crn_renderer *pictures, crn_decoded **verdict);

/* Whether one waits that may be drawn before the end. */
bool crn_renderer_waiting(const crn_renderer *pictures);

/* Draws the oldest that waits. 1, 0 when none does, negative errno with *error. */
int crn_renderer_draw(crn_renderer *pictures, crn_error *error);

/* Drawn so far, and given up because too many waited (those before the last `last` are not). */
void crn_renderer_count(const crn_renderer *pictures, uint64_t *ret_drawn, uint64_t *ret_missed);

#endif
