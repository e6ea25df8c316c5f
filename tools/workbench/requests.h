/* Requests: what is asked, what was sent with it, and how it is answered. */
#ifndef CRN_TOOLS_WORKBENCH_REQUESTS_H
#define CRN_TOOLS_WORKBENCH_REQUESTS_H

#include "src/http/assets.h"
#include "tools/workbench/tasks/tasks.h"
#include "tools/workbench/workbench.h"

/* Files that are uploaded at once. */
#define CRN_UPLOADS_MAX 4

/* Any other body: arguments, YAML. */
#define CRN_BODY_BYTES_MAX (256 << 10)
#define CRN_ARGUMENTS_MAX  64

/* libmicrohttpd's callbacks; the context is the crn_workbench. */
enum MHD_Result crn_request_handle(void *context, struct MHD_Connection *connection,
                                   const char *path, const char *method, const char *version,
                                   const char *upload, size_t *upload_size, void **request);
void crn_request_completed(void *context, struct MHD_Connection *connection, void **request,
                           enum MHD_RequestTerminationCode code);

/* Cancels the jobs of clients that have left: libmicrohttpd does not watch those that wait. */
void crn_requests_drop_gone(crn_workbench *bench);

/* Answers all that wait, before the program ends. */
void crn_requests_end(crn_workbench *bench);

/* --- between requests.c and its neighbours ---------------------------------------------------- */

typedef struct crn_route crn_route;

struct crn_request {
    crn_workbench *bench;
    struct MHD_Connection *connection;
    const crn_route *route;
    char rest[CRN_STORE_NAME_BYTES]; /* of the path, after the route's */
    bool begun, refused, route_is_upload;
    struct crn_label_upload *labels; /* that receives the body; NULL: none */

    char *body; /* ended by a 0 */
    size_t body_bytes;
    int upload; /* descriptor of the file that receives the body; -1: none */
    uint64_t upload_bytes, sending_bytes;

    crn_workbench_job job;
    crn_task task;
    char *arguments[CRN_ARGUMENTS_MAX]; /* copies */
    uint64_t pinned[CRN_ARGUMENTS_MAX]; /* ids of the pictures that the job needs */
    int32_t pinned_count;
    bool quick; /* the job is one of the quick ones */
    char spec[CRN_STORE_SPEC_BYTES];
    bool waits; /* suspended */
    crn_request *next;

    unsigned status; /* of the answer, once there is one */
    struct MHD_Response *response;
};

/* Whether the request may be answered at all: it names this server, knows the token, and comes from
 * this server's own page. If not, sets the answer. */
bool crn_guard_allows(crn_request *request, const char *method, const char *path);

/* --- answers: each sets the request's answer -------------------------------------------------- */

__attribute__((format(printf, 3, 4))) void crn_answer_refusal(crn_request *request, unsigned status,
                                                              const char *format, ...);
/* What the encoder holds. */
void crn_answer_encoded(crn_request *request);
void crn_answer_bytes(crn_request *request, const char *type, const void *bytes, size_t size,
                      bool is_static);
/* Whole file `descriptor`, which the answer then owns; `name` makes it a download. */
void crn_answer_file(crn_request *request, const char *type, int descriptor, const char *name);
/* The job failed: its own words. True if it did. */
bool crn_answer_failure(crn_request *request, const crn_job_end *end);

/* The lines that a job said, without the program's name and hints at --help; the last one for
 * errors. */
void crn_said_lines(crn_encoder *encoder, char *said);

/* --- the requests that need a job (work/): each begins one or sets the answer ----------------- */

void crn_work_upload(crn_request *request);
void crn_work_generate(crn_request *request);
void crn_work_view(crn_request *request);
void crn_work_tile(crn_request *request);
void crn_work_planes(crn_request *request, crn_stored *picture);
void crn_work_apply(crn_request *request);
void crn_work_chain(crn_request *request);
void crn_work_levels(crn_request *request);
void crn_work_calibrate(crn_request *request);
void crn_work_recordings(crn_request *request);
void crn_work_fruits(crn_request *request);
void crn_work_fruit_verdict(crn_request *request);
void crn_work_fruit_pictures(crn_request *request);
void crn_work_fruit_view(crn_request *request);

/* Lets the job `run` make a view's maps, name.tif, and its photograph, name.png, and answers with
 * both; or sets the refusal. */
void crn_work_make_view(crn_request *request, const char *name, crn_job_run *run);

/* label_upload.c: a folder of labels, the files of a form. Begins it, or sets the refusal; takes
 * the body; answers it; drops one that is not complete. */
void crn_label_upload_begin(crn_request *request);
void crn_label_upload_take(crn_request *request, const char *bytes, size_t size);
void crn_label_upload_answer(crn_request *request);
void crn_label_upload_free(crn_request *request);

/* Whether a body of the length that the headers say may come; false: the refusal is set. */
bool crn_request_may_upload(crn_request *request);

/* Answers with the pictures. */
void crn_answer_pictures(crn_request *request, crn_stored *const pictures[], int32_t count);

/* The task's chain: its YAML, backend, threads and runs; false: the refusal is set. */
bool crn_request_read_chain(crn_request *request);

/* An end of jobs whose output is the answer, JSON but for planes and small pictures. */
void crn_request_printed(void *owner, crn_job_end *end);

/* What all answers under way may hold of jobs' output. */
#define CRN_SENDING_BYTES_MAX (UINT64_C(1) << 30)

/* Which jobs run beside the operators. */
typedef enum crn_queue {
    CRN_QUEUE_OPERATORS,
    CRN_QUEUE_QUICK,
} crn_queue;

/* Lets the request's job wait for its turn, and the connection for its end; or sets the refusal,
 * after `ended` has been told that it was cancelled. */
void crn_request_work(crn_request *request, crn_queue queue, crn_job_run *run,
                      crn_job_ended *ended);

/* The picture that the address names by `key`, kept until the answer, and the task's input; NULL:
 * the refusal is set. */
crn_stored *crn_request_input(crn_request *request, const char *key);

/* Finds the picture and keeps it until the request has its answer; NULL: there is none. */
crn_stored *crn_request_pin(crn_request *request, uint64_t id);

/* Reserves a name for a file that the job makes; false: the refusal is set. */
bool crn_request_reserve(crn_request *request, const char *wanted,
                         char ret_name[CRN_STORE_NAME_BYTES]);

/* The job's answer is set: frees what the job left and lets the connection go on. */
void crn_request_answered(crn_request *request, crn_job_end *end);

/* A number from the address, ?key=N; `initial` without it, -1 if it is none. */
int64_t crn_request_number(const crn_request *request, const char *key, int64_t initial);
const char *crn_request_text(const crn_request *request, const char *key);

/* --- command.c -------------------------------------------------------------------------------- */

/* Writes the pairs `command` and `python`: the job for a shell and for a script. */
void crn_command_write(const crn_task *task, const crn_stored *in, const char *ending,
                       crn_encoder *encoder);

/* --- assets.c --------------------------------------------------------------------------------- */

/* The page's files; NULL: there is none of that name. */
const crn_asset *crn_workbench_asset(const char *name);

#endif
