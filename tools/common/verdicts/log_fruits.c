#include "tools/common/verdicts/log_fruits.h"

#include <errno.h>
#include <stdlib.h>

#include "src/formats/verdict/fields.h"
#include "stages/base/buffer/array.h"

static bool read_number(const msgpack_object *verdict, const char *key, uint64_t *ret_number)
{
    return crn_value_unsigned(crn_value_get(verdict, key), UINT64_MAX, ret_number);
}

static int visit_verdict(const crn_logged_verdict *logged, crn_log_visitor *visit, void *context,
                         crn_error *error)
{
    crn_messagepack_json packed;
    crn_log_fruit key;
    int r = crn_messagepack_json_init(&packed, logged->bytes, logged->size, error);
    if (r)
        return r;
    const msgpack_object *root = &packed.tree.data;
    if (!read_number(root, CRN_KEY(verdict, lane), &key.lane) ||
        !read_number(root, CRN_KEY(verdict, epoch), &key.epoch) ||
        !read_number(root, CRN_KEY(verdict, fruit), &key.fruit))
        r = crn_error_set(error, -EBADMSG, "a verdict without lane, epoch or fruit");
    else if ((r = visit(context, &key, &packed, logged)) < 0)
        crn_error_set(error, r, "no memory for the verdicts");
    crn_messagepack_json_done(&packed);
    return r;
}

int crn_log_visit(const char *dir, uint64_t start, crn_log_visitor *visit, void *context,
                  FILE *tell, crn_error *error)
{
    crn_verdict_reader *reader = NULL;
    crn_logged_verdict logged;
    crn_error notice;
    int r = crn_verdict_reader_open(dir, &reader, error);
    if (r)
        return r;
    crn_verdict_reader_start_at(reader, start);
    while (!r) {
        int more = crn_verdict_reader_next(reader, &logged, &notice);
        if (!more)
            break;
        if (more > 0)
            r = visit_verdict(&logged, visit, context, error);
        if (tell && more < 0)
            fprintf(tell, "%s\n", notice.text);
        else if (tell && r == -EBADMSG)
            fprintf(tell, "%s: passed over: %s\n", dir, error->text);
        r = r == -EBADMSG ? 0 : r;
    }
    crn_verdict_reader_close(&reader);
    return r;
}

/* --- epochs --- */

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static bool has_number(const uint64_t *numbers, size_t count, uint64_t number, size_t *ret_index)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number) {
            *ret_index = i;
            return true;
        }
    return false;
}

int crn_log_epochs_add(crn_log_epochs *epochs, uint64_t epoch)
{
    size_t index;
    if (has_number(epochs->recorded, epochs->recorded_count, epoch, &index))
        epochs->as_recorded = true;
    if (has_number(epochs->logged, epochs->logged_count, epoch, &index))
        return 0;
    if (crn_array_grow(&epochs->logged, epochs->logged_count, sizeof *epochs->logged) < 0)
        return -ENOMEM;
    epochs->logged[epochs->logged_count++] = epoch;
    return 0;
}

void crn_log_epochs_sort(crn_log_epochs *epochs)
{
    if (epochs->logged_count)
        qsort(epochs->logged, epochs->logged_count, sizeof *epochs->logged, compare_numbers);
}

void crn_log_epochs_done(crn_log_epochs *epochs)
{
    free(epochs->logged);
    epochs->logged = NULL;
    epochs->logged_count = 0;
}

bool crn_log_epochs_find(const crn_log_epochs *epochs, uint64_t epoch, size_t *ret_index)
{
    if (epochs->as_recorded)
        return has_number(epochs->recorded, epochs->recorded_count, epoch, ret_index);
    return has_number(epochs->logged, epochs->logged_count, epoch, ret_index);
}
