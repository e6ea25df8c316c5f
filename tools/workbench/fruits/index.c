#include "tools/workbench/fruits/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "stages/base/buffer/array.h"
#include "tools/common/progress.h"
#include "tools/workbench/fruits/builder.h"

#define UNFINISHED_NAME CRN_FRUIT_INDEX_NAME ".part"
#define NOTE_BYTES_MAX  (64 << 10)

/* A verdict leaves some time after its fruit's views arrived, by clocks that may differ. */
#define SPAN_MARGIN_NS (INT64_C(600) * 1000 * 1000 * 1000)

/* --- recordings ------------------------------------------------------------------------------- */

static int add_note(crn_fruit_builder *builder, const char *text)
{
    size_t used = builder->head.note_bytes, bytes = strlen(text) + 1;
    if (used + bytes > NOTE_BYTES_MAX)
        return 0;
    char *grown = realloc(builder->notes, used + bytes);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + used, text, bytes);
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
        uint64_t offset = crn_recording_offset(reader);
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
    return error.text[0] ? add_note(builder, error.text) : 0;
}

static int read_recordings(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                           crn_error *error)
{
    crn_progress progress;
    int r = 0;
    crn_progress_begin(&progress, "views", 0);
    for (int32_t i = 0; r == 0 && i < sources->recording_count; i++)
        r = read_recording(builder, sources->recordings[i], (uint32_t)i, &progress);
    crn_progress_end(&progress);
    return r < 0 ? crn_error_set(error, r,
                                 "no memory for an index of so many views: name fewer "
                                 "recordings")
                 : 0;
}

/* --- fruits ----------------------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_fruits(uint64_t lane, uint64_t epoch, uint64_t fruit, const crn_met_view *with)
{
    int order = COMPARE(lane, (uint64_t)with->lane);
    if (order == 0)
        order = COMPARE(epoch, with->epoch);
    return order ? order : COMPARE(fruit, with->fruit);
}

static int by_fruit(const void *left, const void *right)
{
    const crn_met_view *a = left, *b = right;
    int order = compare_fruits(a->lane, a->epoch, a->fruit, b);
    if (order == 0)
        order = COMPARE(a->at.view, b->at.view);
    return order ? order : COMPARE(a->time_ns, b->time_ns);
}

static int by_time(const void *left, const void *right)
{
    const crn_recorded_fruit *a = left, *b = right;
    int order = COMPARE(a->time_ns, b->time_ns);
    return order ? order : COMPARE(a->first_view, b->first_view);
}

/* Views of a fruit that were recorded twice count once, as the first. */
static void join_views(crn_fruit_builder *builder)
{
    size_t kept = 0;
    if (builder->met_count > 0)
        qsort(builder->met, builder->met_count, sizeof *builder->met, by_fruit);
    for (size_t i = 0; i < builder->met_count; i++) {
        const crn_met_view *view = &builder->met[i];
        const crn_met_view *last = kept > 0 ? &builder->met[kept - 1] : NULL;
        bool same = last && compare_fruits(view->lane, view->epoch, view->fruit, last) == 0;
        if (same && view->at.view == last->at.view)
            continue;
        if (!same)
            builder->fruits[builder->head.fruit_count++] =
                (crn_recorded_fruit){.epoch = view->epoch,
                                     .fruit = view->fruit,
                                     .lane = view->lane,
                                     .time_ns = view->time_ns,
                                     .first_view = (uint32_t)kept,
                                     .shown_view = view->at.view,
                                     .kind = CRN_FRUIT_NO_VERDICT};
        crn_recorded_fruit *fruit = &builder->fruits[builder->head.fruit_count - 1];
        fruit->view_count++;
        if (view->time_ns < fruit->time_ns)
            fruit->time_ns = view->time_ns;
        builder->met[kept++] = *view;
    }
    builder->met_count = kept;
    builder->head.view_count = kept;
}

/* --- verdicts --------------------------------------------------------------------------------- */

