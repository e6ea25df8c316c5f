#include "tools/archive/nats/publisher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/encoding/messagepack_json.h"
#include "tools/archive/nats/connection.h"

/* Of a batch, whose acknowledgements are then waited for. */
#define ENTRIES_MAX 1000
#define BYTES_MAX   (4 << 20)

#define HEADER_BYTES_MAX 1024 /* part of the server's max_payload */
#define SUBJECT_BYTES    1024

struct crn_publisher {
    crn_destination destination;
    crn_publisher_settings settings;
    crn_nats nats;
    natsInbox *inbox;
    natsSubscription *acknowledgements; /* NULL: not connected */
    char subject[SUBJECT_BYTES];
    crn_verdict_position position; /* acknowledged */
    crn_verdict_position reached;  /* by this batch */
    int sent;                      /* of this batch */
};

static crn_publisher *of(crn_destination *destination)
{
    return (crn_publisher *)destination;
}

/* --- the connection --- */

static void disconnect(crn_publisher *publisher)
{
    natsSubscription_Destroy(publisher->acknowledgements);
    natsInbox_Destroy(publisher->inbox);
    publisher->acknowledgements = NULL;
    publisher->inbox = NULL;
    crn_nats_disconnect(&publisher->nats);
}

static int fail(crn_publisher *publisher, natsStatus status, jsErrCode code, crn_error *error)
{
    return crn_nats_fail(&publisher->nats, status, code, error);
}

static int connect_publisher(crn_publisher *publisher, crn_error *error)
{
    disconnect(publisher);
    int r = crn_nats_connect(&publisher->nats, error);
    if (r < 0)
        return r;
    natsStatus s = natsInbox_Create(&publisher->inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&publisher->acknowledgements, publisher->nats.connection,
                                         publisher->inbox);
    if (s == NATS_OK)
        return 0;
    r = fail(publisher, s, 0, error);
    disconnect(publisher);
    return r;
}

/* --- the position --- */

/* Appends a part of a subject: what subjects give a meaning becomes '-'. */
static void append_token(char *subject, const char *text)
{
    size_t length = strlen(subject);
    for (; *text && length + 2 < SUBJECT_BYTES; text++) {
        bool is_plain = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
                        (*text >= 'a' && *text <= 'z') || *text == '_' || (*text & 0x80);
        subject[length++] = is_plain ? *text : '-';
    }
    subject[length] = '\0';
}

static void set_subject(crn_publisher *publisher, const char *source)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    snprintf(publisher->subject, sizeof publisher->subject, "%s.%s.", publisher->nats.stream,
             publisher->settings.kind);
    append_token(publisher->subject, *host ? host : "host");
    strcat(publisher->subject, ".");
    append_token(publisher->subject, source + strspn(source, "/"));
}

/* A message of another program, or of another log of the same name, tells nothing: the log's reader
 * goes on at a position only where its segment is that one. */
static crn_verdict_position parse_position(const natsMsg *message)
{
    const char *text = NULL;
    crn_verdict_position position;
    if (natsMsgHeader_Get((natsMsg *)message, CRN_NATS_POSITION, &text) == NATS_OK &&
        sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &position.number, &position.created_ns,
               &position.offset) == 3)
        return position;
    return (crn_verdict_position){.number = 0};
}

static int get_position(crn_destination *destination, const char *source,
                        crn_verdict_position *ret_position, crn_error *error)
{
    crn_publisher *publisher = of(destination);
    natsMsg *last = NULL;
    jsErrCode code = 0;
    set_subject(publisher, source);
    int r = connect_publisher(publisher, error);
    if (r < 0)
        return r;
    natsStatus s = js_GetLastMsg(&last, publisher->nats.context, publisher->nats.stream,
                                 publisher->subject, NULL, &code);
    publisher->position = (crn_verdict_position){.number = 0};
    if (s == NATS_OK)
        publisher->position = parse_position(last);
    else if (s != NATS_NOT_FOUND)
        r = fail(publisher, s, code, error);
    natsMsg_Destroy(last);
    if (r < 0)
        disconnect(publisher);
    *ret_position = publisher->reached = publisher->position;
    return r;
}

static int set_position(crn_destination *destination, const char *source,
                        const crn_verdict_position *position, crn_error *error)
{
    (void)source;
    (void)error;
    of(destination)->reached = *position;
    return 0;
}

/* --- a batch --- */

static int begin(crn_destination *destination, crn_error *error)
{
    crn_publisher *publisher = of(destination);
    publisher->sent = 0;
    publisher->reached = publisher->position;
    if (!publisher->acknowledgements || natsConnection_IsClosed(publisher->nats.connection))
        return fail(publisher, NATS_CONNECTION_CLOSED, 0, error);
    int64_t max = natsConnection_GetMaxPayload(publisher->nats.connection);
    destination->entry_bytes_max = max > HEADER_BYTES_MAX ? (size_t)max - HEADER_BYTES_MAX : 0;
    return 0;
}

/* After a fault one message alone is tried first. */
static void undo(crn_destination *destination)
{
    destination->entries_max = 1;
    disconnect(of(destination));
}

