/*
 * What both halves of recording.h agree on: the JSON of a view's pages, and the way between the
 * wire's layout and planar pages. No files here.
 */
#ifndef CRN_SRC_RECORDING_FORMAT_H
#define CRN_SRC_RECORDING_FORMAT_H

#include "src/recording/recording.h"

#define CRN_DESCRIPTION_BYTES 1024  /* room for what the two functions below write */
#define CRN_DESCRIPTION_MAX   65536 /* a longer one is nobody's view */

/* The JSON of a view's first page and of its intensity page. */
void crn_describe_view(const crn_recorded_view *view, char text[CRN_DESCRIPTION_BYTES]);
void crn_describe_intensity(const crn_view_header *header, char text[CRN_DESCRIPTION_BYTES]);

/*
 * Reads the first page's JSON back: header (payload_bytes reckoned from the shape) and arrived_ns;
 * maps and intensity NULL. -EBADMSG with the fault, without file or page, in *fault.
 */
int crn_parse_description(const char *text, crn_recorded_view *ret_view, crn_error *fault);

/* Whether this is an intensity page's JSON. */
bool crn_is_intensity_description(const char *text);

/*
 * The transposed matrix: to[column][row] = from[row][column], elements of 1, 2 or 4 bytes. Pixels
 * by channels one way, channels by pixels the other.
 */
void crn_transpose(const void *from, void *to, size_t rows, size_t columns, size_t element_bytes);

/* payload_bytes as the shape and the type make it; 0 when a side is 0 or the product overflows. */
uint64_t crn_payload_bytes(const crn_view_header *header);

#endif
