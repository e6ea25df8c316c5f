/* Rows, and their two forms. */
#include <stdarg.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "src/self_check/internal.h"
#include "stages/base/utf8.h"

const char *const crn_finding_level_names[] = {"ok", "note", "bad", "unknown", NULL};

void crn_self_check_add(crn_self_check *check, const char *name, crn_finding_level level,
                        const char *cost, const char *cure, const char *format, ...)
{
    if (check->count == CRN_FINDINGS_MAX)
        return;
    crn_finding *row = &check->item[check->count++];
    bool told = level == CRN_FINDING_NOTE || level == CRN_FINDING_BAD;
    *row = (crn_finding){
        .name = name, .level = level, .cost = told ? cost : NULL, .cure = told ? cure : NULL};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row->text, sizeof row->text, format, arguments);
    va_end(arguments);
    crn_utf8_clean(row->text); /* a file's bytes, or a folder's name cut within a character */
}

int crn_self_check_count(const crn_self_check *check, crn_finding_level level)
{
    int count = 0;
    for (int i = 0; i < check->count; i++)
        count += check->item[i].level == level;
    return count;
}

void crn_self_check_print(const crn_self_check *check, FILE *out)
{
    for (int i = 0; i < check->count; i++) {
        const crn_finding *row = &check->item[i];
        fprintf(out, "%-8s%-22s  %s\n", crn_finding_level_names[row->level], row->name, row->text);
        if (row->cost)
            fprintf(out, "%8scost: %s\n", "", row->cost);
        if (row->cure)
            fprintf(out, "%8scure: %s\n", "", row->cure);
    }
    fprintf(
        out, "\n%d ok, %d note, %d bad, %d unknown\n", crn_self_check_count(check, CRN_FINDING_OK),
        crn_self_check_count(check, CRN_FINDING_NOTE), crn_self_check_count(check, CRN_FINDING_BAD),
        crn_self_check_count(check, CRN_FINDING_UNKNOWN));
}

static void add_text(yajl_gen json, const char *text)
{
    if (text)
        yajl_gen_string(json, (const unsigned char *)text, strlen(text));
    else
        yajl_gen_null(json);
}

static void add_pair(yajl_gen json, const char *key, const char *text)
{
    add_text(json, key);
    add_text(json, text);
}

void crn_self_check_print_json(const crn_self_check *check, FILE *out)
{
    const unsigned char *text;
    size_t size;
    yajl_gen json = yajl_gen_alloc(NULL);
    if (!json)
        return;
    yajl_gen_config(json, yajl_gen_beautify, 1);
    yajl_gen_map_open(json);
    add_text(json, "rows");
    yajl_gen_array_open(json);
    for (int i = 0; i < check->count; i++) {
        const crn_finding *row = &check->item[i];
        yajl_gen_map_open(json);
        add_pair(json, "name", row->name);
        add_pair(json, "level", crn_finding_level_names[row->level]);
        add_pair(json, "finding", row->text);
        add_pair(json, "cost", row->cost);
        add_pair(json, "cure", row->cure);
        yajl_gen_map_close(json);
    }
    yajl_gen_array_close(json);
    for (int level = 0; crn_finding_level_names[level]; level++) {
        add_text(json, crn_finding_level_names[level]);
        yajl_gen_integer(json, crn_self_check_count(check, (crn_finding_level)level));
    }
    yajl_gen_map_close(json);
    if (yajl_gen_get_buf(json, &text, &size) == yajl_gen_status_ok)
        fwrite(text, 1, size, out);
    yajl_gen_free(json);
}
