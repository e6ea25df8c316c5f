/* Recordings that are new or have changed, into the index that is made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/formats/recording/recording.h"
#include "stages/base/buffer/array.h"
#include "tools/common/progress.h"
#include "tools/workbench/fruits/builder.h"
#include "tools/workbench/fruits/sources.h"

#define NOTE_BYTES_MAX (64 << 10)

int crn_fruit_builder_note(crn_fruit_builder *builder, const char *text, size_t length)
{
    size_t used = builder->head.note_bytes, bytes = length + 1;
    if (used + bytes > NOTE_BYTES_MAX)
        return 0;
    char *grown = realloc(builder->notes, used + bytes);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + used, text, length);
    grown[used + bytes - 1] = '\n';
    builder->notes = grown;
    builder->head.note_bytes = used + bytes;
    return 0;
}

static int add_view(crn_fruit_builder *builder, const crn_recorded_view *view, uint32_t recording,
                    uint64_t offset)
{
    const crn_view_header *header = &view->header;
    if (crn_array_grow(&builder->met, builder->met_count, sizeof *builder->met) < 0)
        return -ENOMEM;
    builder->met[builder->met_count++] = (crn_met_view){
        .epoch = header->epoch,
        .fruit = header->fruit,
        .lane = header->lane,
        .time_ns = (int64_t)(view->arrived_ns ? view->arrived_ns : header->captured_ns),
        .is_new = true,
        .number = CRN_FRUIT_NEW,
        .at = {.offset = offset, .recording = recording, .view = header->view}};
    return 0;
}

/* The first names that a recording has; other ones would not go with their planes. */
static void take_classes(crn_fruit_builder *builder, const crn_classes *classes)
{
    if (builder->head.recorded_classes || !classes)
        return;
    builder->head.classes = *classes;
    builder->head.recorded_classes = classes->count;
}

static int read_recording(crn_fruit_builder *builder, const char *path, uint32_t number,
                          crn_progress *progress)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error error = {0};
    int r = crn_recording_open(path, &reader, &error) < 0 ? 0 : 1;
    while (r == 1) {
        uint64_t offset = crn_recording_tell(reader).offset;
        r = crn_recording_skip(reader, &view, &error);
        if (r != 1)
            break;
        take_classes(builder, crn_recording_classes(reader));
        if (add_view(builder, &view, number, offset) < 0)
            r = -ENOMEM;
        crn_progress_update(progress, builder->met_count, NULL);
    }
    crn_recording_end(&reader);
    if (r == -ENOMEM)
        return r;
    return error.text[0] ? crn_fruit_builder_note(builder, error.text, strlen(error.text)) : 0;
}

/* The recording of that path, looked for from *at on, which then is behind it: both lists have
 * about the same order. NULL: there is none. */
static crn_indexed_recording *find_recording(crn_fruit_builder *builder, const char *path,
                                             uint64_t *at)
{
    uint64_t count = builder->head.recording_count;
    for (uint64_t i = 0; i < count; i++) {
        crn_indexed_recording *one = &builder->recordings[(*at + i) % count];
        if (strcmp(builder->paths + one->path, path) != 0)
            continue;
        *at = (*at + i + 1) % count;
        return one;
    }
    return NULL;
}

static crn_indexed_recording *add_recording(crn_fruit_builder *builder, const char *path)
{
    size_t bytes = strlen(path) + 1, used = builder->head.path_bytes;
    char *grown = realloc(builder->paths, used + bytes);
    if (!grown)
        return NULL;
    builder->paths = grown;
    memcpy(grown + used, path, bytes);
    uint64_t count = builder->head.recording_count;
    if (crn_array_grow(&builder->recordings, count, sizeof *builder->recordings) < 0)
        return NULL;
    builder->recordings[count] = (crn_indexed_recording){.path = used, .bytes = -1};
    builder->head.path_bytes += bytes;
    builder->head.recording_count++;
    return &builder->recordings[count];
}

/* Forgets what was told of a recording. */
static void drop_notes(crn_fruit_builder *builder, const char *path)
{
    size_t length = strlen(path), kept = 0, line;
    for (size_t at = 0; at < builder->head.note_bytes; at += line) {
        const char *note = builder->notes + at;
        line = (size_t)((const char *)memchr(note, '\n', builder->head.note_bytes - at) - note) + 1;
        if (line > length && memcmp(note, path, length) == 0 && note[length] == ':')
            continue;
        memmove(builder->notes + kept, note, line);
        kept += line;
    }
    builder->head.note_bytes = kept;
}

/* Reads a recording unless it is known as it is. *ret_changed is set if it was read. */
static int renew_recording(crn_fruit_builder *builder, const char *path, uint64_t *at,
                           crn_progress *progress, bool *ret_changed)
{
    struct stat status = {0};
    crn_indexed_recording *known = find_recording(builder, path, at);
    int64_t bytes = stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
    int64_t modified_ns =
        (int64_t)status.st_mtim.tv_sec * 1000000000 + (int64_t)status.st_mtim.tv_nsec;
    if (known && known->bytes == bytes && known->modified_ns == modified_ns)
        return 0;
    if (known)
        drop_notes(builder, path);
    else
        known = add_recording(builder, path);
    if (!known)
        return -ENOMEM;
    known->bytes = bytes;
    known->modified_ns = modified_ns;
    *ret_changed = true;
    return read_recording(builder, path, (uint32_t)(known - builder->recordings), progress);
}

int crn_fruit_read_recordings(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                              bool *ret_changed, crn_error *error)
{
    crn_recordings list;
    crn_progress progress;
    uint64_t at = 0;
    int r = crn_fruit_sources_list(sources, &list, error);
    if (r < 0)
        return r;
    crn_progress_begin(&progress, "views", 0);
    for (int i = 0; r == 0 && i < list.count; i++)
        r = renew_recording(builder, list.paths[i], &at, &progress, ret_changed);
    crn_progress_end(&progress);
    crn_recordings_free(&list);
    return r < 0 ? crn_error_set(error, r,
                                 "no memory for an index of so many views: name fewer "
                                 "recordings")
                 : 0;
}
