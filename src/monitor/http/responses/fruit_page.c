#include "src/monitor/http/responses/fruit_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict_log/format.h"
#include "src/formats/encoding/messagepack_json.h"

/* Makes a sheet of the photographs among the kept maps; NULL: there are none. */
static const crn_sheet *sheet_kept(crn_kept_maps *maps, crn_sheets *sheets,
                                   const crn_kept_fruit *name)
{
    crn_photo_set set = {.lane = name->lane, .epoch = name->epoch, .fruit = name->fruit};
    crn_kept_copy copy = {.bytes = NULL};
    unsigned char *pixels = malloc(CRN_LIVE_PHOTOS_BYTES);
    size_t used = 0;
    uint32_t first = 0;
    while (pixels && set.count < CRN_FRUIT_VIEWS_MAX &&
           crn_kept_maps_copy_photo(maps, name, first, &copy) == 1) {
        const crn_view_header *header = &copy.header;
        first = header->view + 1u;
        if (copy.size == 0 || copy.size > CRN_LIVE_PHOTOS_BYTES - used)
            continue;
        memcpy(pixels + used, copy.bytes, copy.size);
        set.photos[set.count++] = (crn_view_photo){.view = header->view,
                                                   .height_px = header->height,
                                                   .width_px = header->width,
                                                   .pixels = pixels + used};
        used += copy.size;
    }
    const crn_sheet *sheet = set.count > 0 ? crn_sheets_add(sheets, &set) : NULL;
    free(copy.bytes);
    free(pixels);
    return sheet;
}

static const crn_sheet_part *part_of(const crn_sheet *sheet, uint16_t view)
{
    for (uint32_t i = 0; sheet && i < sheet->part_count; i++)
        if (sheet->parts[i].view == view)
            return &sheet->parts[i];
    return NULL;
}

static void print_views(const crn_flight_fruit *fruit, const crn_sheet *sheet, FILE *out)
{
    fputs(",\"views\":[", out);
    for (uint32_t i = 0; i < fruit->view_count; i++) {
        const crn_flight_view *view = &fruit->views[i];
        const crn_sheet_part *part = part_of(sheet, view->number);
        fprintf(out, "%s{\"view\":%u,\"width_px\":%" PRIu32 ",\"height_px\":%" PRIu32 ",\"y_px\":",
                i > 0 ? "," : "", view->number, view->width_px, view->height_px);
        if (part)
            fprintf(out, "%" PRIu32 "}", part->y_px);
        else
            fputs("null}", out);
    }
    fputs("],\"photos\":", out);
    if (sheet)
        fprintf(out, "%" PRIu64 "}\n", sheet->number);
    else
        fputs("null}\n", out);
}

static int print(const crn_flight_fruit *fruit, const crn_sheet *sheet, FILE *out)
{
    crn_messagepack_json packed;
    crn_error error;
    const unsigned char *verdict = fruit->record + CRN_VERDICT_RECORD_BYTES;
    int r =
        crn_messagepack_json_init(&packed, verdict, fruit->size - CRN_VERDICT_RECORD_BYTES, &error);
    if (r < 0)
        return r;
    fputs("{\"verdict\":", out);
    r = crn_messagepack_json_print(&packed, out);
    crn_messagepack_json_done(&packed);
    print_views(fruit, sheet, out);
    return r;
}

struct MHD_Response *crn_fruit_page_open(const crn_flight *flight, crn_kept_maps *maps,
                                         crn_sheets *sheets, const crn_kept_fruit *name,
                                         int *ret_error)
{
    const crn_flight_fruit *fruit = crn_last_fruits_find(flight, name);
    *ret_error = 0;
    if (!fruit)
        return NULL;
    const crn_sheet *sheet = crn_sheets_of(sheets, name->lane, name->epoch, name->fruit);
    if (!sheet && maps)
        sheet = sheet_kept(maps, sheets, name);
    *ret_error = -ENOMEM;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    int r = print(fruit, sheet, out);
    struct MHD_Response *response = NULL;
    if (fclose(out) == 0 && r == 0)
        response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    return response;
}
