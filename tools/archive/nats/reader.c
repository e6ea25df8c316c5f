#include "tools/archive/nats/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tools/archive/nats/connection.h"

/* Asked for at a time, which limits memory; a message is of 64 MiB at most. */
#define FETCH_MAX       1000
#define FETCH_BYTES_MAX (80 << 20)
#define FETCH_NS        CRN_NS_PER_S /* the server waits so long for a first one */

struct crn_nats_reader {
    crn_intake intake;
    crn_nats_reader_settings settings;
    crn_nats nats;
    natsSubscription *messages; /* NULL: not connected */
    uint64_t delivered;         /* of this subscription: shows that one was lost on the way */
    /* The last message archived: its sequence as `number`, the server's time as `created_ns`. */
    crn_verdict_position position;
    crn_error told; /* why the server could not be reached; empty: it was, since */
};

/* --- the connection --- */

static void disconnect(crn_nats_reader *reader)
{
    natsSubscription_Destroy(reader->messages);
    reader->messages = NULL;
    crn_nats_disconnect(&reader->nats);
}

static void tell_removed(crn_nats_reader *reader, uint64_t first, uint64_t last)
{
    crn_error line;
    crn_error_set(&line, 0,
                  "%s: messages %" PRIu64 " to %" PRIu64 " were removed before they were archived: "
                  "raise the stream's limits (the view `gaps` lists the verdicts that are missing)",
                  reader->nats.name, first, last);
    reader->settings.tell(line.text);
}

/* True if the stream still has the message of the position, or is known to have removed it for its
 * age; false if it was begun again, or lost its end, since. */
static natsStatus check_position(crn_nats_reader *reader, bool *ret_is_there, jsErrCode *code)
{
    const crn_verdict_position *position = &reader->position;
    jsStreamInfo *about = NULL;
    natsMsg *message = NULL;
    natsStatus s = js_GetStreamInfo(&about, reader->nats.context, reader->nats.stream, NULL, code);
    if (s != NATS_OK)
        return s;
    uint64_t first = about->State.FirstSeq, last = about->State.LastSeq;
    jsStreamInfo_Destroy(about);
    *ret_is_there = position->number <= last;
    if (position->number + 1 < first)
        tell_removed(reader, position->number + 1, first - 1);
    if (position->number < first || !*ret_is_there)
        return NATS_OK;
    s = js_GetMsg(&message, reader->nats.context, reader->nats.stream, position->number, NULL,
                  code);
    *ret_is_there = s == NATS_OK && (uint64_t)natsMsg_GetTime(message) == position->created_ns;
    natsMsg_Destroy(message);
    return s == NATS_NOT_FOUND ? NATS_OK : s;
}

static natsStatus subscribe(crn_nats_reader *reader, jsErrCode *code)
{
    jsSubOptions options;
    bool is_there = true;
    natsStatus s = reader->position.number ? check_position(reader, &is_there, code) : NATS_OK;
    if (s != NATS_OK)
        return s;
    if (!is_there)
        reader->position = (crn_verdict_position){.number = 0};
    jsSubOptions_Init(&options);
    options.Stream = reader->nats.stream;
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = reader->position.number + 1;
    options.Config.AckPolicy = js_AckNone;
    reader->delivered = 0;
    return js_PullSubscribe(&reader->messages, reader->nats.context, ">", NULL, NULL, &options,
                            code);
}

static int connect_stream(crn_nats_reader *reader, crn_error *error)
{
    jsErrCode code = 0;
    crn_destination *destination = reader->intake.destination;
    if (reader->messages)
        return 0;
    int r = destination->functions->get_position(destination, reader->intake.source,
                                                 &reader->position, error);
    if (r == 0)
        r = crn_nats_connect(&reader->nats, error);
    if (r < 0)
        return r;
    natsStatus s = subscribe(reader, &code);
    return s == NATS_OK ? 0 : crn_nats_fail(&reader->nats, s, code, error);
}

/* --- messages --- */

/* Outcomes by their subject, STREAM.outcomes.HOST.FOLDER; all else should be verdicts. */
static crn_intake_kind kind_of(const natsMsg *message)
{
    const char *dot = strchr(natsMsg_GetSubject(message), '.');
    return dot && strncmp(dot, ".outcomes.", 10) == 0 ? CRN_INTAKE_OUTCOMES : CRN_INTAKE_VERDICTS;
}

