/* A folder of labels that the page sends as the files of a form. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/workbench/levels/labels.h"
#include "tools/workbench/requests.h"

#define FILES_MAX   65536
#define FORM_BYTES  65536 /* of the form's parser: file names and headers of a part */
#define FOLDER_NAME "labels"

struct crn_label_upload {
    struct MHD_PostProcessor *form;
    char name[CRN_STORE_NAME_BYTES]; /* of the folder in the store; "": it is the store's */
    int folder, file;                /* descriptors; -1: none */
    int32_t files;
    uint64_t bytes;
};

static void close_file(struct crn_label_upload *labels)
{
    if (labels->file >= 0)
        close(labels->file);
    labels->file = -1;
}

/* The next file of the form: those that are no labels are passed over, as in a folder that the
 * command line names. */
static bool begin_file(crn_request *request, const char *file_name)
{
    struct crn_label_upload *labels = request->labels;
    close_file(labels);
    if (!file_name || !crn_labels_are_named(file_name))
        return true;
    if (labels->files++ == FILES_MAX) {
        crn_answer_refusal(request, MHD_HTTP_CONTENT_TOO_LARGE,
                           "%s: more than %d files: name the folder with --labels", labels->name,
                           FILES_MAX);
        return false;
    }
    labels->file = openat(labels->folder, file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (labels->file < 0)
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT, "%s: %s", file_name,
                           errno == EEXIST ? "two files have this name" : strerror(errno));
    return labels->file >= 0;
}

/* libmicrohttpd's: a part of a file of the form. */
static enum MHD_Result take_part(void *context, enum MHD_ValueKind kind, const char *key,
                                 const char *file_name, const char *media_type,
                                 const char *encoding, const char *bytes, uint64_t offset,
                                 size_t size)
{
    crn_request *request = context;
    struct crn_label_upload *labels = request->labels;
    (void)kind;
    (void)key;
    (void)media_type;
    (void)encoding;
    if (request->response || (offset == 0 && !begin_file(request, file_name)))
        return MHD_NO;
    if (labels->file >= 0 && write(labels->file, bytes, size) != (ssize_t)size) {
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                           "%s: cannot be stored: memory is full", file_name);
        return MHD_NO;
    }
    return MHD_YES;
}

void crn_label_upload_begin(crn_request *request)
{
    crn_workbench *bench = request->bench;
    const char *wanted = crn_request_text(request, "name");
    if (!crn_request_may_upload(request))
        return;
    struct crn_label_upload *labels = calloc(1, sizeof *labels);
    if (!labels) {
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE, "no memory");
        return;
    }
    request->labels = labels;
    labels->folder = labels->file = -1;
    bench->uploads++;
    labels->form = MHD_create_post_processor(request->connection, FORM_BYTES, take_part, request);
    if (!labels->form) {
        crn_answer_refusal(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                           "labels are sent as a form of files, multipart/form-data");
        return;
    }
    int r = crn_store_reserve_folder(&bench->store, wanted && *wanted ? wanted : FOLDER_NAME,
                                     labels->name);
    if (r == 0)
        labels->folder =
            openat(bench->store.folder_fd, labels->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r < 0)
        labels->name[0] = '\0';
    if (labels->folder < 0)
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE, "no folder can be made: %s",
                           strerror(r < 0 ? -r : errno));
}

void crn_label_upload_take(crn_request *request, const char *bytes, size_t size)
{
    struct crn_label_upload *labels = request->labels;
    labels->bytes += size;
    if (labels->bytes > CRN_UPLOAD_BYTES_MAX)
        crn_answer_refusal(request, MHD_HTTP_CONTENT_TOO_LARGE, "%s: is too large", labels->name);
    else if (MHD_post_process(labels->form, bytes, size) != MHD_YES && !request->response)
        crn_answer_refusal(request, MHD_HTTP_BAD_REQUEST, "%s: is not a form of files",
                           labels->name);
}

void crn_label_upload_answer(crn_request *request)
{
    struct crn_label_upload *labels = request->labels;
    const crn_picture_facts facts = {.kind = CRN_PICTURE_LABELS};
    crn_stored *stored = NULL;
    close_file(labels);
    if (labels->files == 0) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "%s: has neither labels.csv nor a mask, FRUIT-VIEW.png", labels->name);
        return;
    }
    stored = crn_store_add(&request->bench->store, labels->name, &facts, false);
    labels->name[0] = '\0';
    if (stored)
        crn_answer_pictures(request, &stored, 1);
    else
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                           "there is no memory left for labels: start the workbench again");
}

void crn_label_upload_free(crn_request *request)
{
    struct crn_label_upload *labels = request->labels;
    if (!labels)
        return;
    if (labels->form)
        MHD_destroy_post_processor(labels->form);
    close_file(labels);
    if (labels->folder >= 0)
        close(labels->folder);
    if (labels->name[0])
        crn_store_remove_file(&request->bench->store, labels->name);
    request->bench->uploads--;
    free(labels);
    request->labels = NULL;
}
