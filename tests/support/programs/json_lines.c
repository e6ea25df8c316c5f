#include "tests/support/programs/json_lines.h"

#include <string.h>

#include "tests/support/cmocka_prelude.h"

double crn_json_number(yajl_val object, const char *key)
{
    const char *path[] = {key, NULL};
    yajl_val value = yajl_tree_get(object, path, yajl_t_number);
    assert_non_null(value);
    return YAJL_GET_DOUBLE(value);
}

int crn_json_check_lines(char *text, void check(yajl_val line))
{
    int lines = 0;
    for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"), lines++) {
        char fault[128];
        yajl_val line = yajl_tree_parse(at, fault, sizeof fault);
        if (!line)
            fail_msg("%s: %s", at, fault);
        check(line);
        yajl_tree_free(line);
    }
    return lines;
}
