/* Descriptors enough for every connection that limits.peers allows: libzmq and the recorder need
 * theirs, too. */
#ifndef CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H
#define CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H

#include <stdint.h>

#include "src/config/config.h"

/* How many these settings need. */
int64_t crn_descriptors_needed(const crn_config *config);

/*
 * Raises the process's soft limit of open files as far as its settings need it and the hard limit
 * allows. Where that is too little, lowers config->limits.peers to what fits, with a line in the
 * log.
 */
void crn_descriptors_reserve(crn_config *config);

#endif
