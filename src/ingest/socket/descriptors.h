/* Ensures file descriptors for every connection that limits.peers allows;
 * libzmq and the recorder need some, too. */
#ifndef CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H
#define CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H

#include <stdint.h>

#include "src/config/config.h"

/* Number of descriptors that these settings need. */
int64_t crn_descriptors_needed(const crn_config *config);

/* Raises the process's soft limit of open files as far as the settings need it and the hard limit
 * allows. If that is too low, reduces config->limits.peers to what fits and logs it. */
void crn_descriptors_reserve(crn_config *config);

#endif
