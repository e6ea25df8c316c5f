#include "tests/support/programs/readme_reference.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

void readme_expect_reference(const char *readme, const char *fresh, void (*print)(FILE *out))
{
    static char whole[1 << 16];
    char path[512];
    snprintf(path, sizeof path, CRN_TEST_DATA "/../%s", readme);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    whole[fread(whole, 1, sizeof whole - 1, file)] = '\0';
    fclose(file);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(out);
    fclose(out);
    bool same = strstr(whole, text) != NULL;
    snprintf(path, sizeof path, CRN_BIN "/%s", fresh);
    out = same ? NULL : fopen(path, "w");
    if (out) {
        fputs(text, out);
        fclose(out);
    }
    free(text);
    if (!same)
        fail_msg("%s is behind the code: put the table of %s there", readme, path);
}
