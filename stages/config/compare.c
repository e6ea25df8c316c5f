/* Finds the differences between two configs that a running line cannot put into force. */
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"

#define PATH_BYTES 128

typedef struct config_comparison {
    const crn_config *running, *file;
    FILE *out;
    int32_t count;
} config_comparison;

/* As text, so that each type is compared as it is printed; the caller frees it. */
static char *text_of(const crn_param *row, const void *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    crn_print_value(row, settings, out);
    fclose(out);
    return text;
}

static void add(config_comparison *self, const char *path, const char *file, const char *running)
{
    self->count++;
    if (self->out)
        fprintf(self->out,
                "%s: %s is %s in the file and %s in the running daemon, which changes at a "
                "restart only\n",
                self->file->file ? self->file->file : "", path, file, running);
}

static void compare_row(config_comparison *self, const char *path, const crn_param *row, size_t at)
{
    char *running = text_of(row, (const char *)self->running + at);
    char *file = text_of(row, (const char *)self->file + at);
    if (!running || !file)
        add(self, path, "unknown (no memory)", "unknown");
    else if (strcmp(running, file) != 0)
        add(self, path, file, running);
    free(running);
    free(file);
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
}

static void compare_sections(config_comparison *self, const char *above,
                             const crn_section *sections)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        char path[PATH_BYTES], key[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s", above, above[0] ? "." : "", section->key);
        if (section->kind == CRN_SECTION_CLASSES)
            compare_classes(self);
        if (section->kind != CRN_SECTION_KEYS)
            continue;
        for (const crn_param *row = section->rows; row && row->key; row++) {
            snprintf(key, sizeof key, "%s.%s", path, row->key);
            if (!row->live)
                compare_row(self, key, row, section->at);
        }
        compare_sections(self, path, section->sections);
    }
}

int32_t crn_config_fixed_differences(const crn_config *running, const crn_config *file, FILE *out)
{
    config_comparison self = {.running = running, .file = file, .out = out};
    compare_sections(&self, "", crn_sections);
    return self.count;
}
