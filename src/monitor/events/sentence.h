/* The daemon's state and the reasons for it as one sentence, for the service manager. No sockets.
 */
#ifndef CRN_SRC_MONITOR_EVENTS_SENTENCE_H
#define CRN_SRC_MONITOR_EVENTS_SENTENCE_H

#include <stddef.h>

#include "src/monitor/events/reasons.h"

CRN_C_BEGIN

/* "running, nothing out of the ordinary", or the state and the reasons that fit into `size` bytes.
 */
void crn_sentence_write(const crn_observation *observation, char *text, size_t size);

CRN_C_END

#endif
