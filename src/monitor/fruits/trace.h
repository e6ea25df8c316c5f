/*
 * The last seconds of the line as a trace in Chrome's format, for ui.perfetto.dev or
 * chrome://tracing: a row per worker and per stream of a device, a span per view and step, fruits
 * as spans of their own, and an arrow from each view to its fruit's verdict.
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
#ifndef CRN_SRC_MONITOR_FRUITS_TRACE_H
#define CRN_SRC_MONITOR_FRUITS_TRACE_H

#include "src/monitor/fruits/flight.h"
#include "src/formats/encoding/encoder.h"

CRN_C_BEGIN

/* The trace begins so long before the last verdict, */
#define CRN_TRACE_NS (5 * CRN_NS_PER_S)
/* or with the fruits that have so many views together. */
#define CRN_TRACE_VIEWS 1024
/* Time of the first event. Longer than any span, so that the difference of two times is exact. */
#define CRN_TRACE_BEGIN_NS (10 * CRN_NS_PER_S)

/* Writes the trace of what the flight recorder keeps. `encoder`: JSON, between its begin and end.
 */
void crn_trace_emit(const crn_config *config, const crn_flight *flight, crn_encoder *encoder);

CRN_C_END

#endif
