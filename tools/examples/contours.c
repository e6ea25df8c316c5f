/* Contours of a fractal field: how many there are, and the longest. */
#include <cernita.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXPONENT = 9, SIDE = (1 << EXPONENT) + 1, POINTS = 1 << 20 };

int main(void)
{
    crn_context *context = NULL;
    if (crn_context_open(NULL, &context) < 0)
        return 1;
    float *heights = malloc(sizeof(float) * SIDE * SIDE);
    crn_contours found = {.points = malloc(sizeof(crn_point) * POINTS),
                          .contours = malloc(sizeof(crn_contour) * POINTS / 2),
                          .point_capacity = POINTS,
                          .contour_capacity = POINTS / 2};
    if (!heights || !found.points || !found.contours)
        return 1;
    crn_image field = crn_image_dense(heights, CRN_F32, CRN_CHW, 1, SIDE, SIDE);
    const crn_diamond_square_params terrain = {.exponent = EXPONENT, .seed = 7, .roughness = 0.5};
    const double level = 128;
    const crn_contours_params params = {.levels = &level};
    if (crn_diamond_square(context, &terrain, &field) < 0 ||
        crn_find_contours(context, &params, &field, &found) < 0) {
        fprintf(stderr, "contours: %s\n", crn_context_error(context));
        return 1;
    }
    uint32_t longest = 0;
    for (uint32_t i = 0; i < found.contour_count; i++)
        if (found.contours[i].count > longest)
            longest = found.contours[i].count;
    printf("%u contours, the longest of %u points\n", found.contour_count, longest);
    crn_context_free(&context);
    free(heights);
    free(found.points);
    free(found.contours);
    return 0;
}
