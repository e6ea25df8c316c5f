/* Settings from the text of a file. */
#ifndef CRN_TESTS_SUPPORT_CONFIG_TEXT_H
#define CRN_TESTS_SUPPORT_CONFIG_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"

/* As crn_config_parse; the faults, one a line, are the caller's to free. */
static inline int config_text_parse(const char *text, char **ret_faults, crn_config *ret_config)
{
    size_t size = 0;
    FILE *out = open_memstream(ret_faults, &size);
    assert_non_null(out);
    int r = crn_config_parse("f", text, strlen(text), out, ret_config);
    fclose(out);
    return r;
}

/* Fails with the faults if there are any. */
static inline void config_text_load(const char *text, crn_config *ret_config)
{
    char *faults;
    if (config_text_parse(text, &faults, ret_config) < 0)
        fail_msg("%s", faults);
    free(faults);
}

#endif
