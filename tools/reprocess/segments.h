/*
 * The recordings of a run as a list of segments, in an order that every process of the run finds
 * alike. A segment is one task; its number in the list, from 1, names its result.
 */
#ifndef CRN_TOOLS_REPROCESS_SEGMENTS_H
#define CRN_TOOLS_REPROCESS_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_reprocess_segment {
    const char *path;
    uint64_t first_ns; /* arrival of its first view; 0: it has none */
    uint64_t identity; /* hash of that view's header; 0 likewise */
    int32_t same_as;   /* index of an earlier one that begins with the same view; -1: none */
    int fault;         /* 0, or the negative errno with which it cannot be read; then: */
    char *why;         /* one line, owned */
} crn_reprocess_segment;

typedef struct crn_reprocess_segments {
    crn_reprocess_segment *items; /* `count`, owned */
    int32_t count;
} crn_reprocess_segments;

/* Reads the first header of each recording; the paths must outlive the list. What cannot be read is
 * noted in its item. 0, or a negative errno with one line in *error. */
int crn_reprocess_segments_open(char *const paths[], int32_t count,
                                crn_reprocess_segments *ret_segments, crn_error *error);

/* A zeroed one is allowed. */
void crn_reprocess_segments_close(crn_reprocess_segments *segments);

/* True if the views of the segment are to be judged, or looked at by its neighbours' tasks. */
static inline bool crn_reprocess_segment_is_sound(const crn_reprocess_segment *segment)
{
    return segment->fault == 0 && segment->same_as < 0;
}

#endif
