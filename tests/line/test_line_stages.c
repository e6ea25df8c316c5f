/*
 * A line with every stage: the serial definitions and the fast operators judge alike, byte for
 * byte, whatever type the maps come in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <msgpack.h>

#include "tests/support/decode.h"
#include "tests/support/line_fixture.h"

#define HEIGHT   47
#define WIDTH    90
#define CLASSES  3
#define ELEMENTS (HEIGHT * WIDTH * CLASSES)
#define FRUITS   6

/*
 * Maps of whole 256ths under this kernel have sums that a float holds exactly, so that the order of
 * additions, which is free in a convolution, does not show.
 */
static const char kernel[] = "0.0625 0.125 0.0625\n0.125 0.25 0.125\n0.0625 0.125 0.0625\n";

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.4}, {name: rust, level: 0.6}]\n"
    "chain:\n"
    "  - convolve: {kernel: %s}\n"
    "  - morphology: {operation: open, element: disk, size: 3}\n"
    "  - morphology: {operation: close, element: rect, size: 2x4}\n"
    "  - haar: {levels: 2, threshold: 0.02}\n"
    "  - contours: {border: closed, min_area_px: 2}\n"
    "  - ranklet: {windows: [4, 8x6]}\n"
    "  - ranklet: {windows: [16, 1000]}\n"
    "run: {backend: %s, workers: %d, threads: %d}\n"
    "latency: {budget_ms: 20000, assemble_ms: 20000}\n"
    "log: {level: warning}\n";

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

/* Discs under noise, in 256ths. */
static uint8_t level_of(float disc, uint32_t seed)
{
    uint32_t noise = seed * UINT32_C(2654435761) >> 26;
    return (uint8_t)(disc * 180 + (float)noise);
}

/* Three views: f32 with a photograph, u8 planar, f16; the photograph comes with every other fruit's
 * other views, too. */
static void send_fruit(line_fixture *line, uint64_t fruit)
{
    static float maps[ELEMENTS];
    static uint16_t halves[ELEMENTS];
    static uint8_t planar[ELEMENTS], grey[HEIGHT * WIDTH];
    float *discs = line_discs(HEIGHT, WIDTH, CLASSES);
    for (int i = 0; i < ELEMENTS; i++) {
        uint8_t level = level_of(discs[i], (uint32_t)i + (uint32_t)fruit);
        maps[i] = (float)level / 256;
        planar[i % CLASSES * HEIGHT * WIDTH + i / CLASSES] = level;
        /* As binary16: a whole number below 2^8 over 2^8. */
        int exponent = level ? 31 - __builtin_clz(level) : 0;
        halves[i] =
            level ? (uint16_t)((exponent - 8 + 15) << 10 | ((level << (10 - exponent)) & 0x3ff))
                  : 0;
    }
    free(discs);
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        grey[i] = (uint8_t)(((uint32_t)i + (uint32_t)fruit) * UINT32_C(2246822519) >> 24);
    const void *photograph = fruit % 2 ? grey : NULL;
    crn_view_header header = line_header(line, fruit, 0, 3, HEIGHT, WIDTH);
    line_send(line, header, maps, grey);
    header.view = 1;
    header.type = CRN_U8;
    header.layout = CRN_CHW;
    line_send(line, header, planar, photograph);
    header.view = 2;
    header.type = CRN_F16;
    header.layout = CRN_HWC;
    line_send(line, header, halves, photograph);
}

/* All verdicts of a line with that backend, in order of their fruits. */
static void run_line(const char *backend, int workers, int threads, bytes *ret_verdicts)
{
    char path[] = "/tmp/cernita-kernel-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, kernel, sizeof kernel - 1), sizeof kernel - 1);
    close(descriptor);
    char text[2048];
    snprintf(text, sizeof text, yaml, path, backend, workers, threads);
    line_fixture line;
    line_start(&line, text);
    unlink(path); /* it was read */
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        send_fruit(&line, fruit);
        ret_verdicts[fruit].data =
            line_receive_bytes(&line, FIXTURE_PATIENCE_MS, &ret_verdicts[fruit].size);
        assert_non_null(ret_verdicts[fruit].data);
    }
    line_stop(&line);
}

