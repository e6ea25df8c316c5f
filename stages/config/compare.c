/* Finds the differences between two configs: all of them, or those that a running line cannot put
 * into force. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"

#define PATH_BYTES 128

typedef struct config_comparison {
    const crn_config *running, *file;
    bool all; /* also what a reload changes */
    FILE *out;
    int32_t count;
} config_comparison;

/* As text, so that each type is compared as it is printed; the caller frees it. */
static char *text_of(const crn_param *row, const void *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    double real;
    if (!out)
        return NULL;
    memcpy(&real, (const char *)settings + (row->type == CRN_PARAM_REAL ? row->offset : 0),
           row->type == CRN_PARAM_REAL ? sizeof real : 0);
    if (row->type == CRN_PARAM_REAL && isnan(real))
        fputs("none", out);
    else
        crn_print_value(row, settings, out);
    fclose(out);
    return text;
}

static void add(config_comparison *self, const char *path, const char *file, const char *running)
{
    self->count++;
    if (self->out && self->all)
        fprintf(self->out, "%s: %s -> %s\n", path, running, file);
    else if (self->out)
        fprintf(self->out,
                "%s: %s is %s in the file and %s in the running daemon, which changes at a "
                "restart only\n",
                self->file->file ? self->file->file : "", path, file, running);
}

static void compare_row(config_comparison *self, const char *above, const crn_param *row,
                        const void *running_settings, const void *file_settings)
{
    char path[2 * PATH_BYTES];
    char *running = text_of(row, running_settings), *file = text_of(row, file_settings);
    snprintf(path, sizeof path, "%s.%s", above, row->key);
    if (!running || !file)
        add(self, path, "unknown (no memory)", "unknown");
    else if (strcmp(running, file) != 0)
        add(self, path, file, running);
    free(running);
    free(file);
}

static void compare_rows(config_comparison *self, const char *above, const crn_param *rows,
                         const void *running, const void *file)
{
    for (const crn_param *row = rows; row && row->key; row++)
        if (self->all || !row->live)
            compare_row(self, above, row, running, file);
}

static void compare_levels(config_comparison *self, const char *above, const crn_classes *running,
                           const crn_classes *file)
{
    for (int32_t i = 0; i < file->count; i++) {
        const crn_class_settings levels[] = {{.level = running->level[i]},
                                             {.level = file->level[i]}};
        char path[3 * PATH_BYTES];
        snprintf(path, sizeof path, "%s.%s", above, file->name[i]);
        compare_row(self, path, crn_keys_level, &levels[0], &levels[1]);
    }
}

static void compare_classes(config_comparison *self)
{
    const crn_classes *running = &self->running->classes, *file = &self->file->classes;
    char counts[2][24];
    snprintf(counts[0], sizeof counts[0], "%d classes", file->count);
    snprintf(counts[1], sizeof counts[1], "%d", running->count);
    if (file->count != running->count)
        add(self, "classes", counts[0], counts[1]);
    for (int32_t i = 0; i < file->count && file->count == running->count; i++) {
        char path[32];
        snprintf(path, sizeof path, "classes[%d].name", i);
        if (strcmp(file->name[i], running->name[i]) != 0)
            add(self, path, file->name[i], running->name[i]);
    }
    if (self->all && file->count == running->count)
        compare_levels(self, "classes", running, file);
}

/* --- what a reload changes --- */

/* The stages' names, as "contours, ranklet". */
static void list_stages(const crn_step *chain, int32_t steps, char text[PATH_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < steps && length < PATH_BYTES; i++)
        length += (size_t)snprintf(text + length, PATH_BYTES - length, "%s%s", i ? ", " : "",
                                   chain[i].stage->name);
}

static void compare_chain(config_comparison *self, const char *above, const crn_step *running,
                          int32_t running_steps, const crn_step *file, int32_t file_steps)
{
    char stages[2][PATH_BYTES], path[PATH_BYTES];
    const crn_section *section = crn_section_of(CRN_SECTION_CHAIN);
    list_stages(running, running_steps, stages[0]);
    list_stages(file, file_steps, stages[1]);
    if (running_steps != file_steps || strcmp(stages[0], stages[1]) != 0) {
        add(self, above, stages[1], stages[0]);
        return;
    }
    for (int32_t i = 0; i < file_steps; i++) {
        snprintf(path, sizeof path, "%s[%d].%s", above, (int)i, file[i].stage->name);
        compare_rows(self, path, file[i].stage->params, running[i].settings, file[i].settings);
        compare_rows(self, path, section->rows, &running[i], &file[i]);
    }
}

