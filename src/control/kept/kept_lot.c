#include "src/control/kept/kept_lot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/control/kept/kept_file.h"
#include "stages/base/log.h"

#define SINCE_BYTES 24

/* The lot's file, with values that are read to and written from `lot` and `since`. */
#define LOT_FILE(lot, since)                                                                       \
    (&(crn_kept_file){.name = "lot",                                                               \
                      .values =                                                                    \
                          (crn_kept_value[]){{"lot", (lot)->id, sizeof(lot)->id},                  \
                                             {"grower", (lot)->grower, sizeof(lot)->grower},       \
                                             {"variety", (lot)->variety, sizeof(lot)->variety},    \
                                             {"since", since, SINCE_BYTES}},                       \
                      .count = 4})

int crn_kept_lot_write(const char *dir, const char *line_file, const crn_lot *lot, crn_error *error)
{
    crn_lot kept = *lot;
    char since[SINCE_BYTES];
    snprintf(since, sizeof since, "%" PRId64, lot->since_s);
    return crn_kept_file_write(dir, line_file, LOT_FILE(&kept, since), error);
}

static int read_kept(const crn_config *config, crn_lot *lot, crn_error *error)
{
    const char *dir = config->state.dir;
    char since[SINCE_BYTES];
    int r = crn_kept_file_read(dir, config->file, LOT_FILE(lot, since), error);
    if (r == 0 && faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) < 0)
        r = crn_error_set(error, -errno,
                          "%s cannot be written to (%s), so the lot kept there may be an old one",
                          dir, strerror(errno));
    if (r == 0)
        lot->since_s = strtoll(since, NULL, 10);
    return r;
}

void crn_kept_lot_resume(const crn_config *config, crn_lot *ret_lot)
{
    crn_lot lot = {.id = ""};
    crn_error error = {""};
    int r = config->state.dir[0] ? read_kept(config, &lot, &error) : -ENOENT;
    /* Without a folder a line never had a lot, or lost all that it keeps: kept_recipe.c says so. */
    *ret_lot = r == 0 ? lot : (crn_lot){.is_lost = r != -ENOENT && r != -ENOTDIR};
    if (r == 0 && lot.id[0])
        crn_log(CRN_LOG_INFO, "lot: '%s' goes on, as before the start", lot.id);
    else if (ret_lot->is_lost)
        crn_log(CRN_LOG_ERROR,
                "lot: what was in force before the start is not certain: %s; fruits have no lot "
                "until it is chosen again (cernitactl lot ID, or --end)",
                error.text);
}
