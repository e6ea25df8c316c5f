#include "tests/support/operators/settings.h"

#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"
#include "tests/support/cmocka_prelude.h"

static void set(const crn_param *row, const char *text, void *settings)
{
    crn_param given = *row;
    given.fallback = text;
    assert_int_equal(crn_param_fall_back(&given, settings, NULL), 0);
}

void *crn_stage_settings(const crn_stage *stage, ...)
{
    void *settings = calloc(1, stage->settings_bytes);
    assert_non_null(settings);
    for (const crn_param *row = stage->params; row->key; row++)
        set(row, row->fallback, settings);
    va_list pairs;
    va_start(pairs, stage);
    for (const char *key = va_arg(pairs, const char *); key; key = va_arg(pairs, const char *)) {
        const crn_param *row = stage->params;
        while (row->key && strcmp(row->key, key) != 0)
            row++;
        assert_non_null(row->key);
        set(row, va_arg(pairs, const char *), settings);
    }
    va_end(pairs);
    return settings;
}
