/* The names that libcernita exports, shared and static, are those of
 * tools/packaging/cernita.symbols and of the public headers, and no others. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

#define NAMES_MAX 256

typedef struct name_list {
    int count;
    char item[NAMES_MAX][64];
} name_list;

static name_list promised;

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A name ends before the version that nm appends. */
static void add(name_list *list, const char *name)
{
    assert_true(list->count < NAMES_MAX);
    snprintf(list->item[list->count++], sizeof list->item[0], "%.*s", (int)strcspn(name, "@( \n"),
             name);
}

static void assert_promised(name_list *list, const char *where)
{
    qsort(list->item, (size_t)list->count, sizeof list->item[0], compare);
    for (int i = 0; i < list->count || i < promised.count; i++) {
        const char *found = i < list->count ? list->item[i] : "nothing more";
        const char *listed = i < promised.count ? promised.item[i] : "nothing more";
        if (strcmp(found, listed) != 0)
            fail_msg("%s has %s where tools/packaging/cernita.symbols has %s", where, found,
                     listed);
    }
}

static int set_up(void **state)
{
    (void)state;
    char line[128];
    FILE *file = fopen(CRN_TEST_DATA "/../tools/packaging/cernita.symbols", "r");
    while (file && fgets(line, sizeof line, file))
        add(&promised, line);
    return file ? fclose(file) : -1;
}

/* The defined names that nm prints, without that of the version; a member of an archive ends with a
 * colon. */
static name_list defined_in(const char *command)
{
    name_list list = {0};
    char line[256], kind, name[128];
    FILE *nm = popen(command, "r");
    assert_non_null(nm);
    while (fgets(line, sizeof line, nm))
        if (!strchr(line, ':') && sscanf(line, "%*x %c %127s", &kind, name) == 2 && kind != 'A')
            add(&list, name);
    assert_int_equal(pclose(nm), 0);
    return list;
}

static void the_list_is_sorted_and_not_empty(void **state)
{
    (void)state;
    assert_true(promised.count > 10);
    for (int i = 1; i < promised.count; i++)
        assert_true(strcmp(promised.item[i - 1], promised.item[i]) < 0);
}

static void the_shared_library_exports_the_list(void **state)
{
    (void)state;
    name_list list = defined_in("nm -D --defined-only " CRN_BIN
                                "/../lib/libcernita.so | grep -v @CERNITA_PRIVATE_");
    assert_promised(&list, "libcernita.so");
}

static void the_archive_defines_the_list(void **state)
{
    (void)state;
    name_list list = defined_in("nm -g --defined-only " CRN_BIN "/../lib/libcernita.a");
    assert_promised(&list, "libcernita.a");
}

static void add_declared(name_list *list, const char *header)
{
    char line[256];
    FILE *file = fopen(header, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *bracket = strchr(line, '(');
        if (strncmp(line, "CRN_API ", 8) != 0 || !bracket)
            continue;
        char *start = bracket;
        while (isalnum((unsigned char)start[-1]) || start[-1] == '_')
            start--;
        add(list, start);
    }
    fclose(file);
}

static void the_headers_declare_the_list(void **state)
{
    (void)state;
    name_list list = {0};
    add_declared(&list, CRN_TEST_DATA "/../stages/cernita.h");
    add_declared(&list, CRN_TEST_DATA "/../stages/cernita_surface.h");
    add_declared(&list, CRN_TEST_DATA "/../stages/producer/cernita_producer.h");
    add_declared(&list, CRN_TEST_DATA "/../stages/producer/cernita_producer_gpu.h");
    assert_promised(&list, "the public headers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_sorted_and_not_empty),
        cmocka_unit_test(the_shared_library_exports_the_list),
        cmocka_unit_test(the_archive_defines_the_list),
        cmocka_unit_test(the_headers_declare_the_list),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
