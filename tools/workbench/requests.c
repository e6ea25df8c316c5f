#include "tools/workbench/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/http/uri.h"
#include "stages/base/clock.h"

/* One kind of request: what comes after `path`, if that ends with a slash, is its `rest`. */
struct crn_route {
    const char *method, *path;
    void (*answer)(crn_request *request);
    enum {
        BODY_TEXT,
        BODY_FILE,
        BODY_LABELS, /* a form of files */
    } body;
};

/* Of processor time: a file that is read without end. */
#define QUICK_LIMIT_S 60

/* --- what needs no job ------------------------------------------------------------------------ */

static void answer_asset(crn_request *request)
{
    const crn_asset *asset = crn_workbench_asset(request->rest[0] ? request->rest : "index.html");
    if (asset)
        crn_answer_bytes(request, asset->type, asset->start, (size_t)(asset->end - asset->start),
                         true);
    else
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "no such file");
}

static void answer_catalogue(crn_request *request)
{
    crn_answer_bytes(request, "application/json", request->bench->catalogue,
                     request->bench->catalogue_bytes, true);
}

static void answer_pictures(crn_request *request)
{
    crn_store *store = &request->bench->store;
    crn_encoder *encoder = request->bench->encoder;
    uint32_t count = 0;
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        count += store->at[i].id && !store->at[i].result;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 1);
    crn_encoder_text(encoder, "pictures");
    crn_encoder_array(encoder, count);
    for (uint64_t last = 0; count > 0; count--) {
        const crn_stored *next = NULL; /* the oldest that is younger than the last */
        for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++) {
            const crn_stored *one = &store->at[i];
            if (one->id > last && !one->result && (!next || one->id < next->id))
                next = one;
        }
        last = next->id;
        crn_stored_write(next, encoder);
    }
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
    crn_answer_encoded(request);
}

static void answer_download(crn_request *request, const crn_stored *picture)
{
    const char *ending = strrchr(picture->name, '.');
    const char *type = "application/octet-stream";
    if (ending && strcmp(ending, ".json") == 0)
        type = "application/json";
    else if (ending && strcmp(ending, ".csv") == 0)
        type = "text/csv; charset=utf-8";
    else if (ending && strcmp(ending, ".png") == 0)
        type = "image/png";
    else if (ending && strncmp(ending, ".tif", 4) == 0)
        type = "image/tiff";
    /* A file of the command line may have become anything since. */
    struct stat status;
    int fd =
        openat(request->bench->store.folder_fd, picture->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        crn_answer_file(request, type, fd, picture->name);
        return;
    }
    crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "%s: cannot be read: %s", picture->name,
                       fd < 0 ? strerror(errno) : "it is not a regular file any more");
    if (fd >= 0)
        close(fd);
}

/* /pictures/ID/file and /pictures/ID/planes */
static void answer_picture(crn_request *request)
{
    char *end;
    bool is_number = request->rest[0] >= '0' && request->rest[0] <= '9';
    uint64_t id = is_number ? strtoull(request->rest, &end, 10) : 0;
    crn_stored *picture = id ? crn_store_find(&request->bench->store, id) : NULL;
    if (!picture)
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "this picture is not open any more");
    else if (strcmp(end, "/file") == 0)
        answer_download(request, picture);
    else if (strcmp(end, "/planes") == 0)
        crn_work_planes(request, picture);
    else
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "a picture has /file and /planes");
}

static void answer_job(crn_request *request)
{
    crn_encoder *encoder = request->bench->encoder;
    int ahead;
    const crn_workbench_job *job = crn_jobs_find(&request->bench->jobs, request->rest, &ahead);
    if (!job)
        job = crn_jobs_find(&request->bench->quick, request->rest, &ahead);
    const crn_job_report *report = job ? job->report : NULL;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 6);
    crn_encoder_pair_real(encoder, "seconds",
                          report ? (double)(crn_now_ns() - job->started_ns) / 1e9 : 0);
    crn_encoder_pair_text(encoder, "state", !job ? "unknown" : report ? "running" : "waiting");
    crn_encoder_pair_unsigned(encoder, "ahead", job ? (uint64_t)ahead : 0);
    crn_encoder_pair_unsigned(encoder, "done", report ? atomic_load(&report->done) : 0);
    crn_encoder_pair_unsigned(encoder, "total", report ? atomic_load(&report->total) : 0);
    char unit[CRN_JOB_PROGRESS_UNIT] = "";
    if (report)
        snprintf(unit, sizeof unit, "%.*s", (int)sizeof unit - 1, report->unit);
    crn_encoder_pair_text(encoder, "unit", unit);
    crn_encoder_map_end(encoder);
    crn_answer_encoded(request);
}

