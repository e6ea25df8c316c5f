/* Prints the settings as a file, and the reference of all keys, from the parser's tables. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"

/* Prints a double-quoted, escaped string. */
static void print_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            fprintf(out, "\\x%02x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

/* The shortest of 15 to 17 digits that reads back to the same number. */
static void print_real(double value, FILE *out)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, out);
}

static void print_scalar(const crn_param *row, crn_param_type type, const char *value, FILE *out)
{
    const crn_size *size = (const crn_size *)value;
    if (type == CRN_PARAM_BOOL)
        fputs(*(const bool *)value ? "true" : "false", out);
    else if (type == CRN_PARAM_INTEGER)
        fprintf(out, "%" PRId64, *(const int64_t *)value);
    else if (type == CRN_PARAM_REAL)
        print_real(*(const double *)value, out);
    else if (type == CRN_PARAM_CHOICE)
        fputs(row->choices[*(const int32_t *)value], out);
    else if (type == CRN_PARAM_TEXT)
        print_text(value, out);
    else if (size->height == size->width)
        fprintf(out, "%" PRId32, size->width);
    else
        fprintf(out, "%" PRId32 "x%" PRId32, size->width, size->height);
}

void crn_print_value(const crn_param *row, const void *settings, FILE *out)
{
    const char *value = (const char *)settings + row->offset;
    const crn_list_kind *kind = crn_list_kind_of(row->type);
    if (!kind) {
        print_scalar(row, row->type, value, out);
        return;
    }
    int32_t count;
    memcpy(&count, value, sizeof count);
    fputc('[', out);
    for (int32_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        print_scalar(row, kind->item, value + kind->first + kind->item_bytes * (size_t)i, out);
    }
    fputc(']', out);
}

/* A number that is unset, and a list of such, has no key in the file. */
static bool has_value(const crn_param *row, const void *settings)
{
    const char *value = (const char *)settings + row->offset;
    int32_t count; /* the first member of every list type */
    double real;
    if (row->type == CRN_PARAM_REALS) {
        memcpy(&count, value, sizeof count);
        return count > 0;
    }
    if (row->type != CRN_PARAM_REAL)
        return true;
    memcpy(&real, value, sizeof real);
    return !isnan(real);
}

/* Prints `key: value, key: value` after `before` earlier pairs; returns the total. */
static int print_flow(const crn_param *rows, const void *settings, int before, FILE *out)
{
    for (const crn_param *row = rows; row && row->key; row++) {
        if (!has_value(row, settings))
            continue;
        fprintf(out, "%s%s: ", before++ ? ", " : "", row->key);
        crn_print_value(row, settings, out);
    }
    return before;
}

static void print_classes(const crn_classes *classes, const crn_section *section, FILE *out)
{
    for (int32_t i = 0; i < classes->count; i++) {
        crn_class_settings settings = {.level = classes->level[i]};
        memcpy(settings.name, classes->name[i], CRN_CLASS_NAME_MAX);
        fputs("  - {", out);
        print_flow(section->rows, &settings, 0, out);
        fputs("}\n", out);
    }
}

static void print_chain(const crn_step *chain, int32_t steps, int indent, FILE *out)
{
    const crn_section *section = crn_section_of(CRN_SECTION_CHAIN);
    for (int32_t i = 0; i < steps; i++) {
        const crn_step *step = &chain[i];
        fprintf(out, "%*s- %s: {", indent, "", step->stage->name);
        int printed = print_flow(step->stage->params, step->settings, 0, out);
        print_flow(section->rows, step, printed, out);
        fputs("}\n", out);
    }
}

/* The rows lie in a config. */
static void print_recipe_geometry(const crn_recipe *recipe, FILE *out)
{
    const char *config = (const char *)&recipe->geometry - offsetof(crn_config, geometry);
    if (recipe->geometry.mm_per_px.count == 0)
        return;
    fputs("    geometry: {", out);
    int printed = print_flow(crn_keys_geometry_of_recipe, config, 0, out);
    for (const crn_section *section = crn_sections_of_geometry; section->key; section++) {
        fprintf(out, "%s%s: {", printed ? ", " : "", section->key);
        print_flow(section->rows, config, 0, out);
        fputc('}', out);
    }
    fputs("}\n", out);
}