uint64_t crn_fruit_class_bit(const crn_fruit_index *index, const char *name)
{
    for (int32_t i = 0; i < index->classes.count; i++)
        if (strcmp(index->classes.name[i], name) == 0)
            return UINT64_C(1) << i;
    return 0;
}

uint64_t crn_fruit_builder_class(crn_fruit_builder *builder, const char *name)
{
    crn_classes *classes = &builder->head.classes;
    uint64_t bit = crn_fruit_class_bit(&builder->head, name);
    if (bit || classes->count == CRN_CLASSES_MAX)
        return bit;
    snprintf(classes->name[classes->count], CRN_CLASS_NAME_MAX, "%s", name);
    return UINT64_C(1) << classes->count++;
}

void crn_fruit_builder_span(const crn_fruit_builder *builder, int64_t *ret_from_ns,
                            int64_t *ret_to_ns)
{
    *ret_from_ns = INT64_MAX;
    *ret_to_ns = INT64_MIN;
    for (size_t i = 0; i < builder->met_count; i++) {
        if (builder->met[i].time_ns < *ret_from_ns)
            *ret_from_ns = builder->met[i].time_ns;
        if (builder->met[i].time_ns > *ret_to_ns)
            *ret_to_ns = builder->met[i].time_ns;
    }
    if (__builtin_sub_overflow(*ret_from_ns, SPAN_MARGIN_NS, ret_from_ns))
        *ret_from_ns = INT64_MIN;
    if (__builtin_add_overflow(*ret_to_ns, SPAN_MARGIN_NS, ret_to_ns))
        *ret_to_ns = INT64_MAX;
}

static int find_lot(crn_fruit_builder *builder, const char *name, uint32_t *ret_lot)
{
    *ret_lot = 0;
    if (!name || !*name)
        return 0;
    for (uint64_t i = builder->head.lot_count; i-- > 1;) /* the last one is the likeliest */
        if (strncmp(builder->lots[i], name, CRN_CLASS_NAME_MAX - 1) == 0) {
            *ret_lot = (uint32_t)i;
            return 0;
        }
    if (crn_array_grow(&builder->lots, builder->head.lot_count, sizeof *builder->lots) < 0)
        return -ENOMEM;
    *ret_lot = (uint32_t)builder->head.lot_count++;
    snprintf(builder->lots[*ret_lot], CRN_CLASS_NAME_MAX, "%s", name);
    return 0;
}

