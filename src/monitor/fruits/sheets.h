/*
 * Contact sheets: the photographs of a fruit's views as one PNG file, one below the other, which
 * pages load by number. The last ones are kept in memory. Used by the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_SHEETS_H
#define CRN_SRC_MONITOR_FRUITS_SHEETS_H

#include "src/monitor/fruits/live_photos.h"

CRN_C_BEGIN

/* Sheets kept: those of the fruits that the live page shows, and some of single fruits. */
#define CRN_SHEETS_MAX   24
#define CRN_SHEETS_BYTES (UINT64_C(16) << 20) /* of all together; usual ones take 0.2 MB */

typedef struct crn_sheets crn_sheets;

/* A PNG file, which readers share. */
typedef struct crn_sheet_file crn_sheet_file;

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
    crn_sheet_file *file;
} crn_sheet;

/* Returns 0 or -ENOMEM. */
int crn_sheets_create(crn_sheets **ret_sheets);
void crn_sheets_free(crn_sheets **sheets); /* call it after the last reader; NULL is allowed */

/* Makes a sheet, which takes the place of the oldest ones; valid until the next call. Photographs
 * for which it would become too large are left out. NULL: there is none, memory is short, or
 * readers hold too many files. */
const crn_sheet *crn_sheets_add(crn_sheets *sheets, const crn_photo_set *set);

/* NULL: it is not kept, or never was. Of several of a fruit the latest. */
const crn_sheet *crn_sheets_of(const crn_sheets *sheets, uint32_t lane, uint64_t epoch,
                               uint64_t fruit);
const crn_sheet *crn_sheets_find(const crn_sheets *sheets, uint64_t number);

/* For one reader: the file, valid until crn_sheet_let_go() is called with what this returns. It
 * counts against CRN_SHEETS_BYTES until then. */
crn_sheet_file *crn_sheet_hold(const crn_sheet *sheet, const void **ret_png, size_t *ret_size);
void crn_sheet_let_go(void *file);

CRN_C_END

#endif
