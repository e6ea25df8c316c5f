/* The requests that need a job: what they ask for, and the answers when it has ended. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/workbench/requests.h"

#define FIELD_EXPONENT_MAX 13
#define TILE_SIDE_MAX      16384
#define FRUIT_VIEWS        4

crn_stored *crn_request_input(crn_request *request, const char *key)
{
    int64_t id = crn_request_number(request, key, 0);
    crn_stored *picture = id > 0 ? crn_request_pin(request, (uint64_t)id) : NULL;
    if (!picture)
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "this picture is not open any more");
    else
        snprintf(request->task.in, sizeof request->task.in, "%s", picture->name);
    return picture;
}

/* --- jobs that make pictures to work on ------------------------------------------------------- */

void crn_answer_pictures(crn_request *request, crn_stored *const pictures[], int32_t count)
{
    crn_encoder *encoder = request->bench->encoder;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 1);
    crn_encoder_text(encoder, "pictures");
    crn_encoder_array(encoder, (uint32_t)count);
    for (int32_t i = 0; i < count; i++)
        crn_stored_write(pictures[i], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    crn_answer_encoded(request);
}

/* Adds what the job made: a picture, or maps and their photograph. */
static void add_pictures(crn_request *request, const char *const names[],
                         const crn_job_report *report)
{
    crn_stored *made[CRN_JOB_PICTURES_MAX];
    int32_t count = report->picture_count;
    if (count > CRN_JOB_PICTURES_MAX)
        count = CRN_JOB_PICTURES_MAX;
    for (int32_t i = 0; i < count; i++) {
        made[i] = crn_store_add(&request->bench->store, names[i], &report->pictures[i], false);
        if (!made[i]) {
            crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                               "%s: there is no memory left for it: start the workbench again",
                               names[i]);
            return;
        }
    }
    const char *wanted = request->route_is_upload ? crn_request_text(request, "name") : NULL;
    if (wanted && count > 0)
        crn_store_original(wanted, made[0]->original);
    if (count == 2)
        made[0]->photograph = made[1]->id;
    else if (request->task.out_photograph[0])
        crn_store_remove_file(&request->bench->store, request->task.out_photograph);
    if (request->spec[0] && count == 2) {
        snprintf(made[0]->spec, sizeof made[0]->spec, "%.50s:maps", request->spec);
        snprintf(made[1]->spec, sizeof made[1]->spec, "%.50s:photograph", request->spec);
    } else if (request->spec[0]) {
        snprintf(made[0]->spec, sizeof made[0]->spec, "%s", request->spec);
    }
    crn_answer_pictures(request, made, count);
}

static void opened(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    const char *const names[] = {request->task.in};
    if (crn_answer_failure(request, end))
        crn_store_remove_file(&request->bench->store, request->task.in);
    else
        add_pictures(request, names, &end->report);
    crn_request_answered(request, end);
}

void crn_work_upload(crn_request *request)
{
    crn_request_work(request, CRN_QUEUE_QUICK, crn_task_open, opened);
}

/* The files that a failed job has left, or whose names were reserved for it. */
static void remove_made(const crn_request *request)
{
    const char *const names[] = {request->task.out, request->task.out_photograph};
    for (int i = 0; i < 2; i++)
        if (names[i][0])
            crn_store_remove_file(&request->bench->store, names[i]);
}

static void made(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    const char *const names[] = {request->task.out, request->task.out_photograph};
    if (crn_answer_failure(request, end))
        remove_made(request);
    else
        add_pictures(request, names, &end->report);
    crn_request_answered(request, end);
}

/* True if the picture that this makes is open already; it is then the answer. */
static bool answer_made_before(crn_request *request)
{
    crn_store *store = &request->bench->store;
    char spec[CRN_STORE_SPEC_BYTES];
    crn_stored *found[2] = {crn_store_find_spec(store, request->spec), NULL};
    int32_t count = found[0] != NULL;
    if (!count) {
        snprintf(spec, sizeof spec, "%.50s:maps", request->spec);
        found[0] = crn_store_find_spec(store, spec);
        found[1] = found[0] ? crn_store_find(store, found[0]->photograph) : NULL;
        count = found[1] ? 2 : 0;
    }
    if (count)
        crn_answer_pictures(request, found, count);
    return count > 0;
}