/* `id` keeps the server from storing it twice within its window; NULL: none. */
static int publish(crn_publisher *publisher, const crn_entry *entry, const char *id,
                   crn_error *error)
{
    natsMsg *message = NULL;
    char position[80];
    const crn_verdict_position *at = &publisher->position;
    snprintf(position, sizeof position, "%" PRIu64 " %" PRIu64 " %" PRIu64, at->number,
             at->created_ns, at->offset);
    natsStatus s = natsMsg_Create(&message, publisher->subject, publisher->inbox, entry->bytes,
                                  (int)entry->size);
    if (s == NATS_OK && id)
        s = natsMsgHeader_Set(message, "Nats-Msg-Id", id);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, CRN_NATS_POSITION, position);
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(publisher->nats.connection, message);
    natsMsg_Destroy(message);
    publisher->sent += s == NATS_OK;
    return s == NATS_OK ? 0 : fail(publisher, s, 0, error);
}

static int add_verdict(crn_destination *destination, const crn_entry *entry,
                       const crn_decoded *verdict, crn_added *ret_added, crn_error *error)
{
    char id[CRN_DECODED_TEXT_BYTES + 48];
    snprintf(id, sizeof id, "%s/%" PRIu64 "/%" PRIu64, verdict->run, verdict->lane,
             verdict->sequence);
    *ret_added = (crn_added){.is_new = true};
    return publish(of(destination), entry, id, error);
}

/* Without an id: of a batch that is sent again all are stored again, so that a result, which the
 * archive takes only with its outcome, comes behind that. */
static int add_outcome(crn_destination *destination, const crn_entry *entry,
                       const crn_outcome *outcome, bool *ret_is_new, crn_error *error)
{
    (void)outcome;
    *ret_is_new = true;
    return publish(of(destination), entry, NULL, error);
}

static int add_result(crn_destination *destination, const crn_entry *entry,
                      const crn_firing_outcome *firing, crn_added_result *ret_result,
                      crn_error *error)
{
    (void)firing;
    *ret_result = CRN_RESULT_ADDED;
    return publish(of(destination), entry, NULL, error);
}

/* --- acknowledgements --- */

/* 0 if the server has stored the message; else -ENOTCONN with *error. */
static int read_acknowledgement(crn_publisher *publisher, natsMsg *message, crn_error *error)
{
    crn_messagepack_json answer;
    crn_error fault;
    char description[256] = "";
    if (natsMsg_IsNoResponders(message))
        return fail(publisher, NATS_NO_RESPONDERS, 0, error);
    int r = crn_messagepack_json_init(&answer, natsMsg_GetData(message),
                                      (size_t)natsMsg_GetDataLength(message), &fault);
    if (r < 0)
        return crn_error_set(error, -ENOTCONN, "%s: the server's acknowledgement %s",
                             publisher->nats.name, fault.text);
    const msgpack_object *refused = crn_value_get(&answer.tree.data, "error");
    bool is_stored = !refused && crn_value_is_text(crn_value_get(&answer.tree.data, "stream"),
                                                   publisher->nats.stream);
    crn_value_copy_text(crn_value_get(refused, "description"), description, sizeof description);
    crn_messagepack_json_done(&answer);
    if (is_stored)
        return 0;
    return crn_error_set(error, -ENOTCONN,
                         "%s: the server refuses what is published (%s): make room in the stream "
                         "(its max_bytes, max_age, max_msgs; the server's max_file_store); what "
                         "follows waits in the log",
                         publisher->nats.name, refused ? description : "another stream took it");
}

static int commit(crn_destination *destination, crn_intake_stats *coming, crn_error *error)
{
    (void)coming;
    crn_publisher *publisher = of(destination);
    int r = 0;
    for (int i = 0; i < publisher->sent && r == 0; i++) {
        natsMsg *message = NULL;
        natsStatus s =
            natsSubscription_NextMsg(&message, publisher->acknowledgements, CRN_NATS_WAIT_MS);
        r = s == NATS_OK ? read_acknowledgement(publisher, message, error)
                         : fail(publisher, s, 0, error);
        natsMsg_Destroy(message);
    }
    if (r < 0) {
        undo(destination);
        return r;
    }
    publisher->position = publisher->reached;
    if (publisher->sent && destination->entries_max < ENTRIES_MAX)
        destination->entries_max *= 10;
    return 0;
}

/* --- opening --- */

static const crn_destination_functions functions = {
    .begin = begin,
    .commit = commit,
    .undo = undo,
    .get_position = get_position,
    .set_position = set_position,
    .add_verdict = add_verdict,
    .add_outcome = add_outcome,
    .add_result = add_result,
};

int crn_publisher_open(const crn_publisher_settings *settings, crn_publisher **ret_publisher,
                       crn_error *error)
{
    crn_publisher *publisher = calloc(1, sizeof *publisher);
    if (!publisher)
        return crn_error_set(error, -ENOMEM, "NATS: no memory");
    publisher->settings = *settings;
    publisher->destination = (crn_destination){.functions = &functions,
                                               .entries_max = ENTRIES_MAX,
                                               .bytes_max = BYTES_MAX,
                                               .entry_bytes_max = SIZE_MAX};
    int r = crn_nats_init(&publisher->nats, &publisher->settings.nats, error);
    if (r < 0) {
        crn_publisher_close(&publisher);
        return r;
    }
    *ret_publisher = publisher;
    return 0;
}

void crn_publisher_close(crn_publisher **publisher)
{
    if (!*publisher)
        return;
    disconnect(*publisher);
    crn_nats_done(&(*publisher)->nats);
    free(*publisher);
    *publisher = NULL;
}

crn_destination *crn_publisher_get_destination(crn_publisher *publisher)
{
    return &publisher->destination;
}
