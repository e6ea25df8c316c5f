/*
 * A line with every stage, and fruits whose views come in every type: whoever runs them, the
 * verdicts are the same bytes but for the times.
 */
#ifndef CRN_TESTS_SUPPORT_EVERY_STAGE_H
#define CRN_TESTS_SUPPORT_EVERY_STAGE_H

#include "tests/support/line_fixture.h"

typedef struct every_stage_settings {
    const char *backend;
    int workers, threads;
    const char *devices; /* NULL: "[0]" */
    int budget_ms;       /* 0: 20,000 */
    const crn_gpu *gpu;
} every_stage_settings;

/* A verdict as it came; its data is freed by the caller. */
typedef struct verdict_bytes {
    unsigned char *data;
    size_t size;
    uint64_t fruit, sequence, lane;
} verdict_bytes;

#define CRN_EVERY_STAGE_VIEWS 3
#define CRN_EVERY_STAGE_SHOWN 6

void every_stage_start(line_fixture *line, const every_stage_settings *settings);

/* Three views, each of another size: f32 with a photograph, u8 planar, f16; the photograph comes
 * with every other fruit's other views, too. There are CRN_EVERY_STAGE_SHOWN of them: what they
 * show is the fruit's number, modulo that. */
void every_stage_send(line_fixture *line, uint64_t fruit, uint32_t lane);

/* The next verdict; one must come. */
void every_stage_receive(line_fixture *line, verdict_bytes *ret_verdict);

/* But for times and numbers. */
void every_stage_expect_same(const verdict_bytes *a, const verdict_bytes *b);

/* Complete, with defects in every view, each with its textures. */
void every_stage_expect_whole(const verdict_bytes *verdict);

#endif
