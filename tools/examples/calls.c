/* Calls of cernita.h that take more than one line; its reference quotes the functions between the
 * tags. `calls LINE.yaml` makes them on the CPU: of a stream on a device see stream.cu. */
#include <cernita.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* [context] */
/* On the caller's stream of a device, behind what is enqueued there; without one on 4 threads. */
static crn_context *open_context(int32_t device, void *stream)
{
    crn_context_settings settings = {.threads = 4};
    if (stream)
        settings = (crn_context_settings){.backend = CRN_BACKEND_CUDA,
                                          .memory = CRN_MEMORY_DEVICE,
                                          .device = device,
                                          .stream = stream};
    crn_context *context = NULL;
    int r = crn_context_open(&settings, &context);
    const char *why = crn_backend_missing(settings.backend);
    if (r < 0)
        fprintf(stderr, "no context: %s\n", why ? why : strerror(-r));
    return context;
}
/* [context] */

/* [contours] */
/* Contours in host memory, however many there are. Free the result's two arrays. */
static int find_all(crn_context *context, const crn_contours_params *params,
                    const crn_image *picture, crn_contours *ret_found)
{
    for (uint32_t capacity = 256; capacity <= UINT32_MAX / 2; capacity *= 2) {
        crn_contours found = {.points = malloc(capacity * sizeof(crn_point)),
                              .contours = malloc(capacity * sizeof(crn_contour)),
                              .point_capacity = capacity,
                              .contour_capacity = capacity};
        int r = found.points && found.contours ? crn_find_contours(context, params, picture, &found)
                                               : -ENOMEM;
        if (r == 0 && !found.truncated) {
            *ret_found = found;
            return 0;
        }
        free(found.points);
        free(found.contours);
        if (r < 0)
            return r;
    }
    return -ENOMEM;
}
/* [contours] */

/* [pinned] */
/* Contours on a stream: the device writes them into memory that the host reads after the wait. */
static int count_pinned(crn_context *context, const crn_contours_params *params,
                        const crn_image *picture, uint32_t *ret_count)
{
    enum { CAPACITY = 1 << 16 };
    crn_contours *found = crn_pinned_create(context, sizeof *found);
    crn_point *points = crn_pinned_create(context, CAPACITY * sizeof *points);
    crn_contour *contours = crn_pinned_create(context, CAPACITY * sizeof *contours);
    int r = -ENOMEM;
    if (found && points && contours) {
        *found = (crn_contours){.points = points,
                                .contours = contours,
                                .point_capacity = CAPACITY,
                                .contour_capacity = CAPACITY};
        r = crn_find_contours(context, params, picture, found); /* enqueued, not yet there */
    }
    if (r == 0)
        r = crn_context_wait(context);
    if (r == 0)
        *ret_count = found->contour_count;
    crn_pinned_free(context, contours);
    crn_pinned_free(context, points);
    crn_pinned_free(context, found);
    return r;
}
/* [pinned] */

/* [judge] */
/* The defects of one view, whose maps are as a CNN emits them: a pixel's classes side by side. */
static int print_defects(crn_chain *chain, float *maps, int32_t height, int32_t width)
{
    crn_image view =
        crn_image_dense(maps, CRN_F32, CRN_HWC, crn_chain_class_count(chain), height, width);
    const crn_defects *found = NULL; /* the chain's, until its next call */
    int r = crn_chain_judge(chain, &view, NULL, &found);
    for (uint32_t i = 0; r == 0 && i < found->defect_count; i++) {
        const crn_defect *it = &found->defects[i];
        const float *outline = found->xy + 2 * (size_t)it->first_point; /* x, y, x, y, … */
        printf("%s: %.1f px2, %u points from (%.1f, %.1f)\n",
               crn_chain_class_name(chain, it->channel), it->area_px, it->point_count,
               (double)outline[0], (double)outline[1]);
    }
    return r;
}
/* [judge] */

static int print_contours(crn_context *context)
{
    enum { EXPONENT = 9, SIDE = (1 << EXPONENT) + 1 };
    static float heights[SIDE * SIDE];
    crn_image field = crn_image_dense(heights, CRN_F32, CRN_CHW, 1, SIDE, SIDE);
    const crn_diamond_square_params terrain = {.exponent = EXPONENT, .seed = 7, .roughness = 0.5};
    const double level = 128;
    const crn_contours_params params = {.levels = &level};
    crn_contours found = {.points = NULL};
    uint32_t pinned = 0;
    int r = crn_diamond_square(context, &terrain, &field);
    if (r == 0)
        r = find_all(context, &params, &field, &found);
    if (r == 0)
        r = count_pinned(context, &params, &field, &pinned);
    if (r == 0)
        printf("%u contours, %u in pinned memory\n", found.contour_count, pinned);
    free(found.points);
    free(found.contours);
    return r;
}

/* A spot in each class. */
static int judge_spots(crn_context *context, const char *file)
{
    enum { HEIGHT = 95, WIDTH = 511 };
    crn_chain *chain = NULL;
    int r = crn_chain_open(context, file, &chain);
    if (r < 0)
        return r;
    int32_t classes = crn_chain_class_count(chain);
    float *maps = malloc(sizeof(float) * HEIGHT * WIDTH * (size_t)classes);
    for (int32_t i = 0; maps && i < HEIGHT * WIDTH * classes; i++) {
        int32_t pixel = i / classes;
        double x = pixel % WIDTH - WIDTH * (i % classes + 0.5) / classes;
        double y = pixel / WIDTH - HEIGHT / 2.0;
        maps[i] = (float)(1 / (1 + (x * x + y * y) / 25)); /* 0.5 at a distance of 5 */
    }
    r = maps ? print_defects(chain, maps, HEIGHT, WIDTH) : -ENOMEM;
    free(maps);
    crn_chain_free(&chain);
    return r;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: calls LINE.yaml\n");
        return 2;
    }
    crn_context *context = open_context(0, NULL);
    int r = context ? print_contours(context) : -1;
    if (r == 0)
        r = judge_spots(context, arguments[1]);
    if (context && r < 0)
        fprintf(stderr, "calls: %s\n", crn_context_error(context));
    crn_context_free(&context);
    return r < 0;
}
