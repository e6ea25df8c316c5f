/* The daemon's state and what is wrong with it as one sentence, for the service manager. No
 * sockets. */
#ifndef CRN_SRC_MONITOR_EVENTS_SENTENCE_H
#define CRN_SRC_MONITOR_EVENTS_SENTENCE_H

#include <stddef.h>

#include "src/monitor/conditions/conditions.h"

CRN_C_BEGIN

/* "running, nothing out of the ordinary", or the state and the conditions that fit into `size`
 * bytes. */
void crn_sentence_write(const crn_condition_list *list, char *text, size_t size);

CRN_C_END

#endif
