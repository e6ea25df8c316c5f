#include "tools/reprocess/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "src/formats/verdict/fields.h"
#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/buffer/array.h"
#include "stages/base/file/regular_file.h"
#include "tools/common/comparison/difference.h"
#include "tools/common/comparison/report.h"
#include "tools/common/verdicts/log_fruits.h"

/* A verdict of this run, and where its bytes lie. */
typedef struct after_verdict {
    uint64_t lane, epoch, fruit; /* first, to compare by */
    uint64_t number, offset;     /* of its file, and in it */
    size_t size;
    bool is_paired;
} after_verdict;

typedef struct compare_run {
    const char *before, *after;
    const crn_reprocess_segments *segments;
    FILE *out;
    crn_error *error;
    after_verdict *verdicts; /* sorted */
    size_t count;
    uint64_t *epochs; /* in the order of the recordings */
    uint32_t epoch_count;
    crn_log_epochs before_epochs;
    int fd; /* of the file `fd_number`; -1: none */
    uint64_t fd_number;
    unsigned char *bytes; /* of the verdict read last */
    size_t capacity;
    crn_comparison_report *report;
    crn_difference_summary *summary;
    crn_difference_counts counts;
    uint64_t compared, unequal, elsewhere;
} compare_run;

static int no_memory(compare_run *r)
{
    return crn_error_set(r->error, -ENOMEM, "%s: no memory to compare its verdicts", r->after);
}

/* --- this run's verdicts --- */

static int compare_places(const void *a, const void *b)
{
    const after_verdict *p = a, *q = b;
    if (p->epoch != q->epoch)
        return p->epoch < q->epoch ? -1 : 1;
    if (p->lane != q->lane)
        return p->lane < q->lane ? -1 : 1;
    return p->fruit < q->fruit ? -1 : p->fruit > q->fruit;
}

/* In the order of the log where a number came again. */
static int compare_verdicts(const void *a, const void *b)
{
    const after_verdict *p = a, *q = b;
    int order = compare_places(a, b);
    if (order == 0 && p->number != q->number)
        return p->number < q->number ? -1 : 1;
    return order ? order : p->offset < q->offset ? -1 : p->offset > q->offset;
}

static int add_epoch(compare_run *r, uint64_t epoch)
{
    uint32_t i = 0;
    while (i < r->epoch_count && r->epochs[i] != epoch)
        i++;
    if (i < r->epoch_count)
        return 0;
    if (crn_array_grow(&r->epochs, r->epoch_count, sizeof *r->epochs) < 0)
        return no_memory(r);
    r->epochs[r->epoch_count++] = epoch;
    return 0;
}

static int add_place(compare_run *r, const crn_verdict_reader *reader,
                     const crn_logged_verdict *logged)
{
    crn_messagepack_json packed;
    crn_verdict_position at = crn_verdict_reader_began(reader);
    int status = crn_messagepack_json_init(&packed, logged->bytes, logged->size, r->error);
    if (status < 0)
        return status;
    const msgpack_object *root = &packed.tree.data;
    after_verdict it = {
        .number = at.number, .offset = at.offset + CRN_VERDICT_RECORD_BYTES, .size = logged->size};
    bool is_whole =
        crn_value_unsigned(crn_value_get(root, CRN_KEY(verdict, lane)), UINT64_MAX, &it.lane) &&
        crn_value_unsigned(crn_value_get(root, CRN_KEY(verdict, epoch)), UINT64_MAX, &it.epoch) &&
        crn_value_unsigned(crn_value_get(root, CRN_KEY(verdict, fruit)), UINT64_MAX, &it.fruit);
    crn_messagepack_json_done(&packed);
    if (!is_whole)
        return 0;
    if (crn_array_grow(&r->verdicts, r->count, sizeof *r->verdicts) < 0)
        return no_memory(r);
    r->verdicts[r->count++] = it;
    return add_epoch(r, it.epoch);
}

static int list_after(compare_run *r)
{
    crn_verdict_reader *reader = NULL;
    crn_logged_verdict logged;
    int more, status = crn_verdict_reader_open(r->after, &reader, r->error);
    while (status == 0 && (more = crn_verdict_reader_next(reader, &logged, r->error)) != 0)
        status = more < 0 ? more : add_place(r, reader, &logged);
    crn_verdict_reader_close(&reader);
    if (status == 0 && r->count)
        qsort(r->verdicts, r->count, sizeof *r->verdicts, compare_verdicts);
    return status;
}