static void generate_field(crn_request *request, const char *text)
{
    crn_task *task = &request->task;
    int used = 0;
    if (sscanf(text, "%" SCNd64 "\n%" SCNd64 "\n%lf%n", &task->count, &task->first,
               &task->roughness, &used) != 3 ||
        text[used] || task->count < 1 || task->count > FIELD_EXPONENT_MAX || task->first < 0 ||
        !(task->roughness >= 0 && task->roughness <= 1)) {
        crn_answer_refusal(
            request, MHD_HTTP_UNPROCESSABLE_CONTENT,
            "a field has an exponent from 1 to %d, a seed from 0 and a roughness from "
            "0 to 1",
            FIELD_EXPONENT_MAX);
        return;
    }
    snprintf(request->spec, sizeof request->spec, "field:%" PRId64 ":%" PRId64 ":%.9g", task->count,
             task->first, task->roughness);
    char name[CRN_STORE_NAME_BYTES];
    snprintf(name, sizeof name, "field-%" PRId64 "-%" PRId64 ".png", task->count, task->first);
    if (!answer_made_before(request) && crn_request_reserve(request, name, task->out))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_field, made);
}

static void generate_fruit(crn_request *request, const char *text)
{
    crn_task *task = &request->task;
    int used = 0;
    if (sscanf(text, "%" SCNd64 "\n%" SCNd64 "%n", &task->first, &task->count, &used) != 2 ||
        text[used] || task->first < 0 || task->count < 0 || task->count >= FRUIT_VIEWS) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "a fruit has a seed from 0 and a view from 0 to %d", FRUIT_VIEWS - 1);
        return;
    }
    snprintf(request->spec, sizeof request->spec, "fruit:%" PRId64 ":%" PRId64, task->first,
             task->count);
    if (answer_made_before(request))
        return;
    char name[CRN_STORE_NAME_BYTES];
    snprintf(name, sizeof name, "fruit-%" PRId64 "-%" PRId64 "-maps.tif", task->first, task->count);
    bool reserved = crn_request_reserve(request, name, task->out);
    snprintf(name, sizeof name, "fruit-%" PRId64 "-%" PRId64 "-photograph.png", task->first,
             task->count);
    if (reserved && crn_request_reserve(request, name, task->out_photograph))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_fruit, made);
    else
        remove_made(request);
}

void crn_work_generate(crn_request *request)
{
    const char *text = request->body ? request->body : "";
    if (strncmp(text, "field\n", 6) == 0)
        generate_field(request, text + 6);
    else if (strncmp(text, "fruit\n", 6) == 0)
        generate_fruit(request, text + 6);
    else
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "only a field and a fruit can be generated");
}

void crn_work_make_view(crn_request *request, const char *name, crn_job_run *run)
{
    char file[CRN_STORE_NAME_BYTES];
    snprintf(file, sizeof file, "%s.tif", name);
    bool reserved = crn_request_reserve(request, file, request->task.out);
    snprintf(file, sizeof file, "%s.png", name);
    if (reserved && crn_request_reserve(request, file, request->task.out_photograph))
        crn_request_work(request, CRN_QUEUE_QUICK, run, made);
    else
        remove_made(request);
}

/* Reserves a name after the input's, without its ending. */
static bool reserve_after(crn_request *request, const char *what, const char *ending,
                          char ret_name[CRN_STORE_NAME_BYTES])
{
    char name[CRN_STORE_NAME_BYTES];
    const char *dot = strrchr(request->task.in, '.');
    int length = (int)(dot ? dot - request->task.in : (ptrdiff_t)strlen(request->task.in));
    snprintf(name, sizeof name, "%.*s%s%s%s", length > 60 ? 60 : length, request->task.in,
             length ? "-" : "", what, ending);
    return crn_request_reserve(request, name, ret_name);
}