static void answer_cancel(crn_request *request)
{
    if (!crn_jobs_cancel(&request->bench->jobs, request->rest) &&
        !crn_jobs_cancel(&request->bench->quick, request->rest)) {
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "this job has ended");
        return;
    }
    crn_encoder_begin(request->bench->encoder);
    crn_encoder_map(request->bench->encoder, 0);
    crn_encoder_map_end(request->bench->encoder);
    crn_answer_encoded(request);
}

static const crn_route routes[] = {
    {"GET", "/", answer_asset, BODY_TEXT},
    {"GET", "/page/", answer_asset, BODY_TEXT},
    {"GET", "/catalogue", answer_catalogue, BODY_TEXT},
    {"GET", "/pictures", answer_pictures, BODY_TEXT},
    {"GET", "/pictures/", answer_picture, BODY_TEXT},
    {"GET", "/jobs/", answer_job, BODY_TEXT},
    {"DELETE", "/jobs/", answer_cancel, BODY_TEXT},
    {"POST", "/pictures", crn_work_upload, BODY_FILE},
    {"POST", "/labels", crn_label_upload_answer, BODY_LABELS},
    {"POST", "/generate", crn_work_generate, BODY_TEXT},
    {"POST", "/views", crn_work_view, BODY_TEXT},
    {"POST", "/tile", crn_work_tile, BODY_TEXT},
    {"POST", "/apply", crn_work_apply, BODY_TEXT},
    {"POST", "/chain", crn_work_chain, BODY_TEXT},
    {"POST", "/levels", crn_work_levels, BODY_TEXT},
    {"POST", "/calibrate", crn_work_calibrate, BODY_TEXT},
    {"POST", "/recordings", crn_work_recordings, BODY_TEXT},
    {"POST", "/fruits", crn_work_fruits, BODY_TEXT},
    {"POST", "/fruits/pictures", crn_work_fruit_pictures, BODY_TEXT},
    {"POST", "/fruits/view", crn_work_fruit_view, BODY_TEXT},
    {"POST", "/fruits/verdict", crn_work_fruit_verdict, BODY_TEXT},
};

/* --- the life of a request -------------------------------------------------------------------- */

static bool is_route(const crn_route *route, const char *path)
{
    size_t length = strlen(route->path);
    bool whole = length == 1 || route->path[length - 1] != '/';
    return whole ? strcmp(path, route->path) == 0 : strncmp(path, route->path, length) == 0;
}

static void find_route(crn_request *request, const char *method, const char *path)
{
    const char *as = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
    bool path_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !request->route; i++) {
        if (!is_route(&routes[i], path))
            continue;
        path_known = true;
        if (strcmp(as, routes[i].method) == 0)
            request->route = &routes[i];
    }
    if (!request->route)
        crn_answer_refusal(request, path_known ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND,
                           path_known ? "this address takes another method" : "no such page");
    else if (strlen(path) - strlen(request->route->path) < sizeof request->rest)
        snprintf(request->rest, sizeof request->rest, "%s", path + strlen(request->route->path));
}

bool crn_request_may_upload(crn_request *request)
{
    crn_workbench *bench = request->bench;
    const char *length = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t bytes = length ? strtoull(length, NULL, 10) : 0;
    if (bench->uploads >= CRN_UPLOADS_MAX)
        crn_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "%d files are being opened already: try again when they are done",
                           CRN_UPLOADS_MAX);
    else if (bytes > CRN_UPLOAD_BYTES_MAX)
        crn_answer_refusal(
            request, MHD_HTTP_CONTENT_TOO_LARGE,
            "the file has %llu MiB; files of %llu MiB can be opened here, larger ones "
            "by naming them on the command line",
            (unsigned long long)(bytes >> 20), (unsigned long long)(CRN_UPLOAD_BYTES_MAX >> 20));
    else if (!crn_store_has_room(&bench->store, bytes))
        crn_answer_refusal(
            request, MHD_HTTP_INSUFFICIENT_STORAGE,
            "there is no memory left for %llu MiB: name the file on the command line",
            (unsigned long long)(bytes >> 20));
    return request->response == NULL;
}

