#include "tests/support/operators/guarded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/images.h"

#define GUARD_BYTE 0xa5
#define GAP_BYTE   0x5a

crn_guarded crn_guarded_create(size_t bytes, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), middle = (bytes + page) / page * page;
    crn_guarded g = {.bytes = bytes, .map_bytes = middle + 2 * page};
    void *map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    g.map = map;
    memset(g.map, GUARD_BYTE, g.map_bytes);
    g.data = g.map + page + (at_end ? middle - bytes : 0);
    memset(g.data, 0, bytes);
    assert_int_equal(mprotect(g.map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(g.map + g.map_bytes - page, page, PROT_NONE), 0);
    return g;
}

void crn_guarded_check(const crn_guarded *guarded, const char *what)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uint8_t *data = guarded->data;
    for (const uint8_t *p = guarded->map + page; p < guarded->map + guarded->map_bytes - page; p++)
        if ((p < data || p >= data + guarded->bytes) && *p != GUARD_BYTE)
            fail_msg("%s: wrote %td bytes from the start of %zu", what, p - data, guarded->bytes);
}

void crn_guarded_free(crn_guarded *guarded)
{
    if (guarded->map)
        munmap(guarded->map, guarded->map_bytes);
    *guarded = (crn_guarded){.data = NULL};
}

void *crn_guarded_copy(const crn_guarded *guarded)
{
    void *copy = malloc(guarded->bytes);
    assert_non_null(copy);
    return memcpy(copy, guarded->data, guarded->bytes);
}

void crn_guarded_check_same(const crn_guarded *guarded, const void *copy, const char *what)
{
    const uint8_t *got = guarded->data, *wanted = copy;
    for (size_t i = 0; i < guarded->bytes; i++)
        if (got[i] != wanted[i])
            fail_msg("%s: byte %zu is %u, wanted %u", what, i, got[i], wanted[i]);
}

/* Dense strides in random dimension order, sometimes with gaps. */
static void set_random_strides(crn_random *random, crn_image *image)
{
    ptrdiff_t *strides[3] = {&image->step, &image->row_stride, &image->plane_stride};
    int32_t sizes[3] = {image->width, image->height, image->planes};
    ptrdiff_t extent = 1;
    int left = 3;
    while (left > 0) {
        int i = (int)crn_random_below(random, (uint32_t)left);
        if (crn_random_once_in(random, 3))
            extent += crn_random_between(random, 1, 9);
        *strides[i] = crn_random_once_in(random, 3) ? -extent : extent;
        extent *= sizes[i];
        left--;
        strides[i] = strides[left];
        sizes[i] = sizes[left];
    }
}

crn_image crn_guarded_image(crn_random *random, crn_type type, int32_t planes, int32_t height,
                            int32_t width, crn_guarded *ret_memory)
{
    crn_layout layout = crn_random_once_in(random, 2) ? CRN_HWC : CRN_CHW;
    crn_image image = crn_image_dense(NULL, type, layout, planes, height, width);
    if (crn_random_once_in(random, 3))
        set_random_strides(random, &image);
    const int32_t last[3] = {planes - 1, height - 1, width - 1};
    const ptrdiff_t strides[3] = {image.plane_stride, image.row_stride, image.step};
    ptrdiff_t min = 0, max = 0;
    for (int i = 0; i < 3; i++) {
        ptrdiff_t reach = strides[i] * last[i];
        min += reach < 0 ? reach : 0;
        max += reach > 0 ? reach : 0;
    }
    size_t size = crn_type_bytes(type);
    *ret_memory = crn_guarded_create((size_t)(max - min + 1) * size, crn_random_once_in(random, 2));
    image.data = (uint8_t *)ret_memory->data - min * (ptrdiff_t)size;
    return image;
}

void crn_guarded_fill(const crn_guarded *guarded)
{
    memset(guarded->data, GAP_BYTE, guarded->bytes);
}

void crn_guarded_check_gaps(const crn_guarded *guarded, const crn_image *image, const char *what)
{
    size_t size = crn_type_bytes(image->type);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                uint8_t *element = crn_image_element(image, plane, y, x);
                for (size_t i = 0; i < size; i++)
                    element[i] = GAP_BYTE;
            }
    const uint8_t *bytes = guarded->data;
    for (size_t i = 0; i < guarded->bytes; i++)
        if (bytes[i] != GAP_BYTE)
            fail_msg("%s: wrote between the elements, at byte %zu", what, i);
}
