/*
 * A line with every stage, and fruits with views of every type. Every backend must give the same
 * verdicts, byte for byte except for times.
 */
#ifndef CRN_TESTS_SUPPORT_EVERY_STAGE_H
#define CRN_TESTS_SUPPORT_EVERY_STAGE_H

#include "tests/support/line/line_fixture.h"

typedef struct every_stage_settings {
    const char *backend;
    int workers, threads;
    const char *devices; /* NULL: "[0]" */
    int budget_ms;       /* 0: 20,000 */
    const crn_gpu *gpu;
    const char *slots; /* the line gives out slots of that kind; NULL: none */
} every_stage_settings;

/* A received verdict; the caller frees its data. */
typedef struct verdict_bytes {
    unsigned char *data;
    size_t size;
    uint64_t fruit, sequence, lane;
} verdict_bytes;

#define CRN_EVERY_STAGE_VIEWS 3
#define CRN_EVERY_STAGE_SHOWN 6

void every_stage_start(line_fixture *line, const every_stage_settings *settings);

/* Sends three views of different sizes: f32 with a photograph, u8 planar, f16; every other fruit's
 * other views have a photograph too. The content is the fruit's number modulo
 * CRN_EVERY_STAGE_SHOWN. */
void every_stage_send(line_fixture *line, uint64_t fruit, uint32_t lane);

/* Receives the next verdict; fails the test if none comes. */
void every_stage_receive(line_fixture *line, verdict_bytes *ret_verdict);

/* Compares verdicts except for times and numbers. */
void every_stage_expect_same(const verdict_bytes *a, const verdict_bytes *b);

/* Asserts: complete, with defects in every view, each with textures. */
void every_stage_expect_whole(const verdict_bytes *verdict);

/* Sends `count` fruits from `first` on, the i-th on lane i, and receives their verdicts, which are
 * whole, by lane. */
void every_stage_judge(line_fixture *line, uint64_t first, int count, verdict_bytes verdicts[]);

void every_stage_free(verdict_bytes verdicts[], int count);

#endif