static int open_file(compare_run *r, uint64_t number)
{
    char path[PATH_MAX];
    if (r->fd >= 0 && r->fd_number == number)
        return 0;
    if (r->fd >= 0)
        close(r->fd);
    crn_verdict_log_path(path, sizeof path, r->after, number);
    r->fd = crn_regular_open(path, r->error);
    r->fd_number = number;
    return r->fd < 0 ? r->fd : 0;
}

/* The verdict, valid until the next one is read. */
static int read_after(compare_run *r, const after_verdict *it, crn_messagepack_json *ret_packed)
{
    int status = open_file(r, it->number);
    if (status < 0)
        return status;
    if (it->size > r->capacity) {
        unsigned char *larger = realloc(r->bytes, it->size);
        if (!larger)
            return no_memory(r);
        r->bytes = larger;
        r->capacity = it->size;
    }
    if (pread(r->fd, r->bytes, it->size, (off_t)it->offset) != (ssize_t)it->size)
        return crn_error_set(r->error, -EIO, "%s: file %" PRIu64 " changed while it was compared",
                             r->after, it->number);
    return crn_messagepack_json_init(ret_packed, r->bytes, it->size, r->error);
}

/* --- pairs --- */

static int report_pair(compare_run *r, const after_verdict *it, uint64_t differences,
                       const crn_messagepack_json *before, const crn_messagepack_json *after)
{
    crn_comparison_key key = {it->lane, it->epoch, it->fruit, differences, {0}};
    return crn_comparison_report_add(r->report, &key, before, after, r->error);
}

static int compare_pair(compare_run *r, after_verdict *it, const crn_messagepack_json *before)
{
    crn_difference_fruit name = {it->lane, it->fruit};
    crn_messagepack_json after;
    uint64_t so_far = r->counts.differences;
    int status = read_after(r, it, &after);
    if (status < 0)
        return status;
    status = crn_difference_find(&name, &before->tree.data, &after.tree.data, 0,
                                 crn_difference_summary_lines(r->summary), &r->counts, r->summary);
    crn_difference_summary_end_fruit(r->summary, it->lane, it->fruit);
    uint64_t differences = r->counts.differences - so_far;
    r->compared++;
    r->unequal += differences > 0;
    if (status == 0)
        status = report_pair(r, it, differences, before, &after);
    crn_messagepack_json_done(&after);
    return status;
}

static int collect_epoch(void *context, const crn_log_fruit *key,
                         const crn_messagepack_json *verdict, const crn_logged_verdict *logged)
{
    compare_run *r = context;
    (void)verdict;
    (void)logged;
    return crn_log_epochs_add(&r->before_epochs, key->epoch);
}

/* The first verdict on that fruit without a partner, or the last one; NULL: there is none. */
static after_verdict *find_partner(const compare_run *r, const after_verdict *like)
{
    const after_verdict *end = r->verdicts + r->count;
    after_verdict *it = bsearch(like, r->verdicts, r->count, sizeof *like, compare_places);
    while (it && it > r->verdicts && compare_places(it - 1, like) == 0)
        it--;
    while (it && it->is_paired && it + 1 < end && compare_places(it + 1, like) == 0)
        it++;
    return it;
}

/* A verdict of the earlier run. */
static int look_up(void *context, const crn_log_fruit *key, const crn_messagepack_json *verdict,
                   const crn_logged_verdict *logged)
{
    compare_run *r = context;
    size_t epoch;
    (void)logged;
    if (!crn_log_epochs_find(&r->before_epochs, key->epoch, &epoch)) {
        r->elsewhere++;
        return 0;
    }
    after_verdict like = {.lane = key->lane, .epoch = r->epochs[epoch], .fruit = key->fruit};
    after_verdict *it = find_partner(r, &like);
    if (!it) {
        r->elsewhere++;
        return 0;
    }
    if (it->is_paired) {
        crn_comparison_report_second(r->report);
        return 0;
    }
    it->is_paired = true;
    return compare_pair(r, it, verdict);
}

/* Fruits on which the earlier run has no verdict. */
static int report_rest(compare_run *r)
{
    int status = 0;
    for (size_t i = 0; i < r->count && status == 0; i++) {
        const after_verdict *it = &r->verdicts[i];
        crn_messagepack_json after;
        if (it->is_paired)
            continue;
        fprintf(crn_difference_summary_lines(r->summary),
                "lane %" PRIu64 ", fruit %" PRIu64 ": only in this run\n", it->lane, it->fruit);
        crn_difference_summary_difference(r->summary, NULL, 0);
        crn_difference_summary_end_fruit(r->summary, it->lane, it->fruit);
        r->counts.differences++;
        r->unequal++;
        status = read_after(r, it, &after);
        if (status == 0) {
            status = report_pair(r, it, 1, NULL, &after);
            crn_messagepack_json_done(&after);
        }
    }
    return status;
}