static void print_recipes(const crn_recipes *recipes, FILE *out)
{
    for (int32_t i = 0; recipes && i < recipes->count; i++) {
        const crn_recipe *recipe = &recipes->item[i];
        fputs("  ", out);
        print_text(recipe->name, out);
        fputs(":\n    classes:\n", out);
        for (int32_t c = 0; c < recipe->classes.count; c++) {
            const crn_class_settings settings = {.level = recipe->classes.level[c]};
            fputs("      ", out);
            print_text(recipe->classes.name[c], out);
            fputs(": {", out);
            print_flow(crn_keys_level, &settings, 0, out);
            fputs("}\n", out);
        }
        fputs("    chain:\n", out);
        print_chain(recipe->chain, recipe->steps, 6, out);
        fputs("    latency: {", out);
        print_flow(crn_keys_latency, &recipe->latency, 0, out);
        fputs("}\n", out);
        print_recipe_geometry(recipe, out);
    }
}

static void print_sections(const crn_config *config, const crn_section *sections, int indent,
                           FILE *out)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        const char *settings = (const char *)config + section->at;
        if (section->optional && !has_value(section->rows, settings))
            continue;
        if (section->kind == CRN_SECTION_OWN) {
            section->print(config, indent, out);
            continue;
        }
        bool none = section->kind == CRN_SECTION_RECIPES && !config->recipes;
        fprintf(out, "%*s%s:%s\n", indent, "", section->key, none ? " {}" : "");
        if (section->kind == CRN_SECTION_CLASSES) {
            print_classes(&config->classes, section, out);
            continue;
        }
        if (section->kind == CRN_SECTION_CHAIN) {
            print_chain(config->chain, config->steps, 2, out);
            continue;
        }
        if (section->kind == CRN_SECTION_RECIPES) {
            print_recipes(config->recipes, out);
            continue;
        }
        for (const crn_param *row = section->rows; row && row->key; row++) {
            if (!has_value(row, settings))
                continue;
            fprintf(out, "%*s%s: ", indent + 2, "", row->key);
            crn_print_value(row, settings, out);
            fputc('\n', out);
        }
        print_sections(config, section->sections, indent + 2, out);
    }
}

void crn_config_print(const crn_config *config, FILE *out)
{
    print_sections(config, crn_sections, 0, out);
}

static void print_reference_rows(const char *path, const crn_param *rows, FILE *out)
{
    for (const crn_param *row = rows; row && row->key; row++) {
        char expected[600];
        crn_param_expected(row, expected, sizeof expected);
        fprintf(out, "| `%s.%s` | ", path, row->key);
        if (!row->fallback)
            fputs("required", out);
        else if (row->fallback[0])
            fprintf(out, "`%s`", row->fallback);
        else
            fputs(row->type == CRN_PARAM_REAL ? "none" : "empty", out);
        fprintf(out, " | %s | %s%s |\n", expected, row->help, row->live ? " (live)" : "");
    }
}

static void print_reference_sections(const char *above, const crn_section *sections, FILE *out)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        char path[256];
        bool list = section->kind == CRN_SECTION_CLASSES || section->kind == CRN_SECTION_CHAIN;
        if (section->kind == CRN_SECTION_RECIPES) {
            fprintf(out,
                    "| `%s.NAME` | none | a map of classes, chain, latency and geometry | %s |\n",
                    section->key, section->help);
            continue;
        }
        snprintf(path, sizeof path, "%s%s%s%s", above, above[0] ? "." : "", section->key,
                 list ? "[]" : "");
        if (section->kind == CRN_SECTION_OWN) {
            fprintf(out, "| `%s` | empty | %s | %s |\n", path,
                    section->shape ? section->shape : "a list", section->help);
            continue;
        }
        if (section->kind != CRN_SECTION_CHAIN)
            print_reference_rows(path, section->rows, out);
        print_reference_sections(path, section->sections, out);
        for (int32_t i = 0; section->kind == CRN_SECTION_CHAIN && crn_stages[i]; i++) {
            char stage[300];
            snprintf(stage, sizeof stage, "%s.%s", path, crn_stages[i]->name);
            fprintf(out, "| `%s` | | | %s |\n", stage, crn_stages[i]->help);
            print_reference_rows(stage, crn_stages[i]->params, out);
            print_reference_rows(stage, section->rows, out);
        }
    }
}

void crn_file_print_reference(const crn_section *sections, FILE *out)
{
    print_reference_sections("", sections, out);
}

void crn_config_print_reference(FILE *out)
{
    fputs("| Key | Default | Range or choices | Meaning |\n|---|---|---|---|\n", out);
    crn_file_print_reference(crn_sections, out);
}
