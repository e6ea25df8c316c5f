#include "tests/support/line/every_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <msgpack.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/sanitized.h"

#define CLASSES 3

/* Each view has a size of its own, as with several cameras: device buffers must not be confused
 * between shapes. Under a sanitizer an operator takes up to fifty times as long. */
static const struct {
    int32_t height, width;
} sizes[CRN_EVERY_STAGE_VIEWS] =
#ifdef CRN_SANITIZED
    {{31, 50}, {41, 70}, {24, 91}};
#else
    {{47, 90}, {71, 150}, {32, 211}};
#endif

#define PIXELS_MAX (71 * 150)

/*
 * With this kernel, maps of whole 256ths have sums that a float holds exactly, so that the order of
 * additions, which is free in a convolution, does not matter.
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
    "limits: {slots: 128, points: 16384}\n"
    "run: {backend: %s, workers: %d, threads: %d, devices: %s}\n"
    "latency: {budget_ms: %d, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

/* Discs under noise, in 256ths. */
static uint8_t level_of(float disc, uint32_t seed)
{
    uint32_t noise = seed * UINT32_C(2654435761) >> 26;
    return (uint8_t)(disc * 180 + (float)noise);
}

/* Interleaved. */
static void draw(int view, uint64_t show, uint8_t levels[PIXELS_MAX * CLASSES])
{
    int32_t height = sizes[view].height, width = sizes[view].width;
    float *discs = line_discs((uint32_t)height, (uint32_t)width, CLASSES);
    for (int32_t i = 0; i < height * width * CLASSES; i++)
        levels[i] = level_of(discs[i], (uint32_t)i + (uint32_t)show);
    free(discs);
}

/* To binary16: an integer below 2^8 over 2^8. */
static uint16_t half_of(uint8_t level)
{
    int exponent = level ? 31 - __builtin_clz(level) : 0;
    return level ? (uint16_t)((exponent - 8 + 15) << 10 | ((level << (10 - exponent)) & 0x3ff)) : 0;
}

void every_stage_send(line_fixture *line, uint64_t fruit, uint32_t lane)
{
    uint64_t show = fruit % CRN_EVERY_STAGE_SHOWN;
    static uint8_t levels[PIXELS_MAX * CLASSES], planar[PIXELS_MAX * CLASSES], grey[PIXELS_MAX];
    static float maps[PIXELS_MAX * CLASSES];
    static uint16_t halves[PIXELS_MAX * CLASSES];
    static const void *const bytes[] = {maps, planar, halves};
    static const crn_type types[] = {CRN_F32, CRN_U8, CRN_F16};
    for (int32_t i = 0; i < PIXELS_MAX; i++)
        grey[i] = (uint8_t)(((uint32_t)i + (uint32_t)show) * UINT32_C(2246822519) >> 24);
    for (int view = 0; view < CRN_EVERY_STAGE_VIEWS; view++) {
        int32_t pixels = sizes[view].height * sizes[view].width;
        draw(view, show, levels);
        for (int32_t i = 0; i < pixels * CLASSES; i++) {
            maps[i] = (float)levels[i] / 256;
            planar[i % CLASSES * pixels + i / CLASSES] = levels[i];
            halves[i] = half_of(levels[i]);
        }
        crn_view_header header =
            line_header(line, fruit, (uint16_t)view, CRN_EVERY_STAGE_VIEWS,
                        (uint32_t)sizes[view].height, (uint32_t)sizes[view].width);
        header.lane = lane;
        header.type = types[view];
        header.layout = types[view] == CRN_U8 ? CRN_CHW : CRN_HWC;
        line_send(line, header, bytes[view], view == 0 || show % 2 ? grey : NULL);
    }
}

static void unpack(const verdict_bytes *verdict, msgpack_unpacked *ret_unpacked)
{
    msgpack_unpacked_init(ret_unpacked);
    assert_int_equal(
        msgpack_unpack_next(ret_unpacked, (const char *)verdict->data, verdict->size, NULL),
        MSGPACK_UNPACK_SUCCESS);
}

static bool is_of_the_run(const msgpack_object *key)
{
    static const char *const keys[] = {"run",        "settings",    "published_ns", "deadline_ns",
                                       "latency_ms", "view_states", "sequence",     "lane",
                                       "fruit",      "budget_ms",   "assembly_ms"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (key->via.str.size == strlen(keys[i]) &&
            memcmp(key->via.str.ptr, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

void every_stage_expect_same(const verdict_bytes *a, const verdict_bytes *b)
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

void every_stage_expect_whole(const verdict_bytes *verdict)
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
    crn_expect_latency_parts(map);
    msgpack_unpacked_destroy(&unpacked);
}

void every_stage_start(line_fixture *line, const every_stage_settings *settings)
{
    char path[] = "/tmp/cernita-kernel-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, kernel, sizeof kernel - 1), sizeof kernel - 1);
    close(descriptor);
    char text[2048];
    snprintf(text, sizeof text, yaml, path, settings->backend, settings->workers, settings->threads,
             settings->devices ? settings->devices : "[0]",
             settings->budget_ms ? settings->budget_ms : 60000);
    line_configure(line, text);
    unlink(path); /* it was read */
    if (settings->slots)
        line_use_slots_of(line, settings->slots);
    line_run(line, settings->gpu);
}

void every_stage_receive(line_fixture *line, verdict_bytes *ret_verdict)
{
    ret_verdict->data = line_receive_bytes(line, CRN_FIXTURE_PATIENCE_MS, &ret_verdict->size);
    assert_non_null(ret_verdict->data);
    msgpack_unpacked unpacked;
    unpack(ret_verdict, &unpacked);
    ret_verdict->fruit = crn_decoded_field(&unpacked.data, "fruit")->via.u64;
    ret_verdict->sequence = crn_decoded_field(&unpacked.data, "sequence")->via.u64;
    ret_verdict->lane = crn_decoded_field(&unpacked.data, "lane")->via.u64;
    msgpack_unpacked_destroy(&unpacked);
}

void every_stage_judge(line_fixture *line, uint64_t first, int count, verdict_bytes verdicts[])
{
    for (int i = 0; i < count; i++)
        every_stage_send(line, first + (uint64_t)i, (uint32_t)i);
    for (int i = 0; i < count; i++) {
        verdict_bytes verdict;
        every_stage_receive(line, &verdict);
        every_stage_expect_whole(&verdict);
        verdicts[verdict.lane] = verdict;
    }
}

void every_stage_free(verdict_bytes verdicts[], int count)
{
    for (int i = 0; i < count; i++)
        free(verdicts[i].data);
}