/* Opens a file for the request's body, which arrives after its headers. */
static void begin_upload(crn_request *request)
{
    crn_workbench *bench = request->bench;
    const char *name = crn_request_text(request, "name");
    if (!crn_request_may_upload(request) ||
        !crn_request_reserve(request, name ? name : "picture", request->task.in))
        return;
    request->upload = openat(bench->store.folder_fd, request->task.in, O_WRONLY | O_CLOEXEC);
    if (request->upload < 0)
        crn_answer_refusal(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s: cannot be stored: %s",
                           request->task.in, strerror(errno));
    else
        bench->uploads++;
}

static crn_request *begin(crn_workbench *bench, struct MHD_Connection *connection,
                          const char *method, const char *path, bool faulty)
{
    crn_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->bench = bench;
    request->connection = connection;
    request->upload = -1;
    if (bench->ending)
        crn_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the workbench has ended");
    else if (faulty)
        crn_answer_refusal(request, MHD_HTTP_BAD_REQUEST, "the address has control bytes");
    if (bench->ending || faulty || !crn_guard_allows(request, method, path)) {
        request->refused = true;
        return request;
    }
    find_route(request, method, path);
    request->route_is_upload = request->route && request->route->body == BODY_FILE;
    if (request->route_is_upload)
        begin_upload(request);
    else if (request->route && request->route->body == BODY_LABELS)
        crn_label_upload_begin(request);
    return request;
}

/* The answer to a body that is too large or cannot be stored is given when all of it has come. */
static void take_body(crn_request *request, const char *bytes, size_t size)
{
    if (request->response || !request->route)
        return;
    if (request->labels) {
        crn_label_upload_take(request, bytes, size);
        return;
    }
    if (request->route->body == BODY_FILE) {
        request->upload_bytes += size;
        if (request->upload_bytes > CRN_UPLOAD_BYTES_MAX)
            crn_answer_refusal(request, MHD_HTTP_CONTENT_TOO_LARGE, "%s: is too large",
                               request->task.in);
        else if (write(request->upload, bytes, size) != (ssize_t)size)
            crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                               "%s: cannot be stored: memory is full", request->task.in);
        return;
    }
    char *grown = request->body_bytes + size <= CRN_BODY_BYTES_MAX
                      ? realloc(request->body, request->body_bytes + size + 1)
                      : NULL;
    if (!grown) {
        crn_answer_refusal(request, MHD_HTTP_CONTENT_TOO_LARGE, "the request is too long");
        return;
    }
    memcpy(grown + request->body_bytes, bytes, size);
    request->body = grown;
    request->body_bytes += size;
    request->body[request->body_bytes] = '\0';
}

static enum MHD_Result send_answer(crn_request *request)
{
    struct MHD_Response *response = request->response;
    if (!response)
        return MHD_NO;
    request->response = NULL;
    enum MHD_Result r = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    return r;
}

