/**
 * @file
 * A view's header as a producer of slots describes it: programs that have views with headers, such
 * as cernita-replay, put them in slots so.
 */
#ifndef CRN_SRC_FORMATS_VIEW_PRODUCED_VIEW_H
#define CRN_SRC_FORMATS_VIEW_PRODUCED_VIEW_H

#include "src/formats/view/wire.h"
#include "stages/producer/cernita_producer.h"

/**
 * The same view: its header, packed by crn_producer_pack(), has the header's bytes but for the
 * flags that name its way, slot or none.
 *
 * @param header as crn_wire_parse() gives it
 */
crn_producer_view crn_produced_view(const crn_view_header *header);

#endif
