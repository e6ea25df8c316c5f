/* Room for a chain's results. */
#ifndef CRN_TOOLS_BENCH_DEFECTS_H
#define CRN_TOOLS_BENCH_DEFECTS_H

#include "stages/chain/chain.h"

/* As much as the settings allow a view. 0 or -ENOMEM; to be freed in either case. */
int crn_bench_defects_create(const crn_config *config, crn_defects *ret_defects);
void crn_bench_defects_free(crn_defects *defects);

#endif