static void compare_recipe(config_comparison *self, const crn_recipe *running,
                           const crn_recipe *file)
{
    char above[PATH_BYTES], path[PATH_BYTES + 16];
    const void *running_config = (const char *)&running->geometry - offsetof(crn_config, geometry);
    const void *file_config = (const char *)&file->geometry - offsetof(crn_config, geometry);
    snprintf(above, sizeof above, "recipes.%s", file->name);
    if (running->classes.count == file->classes.count)
        compare_levels(self, above, &running->classes, &file->classes);
    snprintf(path, sizeof path, "%s.chain", above);
    compare_chain(self, path, running->chain, running->steps, file->chain, file->steps);
    snprintf(path, sizeof path, "%s.latency", above);
    compare_rows(self, path, crn_keys_latency, &running->latency, &file->latency);
    snprintf(path, sizeof path, "%s.geometry", above);
    compare_rows(self, path, crn_keys_geometry_of_recipe, running_config, file_config);
    for (const crn_section *section = crn_sections_of_geometry; section->key; section++)
        compare_rows(self, path, section->rows, running_config, file_config);
}

static const crn_recipe *find_recipe(const crn_recipes *recipes, const char *name)
{
    for (int32_t i = 0; recipes && i < recipes->count; i++)
        if (strcmp(recipes->item[i].name, name) == 0)
            return &recipes->item[i];
    return NULL;
}

static void compare_recipes(config_comparison *self)
{
    const crn_recipes *running = self->running->recipes, *file = self->file->recipes;
    char path[PATH_BYTES];
    for (int32_t i = 0; running && i < running->count; i++) {
        const crn_recipe *other = find_recipe(file, running->item[i].name);
        snprintf(path, sizeof path, "recipes.%s", running->item[i].name);
        if (other)
            compare_recipe(self, &running->item[i], other);
        else
            add(self, path, "none", "there");
    }
    for (int32_t i = 0; file && i < file->count; i++) {
        snprintf(path, sizeof path, "recipes.%s", file->item[i].name);
        if (!find_recipe(running, file->item[i].name))
            add(self, path, "there", "none");
    }
}

/* A section with a print of its own: by what it prints. */
static void compare_own(config_comparison *self, const char *path, const crn_section *section)
{
    char *texts[2] = {NULL, NULL};
    size_t size;
    const crn_config *configs[] = {self->running, self->file};
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&texts[i], &size);
        if (!out)
            continue;
        section->print(configs[i], 0, out);
        fclose(out);
    }
    if (!texts[0] || !texts[1] || strcmp(texts[0], texts[1]) != 0)
        add(self, path, "others", "some");
    free(texts[0]);
    free(texts[1]);
}

/* --- the sections --- */

static void compare_sections(config_comparison *self, const char *above,
                             const crn_section *sections)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s", above, above[0] ? "." : "", section->key);
        if (section->kind == CRN_SECTION_CLASSES)
            compare_classes(self);
        else if (section->kind == CRN_SECTION_KEYS)
            compare_rows(self, path, section->rows, (const char *)self->running + section->at,
                         (const char *)self->file + section->at);
        else if (self->all && section->kind == CRN_SECTION_CHAIN)
            compare_chain(self, path, self->running->chain, self->running->steps, self->file->chain,
                          self->file->steps);
        else if (self->all && section->kind == CRN_SECTION_RECIPES)
            compare_recipes(self);
        else if (self->all && section->kind == CRN_SECTION_OWN)
            compare_own(self, path, section);
        if (section->kind == CRN_SECTION_KEYS)
            compare_sections(self, path, section->sections);
    }
}

int32_t crn_config_fixed_differences(const crn_config *running, const crn_config *file, FILE *out)
{
    config_comparison self = {.running = running, .file = file, .out = out};
    compare_sections(&self, "", crn_sections);
    return self.count;
}

int32_t crn_config_differences(const crn_config *before, const crn_config *after, FILE *out)
{
    config_comparison self = {.running = before, .file = after, .all = true, .out = out};
    compare_sections(&self, "", crn_sections);
    return self.count;
}
