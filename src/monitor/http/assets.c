#include "src/monitor/http/assets.h"

/* The files of page/: a symbol, the name, the media type. */
#define FILES(USE)                                                                                 \
    USE(index, "index.html", CRN_ASSET_HTML)                                                       \
    USE(fruit_html, "fruit.html", CRN_ASSET_HTML)                                                  \
    USE(live, "live.js", CRN_ASSET_SCRIPT)                                                         \
    USE(fruit, "fruit.js", CRN_ASSET_SCRIPT)                                                       \
    USE(fruit_picture, "fruit_picture.js", CRN_ASSET_SCRIPT)                                       \
    USE(chart, "latency_chart.js", CRN_ASSET_SCRIPT)                                               \
    USE(words_en, "words_en.js", CRN_ASSET_SCRIPT)                                                 \
    USE(words_it, "words_it.js", CRN_ASSET_SCRIPT)

#define EMBED(symbol, file, media) CRN_ASSET_EMBED(symbol, CRN_PAGE_DIR "/" file)

FILES(EMBED)

static const crn_asset assets[] = {FILES(CRN_ASSET_ROW)};

const crn_asset *crn_assets_find(const char *name)
{
    return crn_asset_find(assets, sizeof assets / sizeof *assets, name);
}
