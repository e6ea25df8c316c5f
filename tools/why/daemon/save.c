#include "tools/why/daemon/save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/formats/view/maps_format.h"
#include "src/formats/recording/recording.h"
#include "stages/base/little_endian.h"
#include "tools/why/daemon/download.h"
#include "src/client/fetch.h"

/* Most bytes of one fruit: the maps are read into memory. */
#define FRUIT_BYTES_MAX ((size_t)1 << 30)

/* The file being written, which is created for the first view. */
typedef struct output {
    const char *path;
    crn_recording_writer *writer;
} output;

static int write_view(output *out, const crn_recorded_view *view, crn_error *error)
{
    int r = 0;
    if (!out->writer)
        r = crn_recording_create(out->path, true, &out->writer, error);
    return r < 0 ? r : crn_recording_write(out->writer, view, error);
}

/* Parses the view at *at and passes over it. */
static int parse_view(const unsigned char **at, const unsigned char *end,
                      crn_recorded_view *ret_view)
{
    size_t left = (size_t)(end - *at);
    if (left < CRN_MAPS_HEAD_BYTES)
        return -EBADMSG;
    left -= CRN_MAPS_HEAD_BYTES;
    crn_wire_rules rules = {.max_bytes = left};
    crn_recorded_view view = {.arrived_ns = crn_get_le64(*at), .maps = *at + CRN_MAPS_HEAD_BYTES};
    if (crn_wire_parse(*at + 8, CRN_WIRE_HEADER_BYTES, &rules, &view.header) != CRN_WIRE_OK)
        return -EBADMSG;
    size_t intensity_bytes = crn_wire_intensity_bytes(&view.header);
    if (view.header.payload_bytes > left || intensity_bytes > left - view.header.payload_bytes)
        return -EBADMSG;
    const unsigned char *behind = view.maps + view.header.payload_bytes;
    view.intensity = intensity_bytes ? behind : NULL;
    *at = behind + intensity_bytes;
    *ret_view = view;
    return 0;
}

static int write_views(output *out, const char *endpoint, const unsigned char *bytes, size_t size,
                       uint64_t *views, crn_error *error)
{
    const unsigned char *at = bytes, *end = bytes + size;
    while (at < end) {
        crn_recorded_view view;
        int r = parse_view(&at, end, &view);
        if (r < 0)
            return crn_error_set(error, r, "%s: sends maps that are damaged, or of another version",
                                 endpoint);
        r = write_view(out, &view, error);
        if (r < 0)
            return r;
        ++*views;
    }
    return 0;
}

static int save_fruit(output *out, const char *endpoint, const crn_decoded *verdict,
                      crn_saved *saved, crn_error *error)
{
    char path[96], *bytes = NULL;
    size_t size;
    uint64_t views = 0;
    snprintf(path, sizeof path, CRN_MAPS_PATH "%" PRIu64 "/%" PRIu64 "/%" PRIu64, verdict->lane,
             verdict->epoch, verdict->fruit);
    crn_page page = {path, CRN_MAPS_TYPE, FRUIT_BYTES_MAX, false};
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    bool kept = r != -ENOENT;
    if (r == 0)
        r = write_views(out, endpoint, (const unsigned char *)bytes, size, &views, error);
    free(bytes);
    saved->views += views;
    saved->fruits += views > 0;
    saved->received += views > 0 ? verdict->views_received : 0;
    saved->not_kept += !kept;
    return kept ? r : 0;
}

int crn_save_maps(const char *endpoint, const crn_selection *selection, const char *path,
                  crn_saved *ret_saved, crn_error *error)
{
    output out = {.path = path};
    crn_saved saved = {0};
    int r = 0;
    for (uint32_t i = 0; i < selection->count && r == 0; i++)
        r = save_fruit(&out, endpoint, selection->items[i]->verdict, &saved, error);
    if (r < 0)
        crn_recording_discard(&out.writer);
    else
        r = crn_recording_close(&out.writer, error);
    *ret_saved = saved;
    return r;
}
