/* Shared by reader and writer: the JSON of a view's pages, and the conversion between the wire's
 * layout and planar pages. No file access. */
#ifndef CRN_SRC_FORMATS_RECORDING_FORMAT_H
#define CRN_SRC_FORMATS_RECORDING_FORMAT_H

#include "src/formats/recording/recording.h"
#include "stages/stage/classes.h"

/* Buffer size for the two functions below: a byte of a name takes six at most. */
/* Of a view's header; the others belong to how it was sent. */
#define CRN_RECORDED_FLAGS (CRN_WIRE_FLAG_INTENSITY | CRN_WIRE_FLAG_POSE)

#define CRN_DESCRIPTION_BYTES (1024 + CRN_CLASSES_MAX * (6 * CRN_CLASS_NAME_MAX + 4))
#define CRN_DESCRIPTION_MAX   65536 /* limit for reading; longer ones are rejected */

/* Write the JSON of a view's first page and of its intensity page. `classes`: NULL or others than
 * the view's are left out. */
void crn_describe_view(const crn_recorded_view *view, const crn_classes *classes,
                       char text[CRN_DESCRIPTION_BYTES]);
void crn_describe_intensity(const crn_view_header *header, char text[CRN_DESCRIPTION_BYTES]);

/* Parses the first page's JSON: header (payload_bytes computed from the shape) and arrived_ns; maps
 * and intensity are NULL. *ret_classes has the names, if the JSON does (count 0: it does not), and
 * no levels. Returns -EBADMSG with the fault, without file or page, in *fault. */
int crn_parse_description(const char *text, crn_recorded_view *ret_view, crn_classes *ret_classes,
                          crn_error *fault);

/* True if this is the JSON of an intensity page. */
bool crn_is_intensity_description(const char *text);

/* Matrix transpose: to[column][row] = from[row][column], elements of 1, 2 or 4 bytes. Converts
 * between pixels x channels (HWC) and channels x pixels (CHW). */
void crn_transpose(const void *from, void *to, size_t rows, size_t columns, size_t element_bytes);

/* payload_bytes according to shape and type; 0 if a side is 0 or the product overflows. */
uint64_t crn_payload_bytes(const crn_view_header *header);

#endif
