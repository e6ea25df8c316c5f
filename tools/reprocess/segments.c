#include "tools/reprocess/segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "stages/base/fnv.h"

/* Of the first view: two recordings that begin with the same message are copies. The hash of its
 * pixels is part of it, since synthetic recordings may agree in all else. */
static uint64_t identify(const crn_recorded_view *view)
{
    unsigned char header[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(&view->header, header);
    uint64_t hash = crn_fnv1a(CRN_FNV1A_START, header, sizeof header);
    hash = crn_fnv1a(hash, &view->arrived_ns, sizeof view->arrived_ns);
    hash = crn_fnv1a(hash, view->maps, (size_t)view->header.payload_bytes);
    return hash ? hash : 1;
}

/* Reads what is needed of the first view. 0, or a negative errno with one line in *error. */
static int read_first(crn_reprocess_segment *segment, crn_error *error)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    int r = crn_recording_open(segment->path, &reader, error);
    if (r == 0)
        r = crn_recording_next(reader, &view, error);
    if (r > 0) {
        segment->first_ns = view.arrived_ns;
        segment->identity = identify(&view);
        r = 0;
    }
    crn_recording_end(&reader);
    return r;
}

static int32_t find_same(const crn_reprocess_segments *segments, int32_t index)
{
    uint64_t identity = segments->items[index].identity;
    for (int32_t i = 0; i < index && identity; i++)
        if (segments->items[i].identity == identity)
            return segments->items[i].same_as < 0 ? i : segments->items[i].same_as;
    return -1;
}

int crn_reprocess_segments_open(char *const paths[], int32_t count,
                                crn_reprocess_segments *ret_segments, crn_error *error)
{
    crn_reprocess_segments segments = {calloc((size_t)count, sizeof *segments.items), count};
    int r = segments.items ? 0 : -ENOMEM;
    for (int32_t i = 0; i < count && r == 0; i++) {
        crn_reprocess_segment *segment = &segments.items[i];
        crn_error fault;
        segment->path = paths[i];
        segment->fault = read_first(segment, &fault);
        segment->same_as = find_same(&segments, i);
        segment->why = segment->fault < 0 ? strdup(fault.text) : NULL;
        r = segment->fault < 0 && !segment->why ? -ENOMEM : 0;
    }
    if (r < 0) {
        crn_reprocess_segments_close(&segments);
        return crn_error_set(error, r, "no memory for %d recordings", count);
    }
    *ret_segments = segments;
    return 0;
}

void crn_reprocess_segments_close(crn_reprocess_segments *segments)
{
    for (int32_t i = 0; segments->items && i < segments->count; i++)
        free(segments->items[i].why);
    free(segments->items);
    *segments = (crn_reprocess_segments){0};
}
