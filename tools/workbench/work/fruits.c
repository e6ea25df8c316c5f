/* The requests for recorded fruits: what there is, which are found, their pictures and views. */
#include <stdio.h>
#include <string.h>

#include "src/formats/verdict/kind.h"
#include "tools/workbench/requests.h"

#define MS_NS   (1000 * 1000)
#define MS_MAX  (INT64_MAX / MS_NS)
#define ANY_MAX INT64_MAX

/* False: the refusal is set. */
static bool begin(crn_request *request)
{
    request->task.sources = request->bench->sources;
    if (request->task.sources.named_count > 0)
        return true;
    crn_answer_refusal(request, MHD_HTTP_NOT_FOUND,
                       "no recording was named: start cernita-workbench with a folder of "
                       "recordings, or with files");
    return false;
}

void crn_work_recordings(crn_request *request)
{
    if (begin(request))
        crn_request_work(request, CRN_QUEUE_OPERATORS, crn_task_recordings, crn_request_printed);
}

static int32_t kind_of(const char *name)
{
    crn_verdict_kind kind;
    return crn_verdict_kind_find(name, &kind) ? (int32_t)kind : CRN_FRUIT_NO_VERDICT - 1;
}

/* A number of the search, from 0 to `max`; `initial` without it. False: the refusal is set. */
static bool read_number(crn_request *request, const char *key, int64_t max, int64_t initial,
                        int64_t *ret_number)
{
    *ret_number = crn_request_number(request, key, initial);
    if (*ret_number == initial || (*ret_number >= 0 && *ret_number <= max))
        return true;
    crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                       "%s: is a whole number from 0 to %lld", key, (long long)max);
    return false;
}

/* False: the refusal is set. */
static bool read_search(crn_request *request)
{
    crn_fruit_search *search = &request->task.search;
    const char *kind = crn_request_text(request, "verdict");
    const char *fruit = crn_request_text(request, "fruit");
    int64_t from_ms, to_ms, lane;
    if (!read_number(request, "from", MS_MAX, 0, &from_ms) ||
        !read_number(request, "to", MS_MAX, MS_MAX, &to_ms) ||
        !read_number(request, "lane", UINT32_MAX, ANY_MAX, &lane) ||
        !read_number(request, "skip", MS_MAX, 0, &search->skip))
        return false;
    search->from_ns = from_ms * MS_NS;
    search->to_ns = to_ms * MS_NS;
    search->lane = lane == ANY_MAX ? -1 : lane;
    search->kind = kind ? kind_of(kind) : -1;
    search->class = crn_request_text(request, "class");
    search->lot = crn_request_text(request, "lot");
    search->is_one = fruit != NULL;
    if (kind && search->kind < 0) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "a verdict is complete, partial or late");
        return false;
    }
    int used = 0;
    unsigned long long number = 0;
    if (fruit && (*fruit < '0' || *fruit > '9' || sscanf(fruit, "%20llu%n", &number, &used) != 1 ||
                  fruit[used])) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "fruit: is a whole number");
        return false;
    }
    search->fruit = number;
    return true;
}

void crn_work_fruits(crn_request *request)
{
    if (begin(request) && read_search(request))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_fruits, crn_request_printed);
}

void crn_work_fruit_pictures(crn_request *request)
{
    if (begin(request) && read_search(request))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_fruit_pictures, crn_request_printed);
}

void crn_work_fruit_verdict(crn_request *request)
{
    if (begin(request) && read_number(request, "number", UINT32_MAX, -1, &request->task.first))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_fruit_verdict, crn_request_printed);
}

void crn_work_fruit_view(crn_request *request)
{
    crn_task *task = &request->task;
    const char *name = crn_request_text(request, "name");
    if (!begin(request) || !read_number(request, "number", UINT32_MAX, -1, &task->first) ||
        !read_number(request, "view", UINT32_MAX, -1, &task->count))
        return;
    crn_work_make_view(request, name ? name : "view", crn_task_fruit_view);
}
