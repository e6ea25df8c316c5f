/* Verdicts of a verdict log, those of segments that the recordings' time can lie in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "tools/workbench/fruits/builder.h"
#include "tools/workbench/fruits/verdict.h"

/* The first segment that was written to after `from_ns`; the last one if none was. */
static int find_first(const char *path, int64_t from_ns, uint64_t *ret_number, crn_error *error)
{
    crn_verdict_log_files files = {0};
    int r = crn_verdict_log_list(path, &files, error);
    *ret_number = 0;
    for (size_t i = 0; r == 0 && i < files.count; i++) {
        *ret_number = files.items[i].number;
        if (files.items[i].written_ns >= from_ns)
            break;
    }
    crn_verdict_log_files_done(&files);
    return r;
}

static int take_verdict(crn_fruit_builder *builder, const crn_decoded *from,
                        const crn_verdict_position *began)
{
    crn_fruit_verdict verdict = {.lane = from->lane,
                                 .epoch = from->epoch,
                                 .fruit = from->fruit,
                                 .kind = (int32_t)from->kind,
                                 .lot = from->lot,
                                 .place = {.logged = *began},
                                 .shown_view = UINT32_MAX};
    double largest = -1;
    for (uint32_t i = 0; i < from->total_count; i++)
        if (from->totals[i].count > 0)
            verdict.found |= crn_fruit_builder_class(builder, from->totals[i].name);
    for (uint32_t i = 0; i < from->defect_count; i++)
        if (!from->defects[i].hole && from->defects[i].area_px > largest) {
            largest = from->defects[i].area_px;
            verdict.shown_view = (uint32_t)from->defects[i].view;
        }
    return crn_fruit_builder_judge(builder, &verdict);
}

/* Verdicts that cannot be decoded are passed over: another version's, damage. */
static int take_logged(crn_fruit_builder *builder, const crn_verdict_reader *reader,
                       const crn_logged_verdict *logged, int64_t to_ns, bool *ret_beyond)
{
    crn_verdict_position began = crn_verdict_reader_began(reader);
    crn_messagepack_json packed;
    crn_decoded *decoded = NULL;
    int r = crn_messagepack_json_init(&packed, logged->bytes, logged->size, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    r = crn_decode(&packed, &decoded, NULL);
    if (r == 0) {
        *ret_beyond = decoded->published_ns > (uint64_t)to_ns;
        r = take_verdict(builder, decoded, &began);
    }
    crn_decoded_free(&decoded);
    crn_messagepack_json_done(&packed);
    return r == -ENOMEM ? r : 0;
}

int crn_fruit_read_log(crn_fruit_builder *builder, const char *path, crn_error *error)
{
    crn_verdict_reader *reader = NULL;
    crn_logged_verdict logged;
    int64_t from_ns, to_ns;
    uint64_t first;
    bool beyond = false;
    crn_fruit_builder_span(builder, &from_ns, &to_ns);
    int r = find_first(path, from_ns, &first, error);
    if (r == 0)
        r = crn_verdict_reader_open(path, &reader, error);
    if (r < 0)
        return r;
    crn_verdict_reader_start_at(reader, first);
    while (!beyond && builder->head.fruit_count > 0) {
        crn_error ignored;
        int found = crn_verdict_reader_next(reader, &logged, &ignored);
        if (found == 0)
            break;
        if (found > 0 && take_logged(builder, reader, &logged, to_ns, &beyond) < 0) {
            r = crn_error_set(error, -ENOMEM, "%s: no memory for its verdicts", path);
            break;
        }
    }
    crn_verdict_reader_close(&reader);
    return r;
}

/* --- one verdict ------------------------------------------------------------------------------ */

static bool is_of(const crn_messagepack_json *packed, const crn_recorded_fruit *fruit)
{
    crn_decoded *head = NULL;
    crn_error ignored;
    bool is = crn_decode_head(packed, &head, &ignored) == 0 && head->lane == fruit->lane &&
              head->epoch == fruit->epoch && head->fruit == fruit->fruit;
    crn_decoded_free(&head);
    return is;
}

/* Prints the next verdict if it is the fruit's: 1, else 0. */
static int print_next(crn_verdict_reader *reader, const crn_recorded_fruit *fruit, FILE *out)
{
    crn_logged_verdict logged;
    crn_messagepack_json packed;
    crn_error ignored;
    if (crn_verdict_reader_next(reader, &logged, &ignored) != 1 ||
        crn_messagepack_json_init(&packed, logged.bytes, logged.size, &ignored) < 0)
        return 0;
    int printed = is_of(&packed, fruit) && crn_messagepack_json_print(&packed, out) == 0;
    crn_messagepack_json_done(&packed);
    return printed;
}

int crn_fruit_print_logged(const char *path, const crn_recorded_fruit *fruit, FILE *out,
                           crn_error *error)
{
    crn_verdict_reader *reader = NULL;
    int r = crn_verdict_reader_open(path, &reader, error);
    if (r < 0)
        return r;
    crn_verdict_reader_resume(reader, &fruit->verdict.logged);
    if (!print_next(reader, fruit, out))
        r = crn_error_set(error, -ENOENT,
                          "%s: the fruit's verdict is no longer there: the line keeps as much as "
                          "publish.log.keep_mib and keep_days say",
                          path);
    crn_verdict_reader_close(&reader);
    return r;
}
