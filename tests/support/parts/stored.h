/* Defects of a view in a result store, as a worker and the line's thread put them there. */
#ifndef CRN_TESTS_SUPPORT_STORED_H
#define CRN_TESTS_SUPPORT_STORED_H

#include "src/publish/packed_defects.h"

/* Packs and stores them; returns their handle. `skipped`: a bit per step of the chain. */
uint32_t crn_store_defects(const crn_config *config, crn_result_store *store,
                           const crn_defects *defects, uint32_t view, uint32_t skipped);

#endif