/* --- photographs --- */

static crn_photo find_in(const char *path, const crn_worst_fruit *fruit, uint64_t number)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error ignored;
    crn_photo photo = {0};
    if (crn_recording_open(path, &reader, &ignored) < 0)
        return photo;
    while (!photo.height && crn_recording_intensity(reader, &view, &ignored) > 0) {
        const crn_view_header *header = &view.header;
        if (header->lane != fruit->lane || header->epoch != fruit->epoch ||
            header->fruit != fruit->fruit || header->view != number)
            continue;
        size_t bytes = (size_t)header->height * header->width;
        uint8_t *pixels = view.intensity ? malloc(bytes) : NULL;
        if (pixels)
            memcpy(pixels, view.intensity, bytes);
        photo = (crn_photo){pixels, (int32_t)header->height, (int32_t)header->width};
    }
    crn_recording_end(&reader);
    return photo;
}

/* In the recording in which the fruit begins, or the next one. */
static crn_photo find_photo(void *context, const crn_worst_fruit *fruit, uint64_t view)
{
    const compare_run *r = context;
    crn_photo photo = {0};
    after_verdict like = {.lane = fruit->lane, .epoch = fruit->epoch, .fruit = fruit->fruit};
    const after_verdict *it = find_partner(r, &like);
    int32_t first = it ? (int32_t)it->number - 1 : r->segments->count;
    for (int32_t i = first; i <= first + 1 && i < r->segments->count && !photo.height; i++)
        photo = find_in(r->segments->items[i].path, fruit, view);
    return photo;
}

/* --- all of it --- */

static void print_sums(const compare_run *r)
{
    crn_difference_summary_print(r->summary, r->compared, r->out);
    fprintf(r->out, "%" PRIu64 " fruits and %" PRIu64 " defects compared with %s: ", r->compared,
            r->counts.defects, r->before);
    if (r->counts.differences)
        fprintf(r->out, "%" PRIu64 " differences in %" PRIu64 " fruits", r->counts.differences,
                r->unequal);
    else
        fputs("all equal", r->out);
    if (r->elsewhere)
        fprintf(r->out, "; %" PRIu64 " of its fruits are not in the recordings", r->elsewhere);
    fprintf(r->out, "; %s/" CRN_REPROCESS_REPORT "/report.html\n", r->after);
}

static int compare_all(compare_run *r)
{
    int status = list_after(r);
    r->before_epochs.recorded = r->epochs;
    r->before_epochs.recorded_count = r->epoch_count;
    if (status == 0)
        status = crn_log_visit(r->before, 0, collect_epoch, r, r->out, r->error);
    crn_log_epochs_sort(&r->before_epochs);
    if (status == 0)
        status = crn_log_visit(r->before, 0, look_up, r, NULL, r->error);
    if (status == 0)
        status = report_rest(r);
    if (status == 0 && !r->compared)
        status = crn_error_set(r->error, -ENODATA,
                               "%s: has no verdict on a fruit of the recordings: name the log of "
                               "the line that recorded them, or another run's folder",
                               r->before);
    if (status == 0)
        status = crn_comparison_report_finish(r->report, find_photo, r, r->error);
    if (status == 0)
        print_sums(r);
    return status;
}

int crn_reprocess_compare_check(const char *before, crn_error *error)
{
    crn_verdict_reader *reader = NULL;
    int status = crn_verdict_reader_open(before, &reader, error);
    crn_verdict_reader_close(&reader);
    return status;
}

int crn_reprocess_compare(const char *before, const char *after,
                          const crn_reprocess_segments *segments, FILE *out, crn_error *error)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/" CRN_REPROCESS_REPORT, after);
    compare_run r = {.before = before,
                     .after = after,
                     .segments = segments,
                     .out = out,
                     .error = error,
                     .fd = -1,
                     .summary = crn_difference_summary_create()};
    crn_comparison_settings settings = {.dir = dir, .run = {before, after}};
    int status =
        r.summary ? crn_comparison_report_open(&settings, &r.report, error) : no_memory(&r);
    if (status == 0)
        status = compare_all(&r);
    crn_comparison_report_free(&r.report);
    crn_difference_summary_free(&r.summary);
    crn_log_epochs_done(&r.before_epochs);
    if (r.fd >= 0)
        close(r.fd);
    free(r.bytes);
    free(r.epochs);
    free(r.verdicts);
    return status;
}
