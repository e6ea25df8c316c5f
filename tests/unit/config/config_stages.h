/*
 * A registry of stages for the tests of the configuration, replacing the real one: one stage of
 * each kind and every type of parameter. Included by one file per program, which links no other
 * registry.
 */
#ifndef CRN_TESTS_UNIT_CONFIG_STAGES_H
#define CRN_TESTS_UNIT_CONFIG_STAGES_H

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "stages/stage/stage.h"

typedef struct expected_convolve_settings {
    char kernel[CRN_TEXT_BYTES];
    int64_t size, shift;
    double gain;
    crn_size tile;
    crn_sizes scales;
} expected_convolve_settings;

static const crn_param convolve_params[] = {{.key = "kernel",
                                             .type = CRN_PARAM_TEXT,
                                             .offset = offsetof(expected_convolve_settings, kernel),
                                             .help = "name or file"},
                                            {.key = "size",
                                             .type = CRN_PARAM_INTEGER,
                                             .offset = offsetof(expected_convolve_settings, size),
                                             .fallback = "3",
                                             .min = 1,
                                             .max = 99,
                                             .help = "side"},
                                            {.key = "shift",
                                             .type = CRN_PARAM_INTEGER,
                                             .offset = offsetof(expected_convolve_settings, shift),
                                             .fallback = "-1",
                                             .min = -9e15,
                                             .max = 9e15,
                                             .help = "added"},
                                            {.key = "gain",
                                             .type = CRN_PARAM_REAL,
                                             .offset = offsetof(expected_convolve_settings, gain),
                                             .fallback = "1",
                                             .min = -INFINITY,
                                             .max = INFINITY,
                                             .help = "factor"},
                                            {.key = "tile",
                                             .type = CRN_PARAM_SIZE,
                                             .offset = offsetof(expected_convolve_settings, tile),
                                             .fallback = "7x3",
                                             .min = 1,
                                             .max = 99,
                                             .help = "cut into"},
                                            {.key = "scales",
                                             .type = CRN_PARAM_SIZES,
                                             .offset = offsetof(expected_convolve_settings, scales),
                                             .fallback = "",
                                             .min = 2,
                                             .max = 64,
                                             .help = "looked at"},
                                            {0}};

static const crn_stage convolve = {.name = "convolve",
                                   .help = "lays a kernel over the maps",
                                   .kind = CRN_STAGE_IMAGE,
                                   .params = convolve_params,
                                   .settings_bytes = sizeof(expected_convolve_settings)};

typedef struct expected_contours_settings {
    int32_t border;
    double min_area_px;
} expected_contours_settings;

static const char *const borders[] = {"open", "closed", NULL};

static const crn_param contours_params[] = {
    {.key = "border",
     .type = CRN_PARAM_CHOICE,
     .offset = offsetof(expected_contours_settings, border),
     .fallback = "closed",
     .choices = borders,
     .help = "of the picture"},
    {.key = "min_area_px",
     .type = CRN_PARAM_REAL,
     .offset = offsetof(expected_contours_settings, min_area_px),
     .fallback = "0",
     .min = 0,
     .max = INFINITY,
     .help = "smaller ones are left out"},
    {0}};

static int contours_prepare(void *settings, const crn_classes *classes, crn_error *error)
{
    (void)settings;
    for (int32_t i = 0; i < classes->count; i++)
        if (!isnan(classes->level[i]))
            return 0;
    return crn_error_set(error, -EINVAL, "no class has a level");
}

static const crn_stage contours = {.name = "contours",
                                   .help = "outlines",
                                   .kind = CRN_STAGE_CONTOURS,
                                   .params = contours_params,
                                   .settings_bytes = sizeof(expected_contours_settings),
                                   .prepare = contours_prepare};

typedef struct expected_ranklet_settings {
    bool square;
    crn_sizes windows;
} expected_ranklet_settings;

static const crn_param ranklet_params[] = {{.key = "square",
                                            .type = CRN_PARAM_BOOL,
                                            .offset = offsetof(expected_ranklet_settings, square),
                                            .fallback = "true",
                                            .help = "windows"},
                                           {.key = "windows",
                                            .type = CRN_PARAM_SIZES,
                                            .offset = offsetof(expected_ranklet_settings, windows),
                                            .fallback = "[8, 16]",
                                            .min = 2,
                                            .max = 64,
                                            .help = "sizes"},
                                           {0}};

static uint32_t ranklet_textures(const void *settings)
{
    return (uint32_t)((const expected_ranklet_settings *)settings)->windows.count;
}

static const crn_stage ranklet = {.name = "ranklet",
                                  .help = "features",
                                  .kind = CRN_STAGE_FEATURE,
                                  .params = ranklet_params,
                                  .settings_bytes = sizeof(expected_ranklet_settings),
                                  .textures = ranklet_textures};

/* A stage without parameters. */
static const crn_stage shape = {.name = "shape", .help = "features too", .kind = CRN_STAGE_FEATURE};

const crn_stage *const crn_stages[] = {&convolve, &contours, &ranklet, &shape, NULL};

const crn_stage *crn_stage_find(const char *name)
{
    for (const crn_stage *const *stage = crn_stages; *stage; stage++)
        if (strcmp((*stage)->name, name) == 0)
            return *stage;
    return NULL;
}

#endif
