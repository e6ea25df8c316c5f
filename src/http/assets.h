/* The files of a program's web pages, embedded when it is built, and those that all programs with a
 * page share (page/): styles, frame, icon, the chart library. */
#ifndef CRN_SRC_HTTP_ASSETS_H
#define CRN_SRC_HTTP_ASSETS_H

#include <stddef.h>

#include "stages/base/api.h"

CRN_C_BEGIN

typedef struct crn_asset {
    const char *name; /* of the file, as in addresses */
    const char *type; /* media type */
    const unsigned char *start, *end;
} crn_asset;

#define CRN_ASSET_HTML   "text/html; charset=utf-8"
#define CRN_ASSET_SCRIPT "text/javascript; charset=utf-8"
#define CRN_ASSET_STYLE  "text/css; charset=utf-8"

/* The bytes of a file, from crn_asset_SYMBOL to crn_asset_SYMBOL_end. CMakeLists.txt defines where
 * the files lie, and builds anew what embeds them when one changes. */
#define CRN_ASSET_EMBED(symbol, path)                                                              \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl crn_asset_" #symbol "\n"                                                       \
            "crn_asset_" #symbol ":\n"                                                             \
            ".incbin \"" path "\"\n"                                                               \
            ".globl crn_asset_" #symbol "_end\n"                                                   \
            "crn_asset_" #symbol "_end:\n"                                                         \
            ".popsection\n");                                                                      \
    extern const unsigned char crn_asset_##symbol[], crn_asset_##symbol##_end[];

/* Its row in a table. */
#define CRN_ASSET_ROW(symbol, file, media)                                                         \
    {.name = file, .type = media, .start = crn_asset_##symbol, .end = crn_asset_##symbol##_end},

/* Looks in a program's own table, then among the shared files. NULL: there is no such file. */
const crn_asset *crn_asset_find(const crn_asset *own, size_t count, const char *name);

CRN_C_END

#endif
