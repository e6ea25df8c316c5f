#include "tools/sorter/page/page.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/client/post.h"
#include "src/http/token.h"
#include "stages/base/byte_ring.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"
#include "stages/base/utf8.h"
#include "tools/sorter/page/minute.h"

#define NICE        15
#define EVERY_NS    CRN_NS_PER_S
#define QUEUE_BYTES 4096

/* What is handed over. */
typedef struct offered {
    int64_t at_ns;
    uint64_t fruits[CRN_OUTLETS_MAX];
    int32_t fault_count;
    const crn_sorter_fault *faults[CRN_SORTER_FAULTS_MAX];
} offered;

struct crn_page_reporter {
    char endpoint[CRN_TEXT_BYTES];
    char token[CRN_HTTP_TOKEN_BYTES];
    int64_t due_ns; /* of the thread that offers */
    crn_byte_ring queue;
    atomic_bool ended;
    pthread_t thread;
    bool started;

    /* Used by the thread only: */
    crn_encoder *encoder;
    crn_outlet_minute minute;
    crn_outlet_report report; /* names are those of the start */
    bool fails;
};

/* --- the thread ------------------------------------------------------------------------------- */

static void fill(crn_page_reporter *self, const offered *from)
{
    uint64_t per_minute[CRN_OUTLETS_MAX];
    crn_outlet_report *report = &self->report;
    crn_outlet_minute_add(&self->minute, from->at_ns, from->fruits, per_minute);
    for (int32_t i = 0; i < report->outlet_count; i++) {
        report->outlets[i].fruits = from->fruits[i];
        report->outlets[i].per_minute = per_minute[i];
    }
    report->fault_count = from->fault_count;
    for (int32_t i = 0; i < from->fault_count; i++) {
        crn_outlet_fault *fault = &report->faults[i];
        snprintf(fault->id, sizeof fault->id, "%s", from->faults[i]->id);
        snprintf(fault->severity, sizeof fault->severity, "%s", from->faults[i]->severity);
        snprintf(fault->text, sizeof fault->text, "%s", from->faults[i]->text);
    }
}

/* Logs once when it begins to fail, and once when it works again. */
static void tell(crn_page_reporter *self, int r, const crn_error *error)
{
    if (r < 0 && !self->fails)
        crn_log(CRN_LOG_WARNING, "line.page: %s: %s; the line's page does not show the outlets",
                self->endpoint, error->text);
    else if (r == 0 && self->fails)
        crn_log(CRN_LOG_INFO, "line.page: %s: shows the outlets", self->endpoint);
    self->fails = r < 0;
}

static void send_report(crn_page_reporter *self)
{
    const unsigned char *bytes;
    crn_error error = {"no memory"};
    crn_post_request request = {
        .path = CRN_OUTLET_REPORT_PATH, .token = self->token, .ended = &self->ended};
    crn_encoder_begin(self->encoder);
    crn_outlet_report_put(&self->report, self->encoder);
    int r = crn_encoder_end(self->encoder, &bytes, &request.size);
    request.json = bytes;
    if (r == 0)
        r = crn_post_send(self->endpoint, &request, &error);
    if (!atomic_load(&self->ended))
        tell(self, r, &error);
}

static void *serve(void *argument)
{
    crn_page_reporter *self = argument;
    bool ended = false;
    prctl(PR_SET_NAME, "page", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    while (!ended && !atomic_load(&self->ended)) {
        const offered *next = crn_byte_ring_wait_until(&self->queue, CRN_NEVER_NS, &ended);
        bool is_new = next;
        while (next) { /* what waited while the line was slow: the last one is sent */
            fill(self, next);
            crn_byte_ring_pop(&self->queue);
            next = crn_byte_ring_wait_until(&self->queue, 0, &ended);
        }
        if (is_new)
            send_report(self);
    }
    return NULL;
}

/* --- from the thread that decides ------------------------------------------------------------- */

int64_t crn_page_reporter_due(const crn_page_reporter *reporter)
{
    return reporter->due_ns;
}

void crn_page_reporter_offer(crn_page_reporter *reporter, const crn_decider_stats *decided,
                             const crn_sorter_fault *const faults[], int32_t fault_count,
                             int64_t now_ns)
{
    offered *next = crn_byte_ring_reserve(&reporter->queue, sizeof *next);
    reporter->due_ns = now_ns + EVERY_NS;
    if (!next)
        return;
    next->at_ns = now_ns;
    memcpy(next->fruits, decided->outlet, sizeof next->fruits);
    next->fault_count = fault_count;
    memcpy(next->faults, faults, (size_t)fault_count * sizeof *faults);
    crn_byte_ring_push(&reporter->queue);
}

/* --- open and close --------------------------------------------------------------------------- */

/* The report's file is the path's last part, made printable. */
static void name_report(const char *path, const crn_texts *names, crn_outlet_report *ret_report)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(ret_report->file, sizeof ret_report->file, "%s", name);
    crn_utf8_clean(ret_report->file);
    ret_report->outlet_count = names->count;
    for (int32_t i = 0; i < names->count; i++)
        snprintf(ret_report->outlets[i].name, sizeof ret_report->outlets[i].name, "%s",
                 names->item[i]);
}

int crn_page_reporter_open(const char *path, const crn_sorter_settings *settings,
                           crn_page_reporter **ret_reporter, crn_error *error)
{
    static const uint64_t none[CRN_OUTLETS_MAX];
    const char *token_file = settings->line.page_token_file;
    uint64_t per_minute[CRN_OUTLETS_MAX];
    crn_error fault = {"no memory"};
    crn_page_reporter *self = calloc(1, sizeof *self);
    if (!self)
        return crn_error_set(error, -ENOMEM, "line.page: no memory");
    snprintf(self->endpoint, sizeof self->endpoint, "%s", settings->line.page);
    name_report(path, &settings->outlets.names, &self->report);
    crn_outlet_minute_add(&self->minute, crn_now_ns(), none, per_minute);
    int r = crn_byte_ring_init(&self->queue, QUEUE_BYTES);
    if (r == 0)
        r = crn_encoder_create(CRN_FORMAT_JSON, &self->encoder);
    if (r == 0 && token_file[0])
        r = crn_http_token_read(token_file, self->token, &fault);
    if (r == 0) {
        r = crn_thread_start(&self->thread, serve, self);
        self->started = r == 0;
        if (r < 0)
            crn_error_set(&fault, r, "cannot start a thread: %s", strerror(-r));
    }
    if (r < 0) {
        crn_page_reporter_close(&self);
        return crn_error_set(error, r, "line.page: %s", fault.text);
    }
    *ret_reporter = self;
    return 0;
}

void crn_page_reporter_close(crn_page_reporter **reporter)
{
    crn_page_reporter *self = *reporter;
    if (!self)
        return;
    if (self->started) {
        atomic_store(&self->ended, true);
        crn_byte_ring_end(&self->queue);
        pthread_join(self->thread, NULL);
    }
    crn_byte_ring_done(&self->queue);
    crn_encoder_free(&self->encoder);
    free(self);
    *reporter = NULL;
}