/* 1, or 0 where a message before this one did not arrive; or a negative errno with *error. */
static int add_message(crn_nats_reader *reader, natsMsg *message, crn_error *error)
{
    jsMsgMetaData *about = NULL;
    if (natsMsg_GetMetaData(&about, message) != NATS_OK)
        return 0;
    bool is_next = about->Sequence.Consumer == ++reader->delivered;
    crn_verdict_position position = {.number = about->Sequence.Stream,
                                     .created_ns = (uint64_t)about->Timestamp};
    jsMsgMetaData_Destroy(about);
    if (!is_next)
        return 0;
    reader->intake.kind = kind_of(message);
    reader->intake.message = position.number;
    int r = crn_intake_add(&reader->intake, natsMsg_GetData(message),
                           (size_t)natsMsg_GetDataLength(message), NULL, error);
    if (r < 0)
        return r;
    reader->position = position;
    return 1;
}

static int add_messages(crn_nats_reader *reader, const natsMsgList *list, crn_error *error)
{
    crn_destination *destination = reader->intake.destination;
    bool is_whole = true;
    int r = crn_intake_begin(&reader->intake, error);
    if (r < 0)
        return r;
    for (int i = 0; i < list->Count && r >= 0 && is_whole; i++) {
        r = add_message(reader, list->Msgs[i], error);
        is_whole = r != 0;
    }
    if (r >= 0)
        r = destination->functions->set_position(destination, reader->intake.source,
                                                 &reader->position, error);
    r = crn_intake_end(&reader->intake, r, error);
    if (!is_whole)
        disconnect(reader); /* and go on behind the last one that arrived */
    return r < 0 ? r : 1;
}

/* Nothing came: 1 if the server has more all the same, 0 if not. */
static int is_more(crn_nats_reader *reader, crn_error *error)
{
    jsConsumerInfo *about = NULL;
    jsErrCode code = 0;
    natsStatus s = natsSubscription_GetConsumerInfo(&about, reader->messages, NULL, &code);
    if (s != NATS_OK)
        return crn_nats_fail(&reader->nats, s, code, error);
    int r = about->NumPending > 0 || about->Delivered.Consumer > reader->delivered;
    if (about->Delivered.Consumer > reader->delivered)
        disconnect(reader); /* lost on the way: it is asked for again */
    jsConsumerInfo_Destroy(about);
    return r;
}

static int take_messages(crn_nats_reader *reader, crn_error *error)
{
    natsMsgList list = {NULL, 0};
    jsFetchRequest request;
    int r = connect_stream(reader, error);
    if (r < 0)
        return r;
    jsFetchRequest_Init(&request);
    request.Batch = FETCH_MAX;
    request.MaxBytes = FETCH_BYTES_MAX;
    request.Expires = FETCH_NS;
    request.NoWait = true;
    natsStatus s = natsSubscription_FetchRequest(&list, reader->messages, &request);
    if (list.Count > 0)
        r = add_messages(reader, &list, error);
    else if (s == NATS_OK || s == NATS_TIMEOUT || s == NATS_NOT_FOUND)
        r = is_more(reader, error);
    else
        r = crn_nats_fail(&reader->nats, s, 0, error);
    natsMsgList_Destroy(&list);
    return r;
}

int crn_nats_reader_step(crn_nats_reader *reader, crn_error *error)
{
    int r = take_messages(reader, error);
    if (r < 0)
        disconnect(reader);
    if (r >= 0)
        reader->told.text[0] = '\0';
    if (r != -ENOTCONN || !reader->settings.follow)
        return r;
    if (strcmp(reader->told.text, error->text) != 0)
        reader->settings.tell(error->text);
    reader->told = *error;
    return 0;
}

/* --- opening --- */

int crn_nats_reader_open(crn_destination *destination, const crn_nats_reader_settings *settings,
                         crn_nats_reader **ret_reader, crn_error *error)
{
    crn_nats_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return crn_error_set(error, -ENOMEM, "NATS: no memory");
    reader->settings = *settings;
    int r = crn_nats_init(&reader->nats, &reader->settings.nats, error);
    if (r == 0)
        r = crn_intake_init(&reader->intake, destination, CRN_INTAKE_VERDICTS, reader->nats.name,
                            settings->tell, error);
    if (r < 0) {
        crn_nats_reader_close(&reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

void crn_nats_reader_close(crn_nats_reader **reader)
{
    if (!*reader)
        return;
    disconnect(*reader);
    crn_nats_done(&(*reader)->nats);
    crn_intake_done(&(*reader)->intake);
    free(*reader);
    *reader = NULL;
}

const crn_intake_stats *crn_nats_reader_get_stats(const crn_nats_reader *reader,
                                                  crn_intake_kind kind)
{
    return &reader->intake.stats[kind];
}