void crn_work_view(crn_request *request)
{
    crn_task *task = &request->task;
    char what[48];
    crn_stored *picture = crn_request_input(request, "picture");
    if (!picture)
        return;
    task->first = crn_request_number(request, "view", 0);
    if (picture->facts.kind != CRN_PICTURE_RECORDING || task->first < 0 ||
        task->first >= picture->facts.views) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s: has views 0 to %" PRId64,
                           task->in, picture->facts.views - 1);
        return;
    }
    snprintf(what, sizeof what, "view-%" PRId64, task->first);
    if (reserve_after(request, what, ".tif", task->out) &&
        reserve_after(request, what, ".png", task->out_photograph))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_view, made);
    else
        remove_made(request);
}

/* Cut pictures are for measuring only: dropped as results are. */
static void tiled(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    crn_stored *picture = NULL;
    if (crn_answer_failure(request, end)) {
        remove_made(request);
    } else {
        picture = crn_store_add(&request->bench->store, request->task.out, &end->report.pictures[0],
                                true);
        if (picture)
            crn_answer_pictures(request, &picture, 1);
        else
            crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                               "there is no memory left for a picture of this size");
    }
    crn_request_answered(request, end);
}

void crn_work_tile(crn_request *request)
{
    crn_task *task = &request->task;
    int64_t width = crn_request_number(request, "width", -1);
    int64_t height = crn_request_number(request, "height", -1);
    char what[48];
    if (!crn_request_input(request, "picture"))
        return;
    if (width < 1 || height < 1 || width > TILE_SIDE_MAX || height > TILE_SIDE_MAX) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "sides are from 1 to %d",
                           TILE_SIDE_MAX);
        return;
    }
    task->width = (int32_t)width;
    task->height = (int32_t)height;
    snprintf(what, sizeof what, "%dx%d", task->width, task->height);
    if (reserve_after(request, what, ".tif", task->out))
        crn_request_work(request, CRN_QUEUE_OPERATORS, crn_task_tile, tiled);
}

/* --- values ----------------------------------------------------------------------------------- */

void crn_request_printed(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    if (!crn_answer_failure(request, end)) {
        bool is_bytes =
            request->job.run == crn_task_planes || request->job.run == crn_task_fruit_pictures;
        struct stat status;
        if (fstat(end->output, &status) == 0) {
            request->sending_bytes = (uint64_t)status.st_size;
            request->bench->sending_bytes += request->sending_bytes;
        }
        crn_answer_file(request, is_bytes ? "application/octet-stream" : "application/json",
                        end->output, NULL);
        end->output = -1;
    }
    crn_request_answered(request, end);
}

void crn_work_planes(crn_request *request, crn_stored *picture)
{
    crn_task *task = &request->task;
    snprintf(task->in, sizeof task->in, "%s", picture->name);
    task->first = crn_request_number(request, "from", 0);
    task->count = crn_request_number(request, "count", 1);
    if (request->bench->sending_bytes > CRN_SENDING_BYTES_MAX)
        crn_answer_refusal(
            request, MHD_HTTP_SERVICE_UNAVAILABLE,
            "others are still receiving their pictures: try again when they are done");
    else if (crn_request_pin(request, picture->id))
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_planes, crn_request_printed);
}

/* --- operators -------------------------------------------------------------------------------- */

/* `result`: NULL if it was not kept, or nothing was run. */
static void end_apply(crn_request *request, crn_job_end *end, const crn_stored *result)
{
    crn_encoder *encoder = request->bench->encoder;
    char output[4096] = "";
    ssize_t size = pread(end->output, output, sizeof output - 1, 0);
    output[size > 0 ? size : 0] = '\0';
    const crn_stored *in = request->task.operator->generates
                               ? NULL
                               : crn_store_find(&request->bench->store,
                                                (uint64_t)crn_request_number(request, "in", 0));
    const char *ending = crn_request_text(request, "out");
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, result ? 5 : 4);
    if (result) {
        crn_encoder_text(encoder, "result");
        crn_stored_write(result, encoder);
    }
    crn_encoder_pair_text(encoder, "output", output);
    crn_encoder_text(encoder, "notes");
    crn_said_lines(encoder, end->said);
    crn_command_write(&request->task, in, ending, encoder);
    crn_encoder_map_end(encoder);
    crn_answer_encoded(request);
}