static crn_recorded_fruit *find_fruit(crn_fruit_builder *builder, const crn_fruit_verdict *verdict)
{
    uint64_t low = 0, high = builder->head.fruit_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const crn_met_view *view = &builder->met[builder->fruits[middle].first_view];
        int order = compare_fruits(verdict->lane, verdict->epoch, verdict->fruit, view);
        if (order == 0)
            return &builder->fruits[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

int crn_fruit_builder_judge(crn_fruit_builder *builder, const crn_fruit_verdict *verdict)
{
    crn_recorded_fruit *fruit = find_fruit(builder, verdict);
    if (!fruit)
        return 0;
    builder->head.verdicts += fruit->kind == CRN_FRUIT_NO_VERDICT;
    fruit->kind = verdict->kind;
    fruit->found = verdict->found;
    fruit->verdict = verdict->place;
    for (uint32_t i = 0; i < fruit->view_count; i++)
        if (builder->met[fruit->first_view + i].at.view == verdict->shown_view)
            fruit->shown_view = verdict->shown_view;
    return find_lot(builder, verdict->lot, &fruit->lot);
}

/* --- the file --------------------------------------------------------------------------------- */

static int write_file(const crn_fruit_builder *builder, crn_error *error)
{
    const crn_fruit_index *head = &builder->head;
    FILE *file = fopen(UNFINISHED_NAME, "we");
    if (!file)
        return crn_error_set(error, -errno, "the index cannot be stored: %s", strerror(errno));
    fwrite(head, sizeof *head, 1, file);
    fwrite(builder->fruits, sizeof *builder->fruits, head->fruit_count, file);
    for (size_t i = 0; i < builder->met_count; i++)
        fwrite(&builder->met[i].at, sizeof builder->met[i].at, 1, file);
    fwrite(builder->lots, sizeof *builder->lots, head->lot_count, file);
    fwrite(builder->notes ? builder->notes : "", 1, head->note_bytes, file);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!failed && rename(UNFINISHED_NAME, CRN_FRUIT_INDEX_NAME) == 0)
        return 0;
    unlink(UNFINISHED_NAME);
    return crn_error_set(error, -ENOSPC,
                         "there is no memory left for the index of %llu views: name fewer "
                         "recordings",
                         (unsigned long long)head->view_count);
}

static int join(crn_fruit_builder *builder, crn_error *error)
{
    builder->fruits = calloc(builder->met_count + 1, sizeof *builder->fruits);
    builder->lots = NULL;
    if (!builder->fruits || crn_array_grow(&builder->lots, 0, sizeof *builder->lots) < 0)
        return crn_error_set(error, -ENOMEM, "no memory for an index of so many views");
    memset(builder->lots[0], 0, sizeof builder->lots[0]);
    builder->head.lot_count = 1;
    join_views(builder);
    return 0;
}

static int read_verdicts(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                         crn_error *error)
{
    int r = sources->archive ? crn_fruit_read_archive(builder, sources->archive, error) : 0;
    return r == 0 && sources->log ? crn_fruit_read_log(builder, sources->log, error) : r;
}

int crn_fruit_sources_check(const crn_fruit_sources *sources, crn_error *error)
{
    static crn_fruit_builder empty; /* large; no verdict is of its fruits */
    return read_verdicts(&empty, sources, error);
}

int crn_fruit_index_make(const crn_fruit_sources *sources, crn_error *error)
{
    static crn_fruit_builder builder; /* large */
    builder = (crn_fruit_builder){0};
    builder.head.has_verdicts = sources->archive || sources->log;
    int r = read_recordings(&builder, sources, error);
    if (r == 0)
        r = join(&builder, error);
    if (r == 0)
        r = read_verdicts(&builder, sources, error);
    if (r == 0) {
        qsort(builder.fruits, builder.head.fruit_count, sizeof *builder.fruits, by_time);
        r = write_file(&builder, error);
    }
    free(builder.met);
    free(builder.fruits);
    free(builder.lots);
    free(builder.notes);
    return r;
}

int crn_fruit_table_open(crn_fruit_table *ret_table, crn_error *error)
{
    struct stat status = {0};
    *ret_table = (crn_fruit_table){0};
    int fd = open(CRN_FRUIT_INDEX_NAME, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && fstat(fd, &status) == 0
                   ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                   : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return crn_error_set(error, -ENOENT, "the recordings are not read yet: POST /recordings");
    const crn_fruit_index *head = at;
    const char *bytes = (const char *)at + sizeof *head;
    ret_table->head = head;
    ret_table->bytes = (size_t)status.st_size;
    ret_table->fruits = (const void *)bytes;
    bytes += head->fruit_count * sizeof *ret_table->fruits;
    ret_table->views = (const void *)bytes;
    bytes += head->view_count * sizeof *ret_table->views;
    ret_table->lots = (const void *)bytes;
    ret_table->notes = bytes + head->lot_count * sizeof *ret_table->lots;
    return 0;
}

void crn_fruit_table_close(crn_fruit_table *table)
{
    if (table->head)
        munmap((void *)(uintptr_t)table->head, table->bytes);
    *table = (crn_fruit_table){0};
}

int crn_fruit_table_get(const crn_fruit_table *table, int64_t number,
                        const crn_recorded_fruit **ret_fruit, crn_error *error)
{
    if (number < 0 || (uint64_t)number >= table->head->fruit_count)
        return crn_error_set(error, -ENOENT, "there is no fruit %lld: there are %llu",
                             (long long)number, (unsigned long long)table->head->fruit_count);
    *ret_fruit = &table->fruits[number];
    return 0;
}
