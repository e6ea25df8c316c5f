/* cernita.h where memory runs out: each allocation fails in turn, and the call that wanted it says
 * so, leaves nothing behind, and succeeds the next time. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <jpeglib.h>

#include "stages/cernita.h"
#include "stages/cernita_surface.h"
#include "stages/picture/picture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED

/* Sanitizers replace malloc themselves. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* --- libc's, of which one fails --- */

static long countdown = -1; /* allocations until that one; -1: none */

static bool fails(void)
{
    return countdown >= 0 && countdown-- == 0;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void *failed(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fails() ? failed() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? failed() : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? failed() : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? failed() : __libc_memalign(alignment, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* --- what is called --- */

enum { SIDE = 48, PIXELS = SIDE * SIDE };

static char folder[] = "/tmp/cernita-library-XXXXXX", path[128], reading[128];
static float picture[PIXELS], result[3 * PIXELS];
static uint8_t bytes[PIXELS];
static crn_point points[4 * PIXELS];
static crn_contour contours[PIXELS];

static void write_npy(const char *to, const void *pixels)
{
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    fprintf(file, "\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0,
            "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 8), }");
    assert_int_equal(fwrite(pixels, 1, 64, file), 64);
    assert_int_equal(fclose(file), 0);
}

static void write_jpeg(const char *to, uint8_t *pixels)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(to, "w");
    assert_non_null(file);
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_stdio_dest(&encoder, file);
    encoder.image_width = encoder.image_height = 8;
    encoder.input_components = 1;
    encoder.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&encoder);
    jpeg_start_compress(&encoder, TRUE);
    for (int y = 0; y < 8; y++)
        jpeg_write_scanlines(&encoder, (JSAMPROW[]){pixels + 8 * y}, 1);
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    assert_int_equal(fclose(file), 0);
}

/* A file with a kernel of text, and elements of each picture format. */
static void write_reading(void)
{
    char file[128], text[1024];
    crn_picture element;
    crn_error error;
    daemon_write_config(folder, "kernel.txt", "1 2 1\n2 4 2\n1 2 1\n", file);
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, 8, 8, &element), 0);
    memset(element.memory, 255, 64);
    static const char *const names[] = {"e.png", "e.tif", "e.npy", "e.jpg"};
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        if (i < 2)
            assert_int_equal(crn_picture_write(file, &element, &error), 0);
        else
            (i == 2 ? write_npy(file, element.memory) : write_jpeg(file, element.memory));
    }
    crn_picture_free(&element);
    snprintf(text, sizeof text,
             "classes: [{name: rot, level: 0.5}]\n"
             "chain:\n"
             "  - convolve: {kernel: %1$s/kernel.txt}\n"
             "  - morphology: {operation: open, element: %1$s/e.png}\n"
             "  - morphology: {operation: open, element: %1$s/e.tif}\n"
             "  - morphology: {operation: open, element: %1$s/e.npy}\n"
             "  - morphology: {operation: open, element: %1$s/e.jpg}\n"
             "  - contours\n",
             folder);
    daemon_write_config(folder, "reading.yaml", text, reading);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_reading();
    daemon_write_config(folder, "line.yaml",
                        "classes: [{name: a}, {name: rot, level: 0.5}]\n"
                        "chain:\n"
                        "  - convolve: {kernel: gaussian, size: 5}\n"
                        "  - morphology: {operation: open, element: disk, size: 5}\n"
                        "  - haar: {levels: 2, threshold: 0.05}\n"
                        "  - contours: {min_area_px: 1}\n"
                        "  - ranklet: {windows: [4, 8x4]}\n"
                        "recipes: {early: {chain: [contours: {}]}}\n",
                        path);
    for (int i = 0; i < PIXELS; i++) {
        picture[i] = (float)((i * 2654435761u) >> 24) / 255;
        bytes[i] = (uint8_t)(i * 37);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* One call of each operator. */
static int compute(crn_context *context)
{
    static const float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    static const double level = 0.5;
    crn_image in = crn_image_dense(picture, CRN_F32, CRN_CHW, 1, SIDE, SIDE), out = in;
    crn_image u8 = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
    crn_image third = crn_image_dense(result, CRN_F32, CRN_CHW, 3, SIDE - 7, SIDE - 7);
    crn_contours found = {points, contours, 4 * PIXELS, PIXELS, 0, 0, false};
    crn_morphology_params element = {CRN_TOPHAT, {CRN_ELEMENT_DISK, 9, 9, NULL, NULL}};
    out.data = result;
    int r = crn_find_contours(context, &(crn_contours_params){.levels = &level}, &in, &found);
    r = r ? r : crn_morphology(context, &element, &in, &out);
    r = r ? r : crn_convolve(context, &(crn_convolve_params){weights, 3, 3, 0}, &in, &out);
    r = r ? r : crn_haar(context, &(crn_haar_params){CRN_HAAR_DENOISE, 3, 0.1f, 0}, &in, &out);
    r = r ? r : crn_ranklet(context, &(crn_ranklet_params){8, 8}, &u8, &third);
    crn_diamond_square_params field = {6, 1, 0.5, 0, 0};
    return r ? r : crn_diamond_square(context, &field, &out);
}

static const float square[] = {20, 20, 30, 20, 30, 30, 20, 30};
static crn_defect outline = {.parent = -1, .closed = true, .point_count = 4};
static const crn_defects outlines = {
    .defects = &outline, .xy = (float *)square, .defect_count = 1, .point_count = 4};
static const crn_surface_settings small_fruit = {
    .classes = 1, .views = 1, .defects = 512, .points = 4096};
static const crn_surface_view front = {
    .pose = {24, 24, 20, 20, 0, 0, 1, 0}, .mm_per_px = 1, .defects = &outlines};

static int join_views(crn_context *context)
{
    crn_surface *surface = NULL;
    const crn_surface_fruit *fruit;
    int r = crn_surface_open(context, &small_fruit, &surface);
    r = r ? r : crn_surface_measure(surface, &front, 1, &fruit);
    if (r == 0)
        assert_int_equal(fruit->defect_count, 1);
    crn_surface_free(&surface);
    return r;
}

/* Leaves in `found` what tells one result from another. */
static int judge(crn_chain *chain, double *found)
{
    static float maps[2 * PIXELS];
    const crn_defects *defects;
    memcpy(maps + PIXELS, picture, sizeof picture);
    crn_image view = crn_image_dense(maps, CRN_F32, CRN_CHW, 2, SIDE, SIDE);
    crn_image photograph = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
    int r = crn_chain_judge(chain, &view, &photograph, &defects);
    *found = 0;
    for (uint32_t i = 0; r == 0 && i < defects->defect_count; i++)
        *found += defects->defects[i].area_px + defects->defects[i].mean_probability;
    for (uint32_t i = 0; r == 0 && i < defects->texture_count; i++)
        *found += (double)defects->textures[i].diagonal;
    return r;
}

/* Everything once, the allocation `n` of it failing. True if one was to fail; a result must then
 * be the same, or the error be told. */
static bool run(crn_backend backend, long n)
{
    static double expected, found;
    crn_context *context = NULL;
    crn_chain *chain = NULL;
    countdown = n;
    int r = crn_context_open(&(crn_context_settings){.backend = backend}, &context);
    int opened = r;
    r = r ? r : compute(context);
    r = r ? r : join_views(context);
    r = r ? r : crn_chain_open(context, path, &chain);
    r = r ? r : judge(chain, &found);
    bool failed = countdown == -1 && n >= 0;
    countdown = -1;
    if (n < 0)
        expected = found;
    if (r == 0 ? found != expected : r != -ENOMEM || !failed)
        fail_msg("allocation %ld: %d, '%s'", n, r, crn_context_error(context));
    if (opened == 0) {
        if (r != 0 && !strstr(crn_context_error(context), "memory"))
            fail_msg("allocation %ld: '%s'", n, crn_context_error(context));
        assert_int_equal(compute(context), 0);
        if (!chain)
            assert_int_equal(crn_chain_open(context, path, &chain), 0);
        assert_int_equal(judge(chain, &found), 0);
        assert_true(found == expected && found != 0);
    }
    crn_chain_free(&chain);
    crn_context_free(&context);
    return failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (crn_backend backend = CRN_BACKEND_SERIAL; backend <= CRN_BACKEND_OPENMP; backend++) {
        run(backend, -1);
        size_t before = mallinfo2().uordblks;
        long n = 0;
        while (run(backend, n))
            n++;
        assert_true(n > 20);
        assert_true(mallinfo2().uordblks <= before + 4096); /* nothing for each */
    }
}

/* That memory was used up while a kernel or an element was read is not a fault of the file. */
static void every_allocation_of_reading_may_fail(void **state)
{
    (void)state;
    crn_context *context;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    bool failed = true;
    for (long n = 0; failed; n++) {
        crn_chain *chain = NULL;
        countdown = n;
        int r = crn_chain_open(context, reading, &chain);
        failed = countdown == -1;
        countdown = -1;
        const char *text = crn_context_error(context);
        if (r == 0 ? *text != '\0' : r != -ENOMEM || !failed || !strcasestr(text, "memory"))
            fail_msg("allocation %ld: %d, '%s'", n, r, text);
        crn_chain_free(&chain);
    }
    crn_context_free(&context);
}

static void joining_views_allocates_nothing(void **state)
{
    (void)state;
    crn_context *context;
    crn_surface *surface;
    const crn_surface_fruit *fruit;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    assert_int_equal(crn_surface_open(context, &small_fruit, &surface), 0);
    const crn_image photograph = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
    const crn_surface_photograph photo = {photograph, front.pose, 1};
    crn_surface_pose pose;
    crn_surface_roll roll;
    countdown = 0; /* the next one would fail, and be noticed here */
    int r = crn_surface_measure(surface, &front, 1, &fruit);
    r = r ? r : crn_surface_find_pose(surface, &photograph, &pose);
    r = r ? r : crn_surface_find_roll(surface, &photo, &photo, 0, 1, &roll);
    long left = countdown;
    countdown = -1;
    assert_int_equal(r, 0);
    assert_int_equal(left, 0);
    crn_surface_free(&surface);
    crn_context_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail),
                                       cmocka_unit_test(every_allocation_of_reading_may_fail),
                                       cmocka_unit_test(joining_views_allocates_nothing)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#endif