static void unpack(const bytes *verdict, msgpack_unpacked *ret_unpacked)
{
    msgpack_unpacked_init(ret_unpacked);
    assert_int_equal(
        msgpack_unpack_next(ret_unpacked, (const char *)verdict->data, verdict->size, NULL),
        MSGPACK_UNPACK_SUCCESS);
}

static bool is_of_the_run(const msgpack_object *key)
{
    static const char *const keys[] = {"run", "published_ns", "latency_ms"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (key->via.str.size == strlen(keys[i]) &&
            memcmp(key->via.str.ptr, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static void expect_same_verdict(const bytes *a, const bytes *b)
{
    msgpack_unpacked left, right;
    unpack(a, &left);
    unpack(b, &right);
    const msgpack_object_map *l = &left.data.via.map, *r = &right.data.via.map;
    assert_int_equal(l->size, r->size);
    for (uint32_t i = 0; i < l->size; i++) {
        assert_true(msgpack_object_equal(l->ptr[i].key, r->ptr[i].key));
        if (is_of_the_run(&l->ptr[i].key))
            continue;
        if (!msgpack_object_equal(l->ptr[i].val, r->ptr[i].val))
            fail_msg("'%.*s' differs", (int)l->ptr[i].key.via.str.size, l->ptr[i].key.via.str.ptr);
    }
    msgpack_unpacked_destroy(&left);
    msgpack_unpacked_destroy(&right);
}

static double real_of(const msgpack_object *object)
{
    assert_true(object->type == MSGPACK_OBJECT_FLOAT64 || object->type == MSGPACK_OBJECT_FLOAT32);
    return object->via.f64;
}

/* Whole, with defects in every view, each with its textures. */
static void expect_whole(const bytes *verdict)
{
    static const int64_t windows[][2] = {{4, 4}, {8, 6}, {16, 16}};
    static const char *const ways[] = {"vertical", "horizontal", "diagonal"};
    msgpack_unpacked unpacked;
    unpack(verdict, &unpacked);
    const msgpack_object *map = &unpacked.data;
    crn_expect_text(crn_decoded_field(map, "verdict"), "complete");
    crn_expect_bool(crn_decoded_field(map, "truncated"), false);
    crn_expect_items(crn_decoded_field(map, "skipped"), 0);
    const msgpack_object *defects = crn_decoded_field(map, "defects");
    uint32_t of_view[3] = {0};
    bool textured = false;
    for (uint32_t i = 0; i < defects->via.array.size; i++) {
        const msgpack_object *defect = crn_decoded_item(defects, i);
        const msgpack_object *list = crn_decoded_field(defect, "ranklet");
        of_view[crn_decoded_field(defect, "view")->via.u64]++;
        crn_expect_items(list, 3);
        for (uint32_t k = 0; k < 3; k++) {
            const msgpack_object *texture = crn_decoded_item(list, k);
            for (uint32_t side = 0; side < 2; side++)
                crn_expect_integer(crn_decoded_item(crn_decoded_field(texture, "window"), side),
                                   windows[k][side]);
            for (int way = 0; way < 3; way++) {
                double mean = real_of(crn_decoded_field(texture, ways[way]));
                assert_true(mean >= -1 && mean <= 1);
                textured |= mean != 0;
            }
        }
    }
    assert_true(of_view[0] && of_view[1] && of_view[2]);
    assert_true(textured);
    msgpack_unpacked_destroy(&unpacked);
}

static void serial_and_openmp_judge_alike(void **state)
{
    (void)state;
    bytes serial[FRUITS], fast[FRUITS], threaded[FRUITS];
    run_line("serial", 1, 1, serial);
    run_line("openmp", 1, 1, fast);
    run_line("openmp", 2, 3, threaded);
    for (int i = 0; i < FRUITS; i++) {
        expect_whole(&serial[i]);
        expect_same_verdict(&serial[i], &fast[i]);
        expect_same_verdict(&serial[i], &threaded[i]);
        free(serial[i].data);
        free(fast[i].data);
        free(threaded[i].data);
    }
}

int main(int argc, char **argv)
{
    /* Threads that wait busily would take the other line's processors; the OpenMP library has read
     * its settings before main. */
    if (argc == 1 && !getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_and_openmp_judge_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
