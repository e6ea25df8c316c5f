/* What a line accepts of a view, by its settings. No sockets. */
#ifndef CRN_SRC_INGEST_WIRE_RULES_H
#define CRN_SRC_INGEST_WIRE_RULES_H

#include "stages/config/config.h"
#include "stages/stage/classes.h"
#include "src/formats/view/wire.h"

/* `config` is resolved; views in slots are not accepted, unless the caller sets that. */
crn_wire_rules crn_ingest_wire_rules(const crn_config *config);

#endif
