/* Collects the errors of one file; quotes values and guesses names for messages. */
#include "stages/config/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/nearest.h"

#define FAULTS_MAX 1000 /* that are kept and told */

#define SHOWN_MAX 60 /* bytes of a value that a message quotes */

void crn_diagnostics_add(crn_diagnostics *faults, crn_source_position position, const char *format,
                         ...)
{
    if (faults->count == faults->capacity && faults->count < FAULTS_MAX) {
        size_t capacity = faults->capacity ? 2 * faults->capacity : 16;
        crn_fault *item = realloc(faults->item, capacity * sizeof *item);
        if (item) {
            faults->item = item;
            faults->capacity = capacity;
        }
    }
    char *text = NULL;
    if (faults->count < faults->capacity && faults->count < FAULTS_MAX) {
        va_list arguments;
        va_start(arguments, format);
        if (vasprintf(&text, format, arguments) < 0)
            text = NULL;
        va_end(arguments);
    }
    if (!text) {
        faults->full = true;
        return;
    }
    faults->item[faults->count] =
        (crn_fault){.position = position, .number = faults->count, .text = text};
    faults->count++;
}

bool crn_diagnostics_at(const crn_diagnostics *faults, crn_source_position position)
{
    for (size_t i = 0; i < faults->count; i++)
        if (faults->item[i].position.line == position.line &&
            faults->item[i].position.column == position.column)
            return true;
    return false;
}

static int by_position(const void *left, const void *right)
{
    const crn_fault *a = left, *b = right;
    if (a->position.line != b->position.line)
        return a->position.line < b->position.line ? -1 : 1;
    if (a->position.column != b->position.column)
        return a->position.column < b->position.column ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void crn_diagnostics_print(crn_diagnostics *faults, FILE *out)
{
    if (!out)
        return;
    char file[1024];
    crn_utf8_show(faults->file, strlen(faults->file), file, sizeof file);
    if (faults->count)
        qsort(faults->item, faults->count, sizeof *faults->item, by_position);
    for (size_t i = 0; i < faults->count; i++)
        fprintf(out, "%s:%d:%d: %s\n", file, faults->item[i].position.line,
                faults->item[i].position.column, faults->item[i].text);
    if (faults->full)
        fprintf(out, "%s: more faults than these %zu: the rest of the file was not read\n", file,
                faults->count);
}

void crn_diagnostics_done(crn_diagnostics *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        free(faults->item[i].text);
    free(faults->item);
    *faults = (crn_diagnostics){.file = faults->file};
}

crn_quoted crn_quote(const char *text, size_t length, char mark)
{
    crn_quoted shown;
    size_t used = 0, at = 0;
    shown.text[used++] = mark;
    while (at < length && at < SHOWN_MAX) {
        size_t bytes;
        int32_t character = crn_utf8_read(text + at, length - at, &bytes);
        if (character >= 0 && crn_utf8_prints(character)) {
            memcpy(shown.text + used, text + at, bytes);
            used += bytes;
        } else {
            for (size_t i = 0; i < bytes; i++)
                used += (size_t)sprintf(shown.text + used, "\\x%02x", (unsigned char)text[at + i]);
        }
        at += bytes;
    }
    snprintf(shown.text + used, sizeof shown.text - used, "%s%c", at < length ? "..." : "", mark);
    return shown;
}

const char *crn_names_nearest(const crn_names *names, const char *word)
{
    return crn_nearest(word, names->item, (size_t)names->count);
}

void crn_names_join(const crn_names *names, const char *last, char *out, size_t out_bytes)
{
    out[0] = '\0';
    for (int32_t i = 0; i < names->count; i++) {
        size_t used = strlen(out);
        const char *between = i == 0 ? "" : i + 1 < names->count ? ", " : NULL;
        if (between)
            snprintf(out + used, out_bytes - used, "%s%s", between, names->item[i]);
        else
            snprintf(out + used, out_bytes - used, " %s %s", last, names->item[i]);
    }
}
