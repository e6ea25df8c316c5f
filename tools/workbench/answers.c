#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/workbench/requests.h"
#include "tools/workbench/text.h"

/* What the page may load: only what this server has; pictures are drawn from bytes. */
#define CONTENT_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "        \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void set_answer(crn_request *request, unsigned status, const char *type,
                       struct MHD_Response *response)
{
    if (request->response)
        MHD_destroy_response(request->response);
    request->status = status;
    request->response = response;
    if (!response)
        return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Content-Security-Policy", CONTENT_POLICY);
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
}

void crn_answer_bytes(crn_request *request, const char *type, const void *bytes, size_t size,
                      bool is_static)
{
    set_answer(request, MHD_HTTP_OK, type,
               MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes,
                                               is_static ? MHD_RESPMEM_PERSISTENT
                                                         : MHD_RESPMEM_MUST_COPY));
}

void crn_answer_encoded(crn_request *request)
{
    const unsigned char *bytes;
    size_t size;
    if (crn_encoder_end(request->bench->encoder, &bytes, &size) == 0)
        crn_answer_bytes(request, "application/json", bytes, size, false);
}

void crn_answer_refusal(crn_request *request, unsigned status, const char *format, ...)
{
    char text[1024];
    crn_encoder *encoder = request->bench->encoder;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    crn_utf8_mend(text);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 1);
    crn_encoder_pair_text(encoder, "error", text);
    crn_encoder_map_end(encoder);
    crn_answer_encoded(request);
    request->status = status;
    if (request->response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(request->response, MHD_HTTP_HEADER_ALLOW,
                                "GET, HEAD, POST, DELETE");
}

/* A name as browsers take it in a header: other characters than these become underscores. */
static void write_disposition(const char *name, char *ret_text, size_t room)
{
    size_t used = (size_t)snprintf(ret_text, room, "attachment; filename=\"");
    for (; *name && used + 2 < room; name++)
        ret_text[used++] = (*name >= ' ' && *name < 0x7f && !strchr("\"\\%", *name)) ? *name : '_';
    ret_text[used++] = '"';
    ret_text[used] = '\0';
}

void crn_answer_file(crn_request *request, const char *type, int descriptor, const char *name)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0) {
        close(descriptor);
        crn_answer_refusal(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "the file cannot be read: %s",
                           strerror(errno));
        return;
    }
    struct MHD_Response *response =
        MHD_create_response_from_fd64((uint64_t)status.st_size, descriptor);
    if (!response)
        close(descriptor);
    set_answer(request, MHD_HTTP_OK, type, response);
    char disposition[CRN_STORE_NAME_BYTES + 32];
    if (response && name) {
        write_disposition(name, disposition, sizeof disposition);
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition);
    }
}

/* --- what jobs say ---------------------------------------------------------------------------- */

/* "cernita-apply haar: text; see cernita-apply haar --help" is for a shell: the page wants `text`.
 */
static char *bare_line(char *line)
{
    static const char name[] = "cernita-apply";
    char *hint = strstr(line, "; see cernita-apply");
    if (hint)
        *hint = '\0';
    if (strncmp(line, name, strlen(name)) == 0) {
        char *colon = strstr(line, ": ");
        line = colon ? colon + 2 : line;
    }
    return line;
}

void crn_said_lines(crn_encoder *encoder, char *said)
{
    uint32_t count = 0;
    if (said)
        crn_utf8_mend(said);
    for (const char *at = said ? said : ""; *at; at++)
        count += *at == '\n';
    crn_encoder_array(encoder, count);
    char *rest = NULL;
    char *line = said ? strtok_r(said, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest))
        crn_encoder_text(encoder, bare_line(line));
    crn_encoder_array_end(encoder);
}

static char *last_line(char *said)
{
    char *rest = NULL, *last = NULL;
    for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        last = line;
    return last ? bare_line(last) : NULL;
}

bool crn_answer_failure(crn_request *request, const crn_job_end *end)
{
    if (end->cancelled) {
        crn_answer_refusal(request, MHD_HTTP_CONFLICT, "cancelled");
        return true;
    }
    if (end->status == 0)
        return false;
    const char *text = end->said ? last_line(end->said) : NULL;
    if (end->status < 0 && end->signal == SIGXCPU)
        crn_answer_refusal(
            request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s: took more than %lld s of processor time",
            request->task.in[0] ? request->task.in : "the job", (long long)request->job.limit_s);
    else if (end->status < 0 && end->signal == SIGKILL)
        crn_answer_refusal(
            request, MHD_HTTP_UNPROCESSABLE_CONTENT,
            "the job was killed by the system, probably because memory ran out: use a "
            "smaller picture");
    else if (end->status < 0)
        crn_answer_refusal(
            request, MHD_HTTP_INTERNAL_SERVER_ERROR,
            "the job crashed (signal %d): please report the picture and the settings", end->signal);
    else
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s",
                           text ? text : "the job failed without a word");
    return true;
}