enum MHD_Result crn_request_handle(void *context, struct MHD_Connection *connection,
                                   const char *path, const char *method, const char *version,
                                   const char *upload, size_t *upload_size, void **of_connection)
{
    crn_request *request = *of_connection;
    (void)version;
    bool faulty = *of_connection == crn_http_faulty_uri;
    if (!request || faulty) {
        *of_connection = request = begin(context, connection, method, path, faulty);
        if (!request)
            return MHD_NO;
        return request->refused ? send_answer(request) : MHD_YES;
    }
    if (*upload_size > 0) {
        take_body(request, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (request->bench->ending && !request->response)
        crn_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the workbench has ended");
    if (!request->response && !request->begun) {
        request->begun = true;
        request->route->answer(request);
        if (request->waits) /* suspended: the next call has the answer */
            return MHD_YES;
    }
    return send_answer(request);
}

static void end_upload(crn_request *request)
{
    if (request->upload < 0)
        return;
    close(request->upload);
    request->upload = -1;
    request->bench->uploads--;
}

void crn_request_completed(void *context, struct MHD_Connection *connection, void **of_connection,
                           enum MHD_RequestTerminationCode code)
{
    crn_request *request = *of_connection;
    (void)context;
    (void)connection;
    (void)code;
    if (!request)
        return;
    /* A body that never came to its end. */
    if (request->upload >= 0)
        crn_store_remove_file(&request->bench->store, request->task.in);
    end_upload(request);
    crn_label_upload_free(request);
    request->bench->sending_bytes -= request->sending_bytes;
    if (request->response)
        MHD_destroy_response(request->response);
    for (int32_t i = 0; i < request->task.argument_count; i++)
        free(request->arguments[i]);
    free(request->body);
    free(request);
    *of_connection = NULL;
}

/* --- waiting for a job ------------------------------------------------------------------------ */

crn_stored *crn_request_pin(crn_request *request, uint64_t id)
{
    crn_stored *picture = crn_store_find(&request->bench->store, id);
    if (!picture || request->pinned_count == CRN_ARGUMENTS_MAX)
        return NULL;
    crn_store_pin(&request->bench->store, id);
    request->pinned[request->pinned_count++] = id;
    return picture;
}

static void unpin_all(crn_request *request)
{
    while (request->pinned_count > 0)
        crn_store_unpin(&request->bench->store, request->pinned[--request->pinned_count]);
}

bool crn_request_reserve(crn_request *request, const char *wanted,
                         char ret_name[CRN_STORE_NAME_BYTES])
{
    int r = crn_store_reserve(&request->bench->store, wanted, ret_name);
    if (r < 0) {
        ret_name[0] = '\0';
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE, "no file can be made: %s",
                           strerror(-r));
    }
    return r == 0;
}

void crn_request_work(crn_request *request, crn_queue queue, crn_job_run *run, crn_job_ended *ended)
{
    const char *token = crn_request_text(request, "job");
    crn_workbench_job *job = &request->job;
    request->quick = queue == CRN_QUEUE_QUICK;
    crn_jobs *jobs = request->quick ? &request->bench->quick : &request->bench->jobs;
    *job = (crn_workbench_job){.run = run,
                               .settings = &request->task,
                               .limit_s = request->quick ? QUICK_LIMIT_S : 0,
                               .ended = ended,
                               .owner = request};
    if (token && strlen(token) < sizeof job->token)
        snprintf(job->token, sizeof job->token, "%s", token);
    end_upload(request);
    if (crn_jobs_add(jobs, job) < 0) {
        crn_job_end end = {.cancelled = true, .status = 1, .output = -1};
        ended(request, &end);
        crn_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "too many jobs wait already: try again when they are done");
        return;
    }
    MHD_suspend_connection(request->connection);
    request->waits = true;
    request->next = request->bench->waiting;
    request->bench->waiting = request;
}

/* Called by whoever has set the answer of a request that waits. */
static void resume(crn_request *request)
{
    crn_request **at = &request->bench->waiting;
    if (!request->waits) /* its job was never begun */
        return;
    while (*at && *at != request)
        at = &(*at)->next;
    if (*at)
        *at = request->next;
    request->waits = false;
    MHD_resume_connection(request->connection);
    request->bench->resumed = true;
}

void crn_request_answered(crn_request *request, crn_job_end *end)
{
    if (end->output >= 0)
        close(end->output);
    free(end->said);
    end->output = -1;
    end->said = NULL;
    unpin_all(request);
    resume(request);
}

void crn_requests_drop_gone(crn_workbench *bench)
{
    for (crn_request *request = bench->waiting, *next; request; request = next) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct pollfd client = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
        next = request->next;
        if (poll(&client, 1, 0) == 1 && (client.revents & (POLLRDHUP | POLLHUP | POLLERR)))
            crn_jobs_cancel_one(request->quick ? &bench->quick : &bench->jobs, &request->job);
    }
}

void crn_requests_end(crn_workbench *bench)
{
    bench->ending = true;
    crn_jobs_close(&bench->jobs);
    crn_jobs_close(&bench->quick);
    while (bench->waiting) {
        crn_request *request = bench->waiting;
        crn_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the workbench has ended");
        resume(request);
    }
}

/* --- what the address says -------------------------------------------------------------------- */

const char *crn_request_text(const crn_request *request, const char *key)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
}

int64_t crn_request_number(const crn_request *request, const char *key, int64_t initial)
{
    const char *text = crn_request_text(request, key);
    return text ? crn_http_number(text) : initial;
}
