#include <errno.h>

#include "tools/bench/line/senders/iceoryx.h"

bool crn_iceoryx_begin(void)
{
    return false;
}

void crn_iceoryx_end(void) {}

int crn_iceoryx_writer_open(const crn_peer *peer, crn_iceoryx_writer **ret_writer)
{
    (void)peer;
    (void)ret_writer;
    return -ENOTSUP;
}

int crn_iceoryx_write(crn_iceoryx_writer *writer, const crn_view_header *header, const void *maps)
{
    (void)writer;
    (void)header;
    (void)maps;
    return -ENOTSUP;
}

void crn_iceoryx_writer_close(crn_iceoryx_writer **writer)
{
    (void)writer;
}

int crn_iceoryx_read(crn_iceoryx_judge *judge, void *context, const volatile int *stop)
{
    (void)judge;
    (void)context;
    (void)stop;
    return -ENOTSUP;
}
