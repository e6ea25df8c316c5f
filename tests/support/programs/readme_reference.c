#include "tests/support/programs/readme_reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

static char *text_of(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(out);
    fclose(out);
    return text;
}

/* Writes the file with `fresh` in place of the table that begins with the same line. */
static void renew(const char *path, const char *whole, const char *fresh)
{
    char head[512];
    snprintf(head, sizeof head, "%.*s", (int)strcspn(fresh, "\n") + 1, fresh);
    const char *table = strstr(whole, head);
    if (!table)
        fail_msg("%s has no table to renew that begins with %s", path, head);
    const char *end = table;
    while (*end == '|')
        end += strcspn(end, "\n") + 1;
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.*s%s%s", (int)(table - whole), whole, fresh, end);
    assert_int_equal(fclose(out), 0);
}

static void read_whole(const char *file, char path[512], char *whole, size_t size)
{
    snprintf(path, 512, CRN_TEST_DATA "/../%s", file);
    FILE *opened = fopen(path, "r");
    if (!opened)
        fail_msg("%s: %s", path, strerror(errno));
    size_t read = fread(whole, 1, size - 1, opened);
    fclose(opened);
    assert_true(read < size - 1);
    whole[read] = '\0';
}

void readme_expect_file(const char *file, void (*print)(FILE *out))
{
    static char whole[1 << 18];
    char path[512];
    read_whole(file, path, whole, sizeof whole);
    char *fresh = text_of(print);
    if (strcmp(whole, fresh) != 0) {
        if (!getenv("CRN_RENEW"))
            fail_msg("%s is behind the code: CRN_RENEW=1 build/bin/%s writes it", file,
                     program_invocation_short_name);
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(fresh, out);
        assert_int_equal(fclose(out), 0);
    }
    free(fresh);
}

void readme_expect_reference(const char *readme, void (*print)(FILE *out))
{
    static char whole[1 << 18];
    char path[512];
    read_whole(readme, path, whole, sizeof whole);
    char *fresh = text_of(print);
    if (!strstr(whole, fresh)) {
        if (!getenv("CRN_RENEW"))
            fail_msg("%s is behind the code: CRN_RENEW=1 build/bin/%s writes its table", readme,
                     program_invocation_short_name);
        renew(path, whole, fresh);
    }
    free(fresh);
}

void readme_expect_row(const char *readme, const char *heading, const char *key)
{
    static char whole[1 << 18];
    char path[512], row[256];
    read_whole(readme, path, whole, sizeof whole);
    snprintf(row, sizeof row, "\n| `%s`", key);
    const char *section = strstr(whole, heading);
    if (!section || !strstr(section, row))
        fail_msg("%s has no row of `%s` below '%s'", readme, key, heading);
}
