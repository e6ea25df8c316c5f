#include "tools/archive/subscriber.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/connection.h"
#include "stages/base/clock.h"

#define TOPIC     "fruit/"
#define SILENT_NS (5 * CRN_NS_PER_S) /* a daemon sends viewers its status every second */

struct crn_subscriber {
    crn_intake intake;
    crn_connection connection;
    int64_t opened_ns;
    bool heard;     /* any message came, or its absence was told */
    crn_error told; /* why the destination could not be reached; empty: it was, since */
};

int crn_subscriber_open(crn_destination *destination, const crn_subscriber_settings *settings,
                        crn_subscriber **ret_subscriber, crn_error *error)
{
    crn_subscriber *subscriber = calloc(1, sizeof *subscriber);
    if (!subscriber)
        return crn_error_set(error, -ENOMEM, "%s: no memory", settings->endpoint);
    int r = crn_intake_init(&subscriber->intake, destination, CRN_INTAKE_VERDICTS,
                            settings->endpoint, settings->tell, error);
    if (r == 0)
        r = crn_connection_open(&subscriber->connection, settings->endpoint, false, CRN_ALL_LANES,
                                &settings->keys, error);
    if (r < 0) {
        crn_subscriber_close(&subscriber);
        return r;
    }
    subscriber->opened_ns = crn_now_ns();
    *ret_subscriber = subscriber;
    return 0;
}

void crn_subscriber_close(crn_subscriber **subscriber)
{
    if (!*subscriber)
        return;
    crn_connection_close(&(*subscriber)->connection);
    crn_intake_done(&(*subscriber)->intake);
    free(*subscriber);
    *subscriber = NULL;
}

const crn_intake_stats *crn_subscriber_get_stats(const crn_subscriber *subscriber)
{
    return &subscriber->intake.stats[CRN_INTAKE_VERDICTS];
}

/* 1, 0: no message waits, or a negative errno with *error. */
static int take_message(crn_subscriber *subscriber, crn_error *error)
{
    char topic[64];
    zmq_msg_t body;
    zmq_msg_init(&body);
    int r = crn_connection_receive(&subscriber->connection, topic, sizeof topic, &body);
    if (r < 0)
        crn_error_set(error, r, "%s: %s", subscriber->intake.source, strerror(-r));
    subscriber->heard |= r > 0;
    if (r > 0 && strncmp(topic, TOPIC, strlen(TOPIC)) == 0) {
        int added = crn_intake_add(&subscriber->intake, zmq_msg_data(&body), zmq_msg_size(&body),
                                   NULL, error);
        r = added < 0 ? added : r;
    }
    zmq_msg_close(&body);
    return r;
}

/* Tells once that nothing is heard; -EACCES with *error if it never will be. */
static int tell_silence(crn_subscriber *subscriber, crn_error *error)
{
    crn_error line;
    const char *fault = crn_handshake_fault(&subscriber->connection.handshake);
    if (fault && subscriber->connection.handshake.final)
        return crn_error_set(error, -EACCES, "%s: %s", subscriber->intake.source, fault);
    if (subscriber->heard || (!fault && crn_now_ns() - subscriber->opened_ns < SILENT_NS))
        return 0;
    subscriber->heard = true;
    crn_error_set(&line, 0, "%s: %s%s", subscriber->intake.source,
                  fault ? "" : "nothing came for 5 s: ", fault ? fault : crn_connection_hint);
    subscriber->intake.tell(line.text);
    return 0;
}

static int take_messages(crn_subscriber *subscriber, crn_error *error)
{
    int r = crn_intake_begin(&subscriber->intake, error);
    if (r < 0)
        return r;
    r = 1;
    while (r > 0 && !crn_intake_is_full(&subscriber->intake))
        r = take_message(subscriber, error);
    return crn_intake_end(&subscriber->intake, r, error);
}

int crn_subscriber_step(crn_subscriber *subscriber, crn_error *error)
{
    int r = take_messages(subscriber, error);
    if (r == -ENOTCONN) { /* what comes meanwhile waits in the socket, while there is room */
        if (strcmp(subscriber->told.text, error->text) != 0)
            subscriber->intake.tell(error->text);
        subscriber->told = *error;
        return 0;
    }
    if (r >= 0)
        subscriber->told.text[0] = '\0';
    return r == 0 ? tell_silence(subscriber, error) : r;
}
