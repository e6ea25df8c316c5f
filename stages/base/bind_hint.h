/* Why an address could not be bound, as a hint for the user. */
#ifndef CRN_STAGES_BASE_BIND_HINT_H
#define CRN_STAGES_BASE_BIND_HINT_H

#include "stages/base/api.h"

CRN_C_BEGIN

/* `fault` is the errno of socket(2), bind(2) or listen(2). */
CRN_API const char *crn_bind_hint(int fault);

CRN_C_END

#endif
