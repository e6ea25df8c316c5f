/*
 * Views through iceoryx's shared memory, as another middleware without copies would carry them, for
 * the comparison of --pairs. iceoryx.c is built where its C binding is found, else iceoryx_none.c.
 */
#ifndef CRN_TOOLS_BENCH_LINE_ICEORYX_H
#define CRN_TOOLS_BENCH_LINE_ICEORYX_H

#include <stdbool.h>

#include "src/formats/view/wire.h"
#include "tools/bench/line/peer.h"

/* Starts RouDi, iceoryx's broker, which writers and readers need, until this program ends. False if
 * there is no iceoryx, or no iox-roudi. */
bool crn_iceoryx_begin(void);

typedef struct crn_iceoryx_writer crn_iceoryx_writer;

/* Waits for a reader. 0, -ENOMEM, or -ECHILD if the peer ended meanwhile. */
int crn_iceoryx_writer_open(const crn_peer *peer, crn_iceoryx_writer **ret_writer);

/* Copies the view into a chunk, for which it waits, and publishes it. As the one above. */
int crn_iceoryx_write(crn_iceoryx_writer *writer, const crn_view_header *header, const void *maps);
void crn_iceoryx_writer_close(crn_iceoryx_writer **writer);

/* Calls `judge` for each view where it lies, until it fails, or the view after *stop became true.
 * Returns what judge did. */
typedef int crn_iceoryx_judge(void *context, const crn_view_header *header, const void *maps);
int crn_iceoryx_read(crn_iceoryx_judge *judge, void *context, const volatile int *stop);

#endif
