/* In a build without libnats. */
#include <errno.h>
#include <stddef.h>

#include "tools/archive/nats/publisher.h"
#include "tools/archive/nats/reader.h"

bool crn_nats_is_built(void)
{
    return false;
}

static int fail(crn_error *error)
{
    return crn_error_set(error, -ENOTSUP,
                         "nats:// and tls:// need libnats, and this program was built without it: "
                         "install libnats-dev and build again");
}

int crn_publisher_open(const crn_publisher_settings *settings, crn_publisher **ret_publisher,
                       crn_error *error)
{
    (void)settings;
    (void)ret_publisher;
    return fail(error);
}

void crn_publisher_close(crn_publisher **publisher)
{
    (void)publisher;
}

crn_destination *crn_publisher_get_destination(crn_publisher *publisher)
{
    (void)publisher;
    return NULL;
}

int crn_nats_reader_open(crn_destination *destination, const crn_nats_reader_settings *settings,
                         crn_nats_reader **ret_reader, crn_error *error)
{
    (void)destination;
    (void)settings;
    (void)ret_reader;
    return fail(error);
}

void crn_nats_reader_close(crn_nats_reader **reader)
{
    (void)reader;
}

int crn_nats_reader_step(crn_nats_reader *reader, crn_error *error)
{
    (void)reader;
    return fail(error);
}

const crn_intake_stats *crn_nats_reader_get_stats(const crn_nats_reader *reader,
                                                  crn_intake_kind kind)
{
    (void)reader;
    (void)kind;
    return NULL;
}
