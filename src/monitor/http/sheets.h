/*
 * Contact sheets: the photographs of a fruit's views as one PNG file, one below the other, which
 * pages load by number. The last ones are kept in memory. Used by the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_HTTP_SHEETS_H
#define CRN_SRC_MONITOR_HTTP_SHEETS_H

#include "src/monitor/live_photos.h"

CRN_C_BEGIN

/* Sheets kept: those of the fruits that the live page shows, and some of single fruits. */
#define CRN_SHEETS_MAX   24
#define CRN_SHEETS_BYTES (UINT64_C(16) << 20) /* of all together; usual ones take 0.2 MB */

typedef struct crn_sheets crn_sheets;

/* Where a view's photograph lies in a sheet. */
typedef struct crn_sheet_part {
    uint16_t view;
    uint32_t y_px, height_px, width_px;
} crn_sheet_part;

typedef struct crn_sheet {
    uint64_t number; /* 1, 2, …; 0: none */
    uint32_t lane;
    uint64_t epoch, fruit;
    uint32_t part_count;
    crn_sheet_part parts[CRN_FRUIT_VIEWS_MAX];
    unsigned char *png;
    size_t size;
} crn_sheet;

/* Returns 0 or -ENOMEM. */
int crn_sheets_create(crn_sheets **ret_sheets);
void crn_sheets_free(crn_sheets **sheets); /* NULL is allowed */

/* Makes a sheet, which takes the place of the oldest; valid until the next call. NULL: there is
 * no photograph, or memory is short. */
const crn_sheet *crn_sheets_add(crn_sheets *sheets, const crn_photo_set *set);

/* NULL: it is not kept, or never was. */
const crn_sheet *crn_sheets_of(const crn_sheets *sheets, uint32_t lane, uint64_t epoch,
                               uint64_t fruit);
const crn_sheet *crn_sheets_find(const crn_sheets *sheets, uint64_t number);

CRN_C_END

#endif
