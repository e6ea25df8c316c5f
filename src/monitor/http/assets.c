#include "src/monitor/http/assets.h"

/* The files of page/: a symbol, the name, the media type. */
#define FILES(USE)                                                                                 \
    USE(index, "index.html", CRN_ASSET_HTML)                                                       \
    USE(fruit_html, "fruit.html", CRN_ASSET_HTML)                                                  \
    USE(live, "live.js", CRN_ASSET_SCRIPT)                                                         \
    USE(conditions, "conditions.js", CRN_ASSET_SCRIPT)                                             \
    USE(alarms, "alarms/alarms.js", CRN_ASSET_SCRIPT)                                              \
    USE(alarm_list, "alarms/list.js", CRN_ASSET_SCRIPT)                                            \
    USE(alarm_actions, "alarms/actions.js", CRN_ASSET_SCRIPT)                                      \
    USE(alarm_sound, "alarms/sound.js", CRN_ASSET_SCRIPT)                                          \
    USE(lanes, "lanes.js", CRN_ASSET_SCRIPT)                                                       \
    USE(overview, "overview.js", CRN_ASSET_SCRIPT)                                                 \
    USE(outlets, "outlets.js", CRN_ASSET_SCRIPT)                                                   \
    USE(last_fruits, "last_fruits.js", CRN_ASSET_SCRIPT)                                           \
    USE(details, "details.js", CRN_ASSET_SCRIPT)                                                   \
    USE(history, "history.js", CRN_ASSET_SCRIPT)                                                   \
    USE(lists, "lists.js", CRN_ASSET_SCRIPT)                                                       \
    USE(fruit, "fruit.js", CRN_ASSET_SCRIPT)                                                       \
    USE(why, "fruit/why.js", CRN_ASSET_SCRIPT)                                                     \
    USE(fruit_picture, "fruit/picture.js", CRN_ASSET_SCRIPT)                                       \
    USE(chart, "latency_chart.js", CRN_ASSET_SCRIPT)                                               \
    USE(languages, "languages.js", CRN_ASSET_SCRIPT)                                               \
    USE(words_de, "words_de.js", CRN_ASSET_SCRIPT)                                                 \
    USE(words_en, "words_en.js", CRN_ASSET_SCRIPT)                                                 \
    USE(words_es, "words_es.js", CRN_ASSET_SCRIPT)                                                 \
    USE(words_fr, "words_fr.js", CRN_ASSET_SCRIPT)                                                 \
    USE(words_it, "words_it.js", CRN_ASSET_SCRIPT)

#define EMBED(symbol, file, media) CRN_ASSET_EMBED(symbol, CRN_PAGE_DIR "/" file)

FILES(EMBED)

static const crn_asset assets[] = {FILES(CRN_ASSET_ROW)};

const crn_asset *crn_assets_find(const char *name)
{
    return crn_asset_find(assets, sizeof assets / sizeof *assets, name);
}