static void applied(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    if (crn_answer_failure(request, end)) {
        remove_made(request);
    } else if (crn_request_number(request, "keep", 1) == 0) {
        remove_made(request);
        end_apply(request, end, NULL);
    } else {
        const crn_stored *result = crn_store_add(&request->bench->store, request->task.out,
                                                 &end->report.pictures[0], true);
        if (result)
            end_apply(request, end, result);
        else
            crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                               "there is no memory left for the result");
    }
    crn_request_answered(request, end);
}

static void checked(void *owner, crn_job_end *end)
{
    crn_request *request = owner;
    if (!crn_answer_failure(request, end))
        end_apply(request, end, NULL);
    crn_request_answered(request, end);
}

/* What an argument means: @ID is the name of that picture, and no other names a file. NULL: the
 * refusal is set. */
static const char *argument_of(crn_request *request, const char *line)
{
    static const char *const others[] = {"--help", "--version", "--dry-run", NULL};
    for (int i = 0; others[i]; i++)
        if (strcmp(line, others[i]) == 0) {
            crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s is not for here", line);
            return NULL;
        }
    if (strchr(line, '/')) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "'%.60s': open the file here first, and choose it by name", line);
        return NULL;
    }
    if (line[0] != '@')
        return line;
    const crn_stored *named = crn_request_pin(request, strtoull(line + 1, NULL, 10));
    if (!named)
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "the picture %.30s is not open any more",
                           line);
    return named ? named->name : NULL;
}

/* Splits the body into the operator and its arguments. */
static bool read_arguments(crn_request *request)
{
    crn_task *task = &request->task;
    char *rest = request->body, *line = strsep(&rest, "\n");
    task->operator= line ? crn_operator_find(line) : NULL;
    task->arguments = request->arguments;
    if (!task->operator) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "there is no such operator");
        return false;
    }
    while ((line = strsep(&rest, "\n"))) {
        if (!rest && !*line)
            break; /* the body's last newline */
        if (task->argument_count == CRN_ARGUMENTS_MAX) {
            crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "too many arguments");
            return false;
        }
        const char *argument = argument_of(request, line);
        if (!argument)
            return false;
        request->arguments[task->argument_count] = strdup(argument);
        if (!request->arguments[task->argument_count++]) {
            crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE, "no memory");
            return false;
        }
    }
    return true;
}

static bool is_ending(const crn_operator *operator, const char * ending)
{
    for (int i = 0; ending && operator->endings[i]; i++)
        if (strcmp(operator->endings[i] + 1, ending) == 0)
            return true;
    return false;
}

void crn_work_apply(crn_request *request)
{
    crn_task *task = &request->task;
    const char *ending = crn_request_text(request, "out");
    bool check = crn_request_number(request, "check", 0) == 1;
    if (!read_arguments(request))
        return;
    if (!is_ending(task->operator, ending)) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s cannot write .%.8s files",
                           task->operator->name, ending ? ending : "");
        return;
    }
    crn_stored *in = task->operator->generates ? NULL : crn_request_input(request, "in");
    if (!in && !task->operator->generates)
        return;
    if (in && in->facts.kind == CRN_PICTURE_RECORDING) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "%s: is a recording: choose one of its views", in->name);
        return;
    }
    char dotted[16];
    snprintf(dotted, sizeof dotted, ".%s", ending);
    if (check) {
        snprintf(task->out, sizeof task->out, "out%s", dotted);
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_check, checked);
    } else if (reserve_after(request, task->operator->name, dotted, task->out)) {
        crn_request_work(request, CRN_QUEUE_OPERATORS, crn_task_apply, applied);
    }
}
