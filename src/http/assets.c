#include "src/http/assets.h"

#include <string.h>

/* A symbol, the name in addresses, the media type, the path. */
#define FILES(USE)                                                                                 \
    USE(style, "style.css", CRN_ASSET_STYLE, CRN_SHARED_PAGE_DIR "/style.css")                     \
    USE(report, "report.css", CRN_ASSET_STYLE, CRN_SHARED_PAGE_DIR "/report.css")                  \
    USE(frame, "frame.js", CRN_ASSET_SCRIPT, CRN_SHARED_PAGE_DIR "/frame.js")                      \
    USE(words, "words.js", CRN_ASSET_SCRIPT, CRN_SHARED_PAGE_DIR "/words.js")                      \
    USE(surface_map, "surface/map.js", CRN_ASSET_SCRIPT, CRN_SHARED_PAGE_DIR "/surface/map.js")    \
    USE(surface_measures, "surface/measures.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/measures.js")                                                \
    USE(surface_svg, "surface/svg.js", CRN_ASSET_SCRIPT, CRN_SHARED_PAGE_DIR "/surface/svg.js")    \
    USE(surface_words, "surface/words.js", CRN_ASSET_SCRIPT,                                       \
        CRN_SHARED_PAGE_DIR "/surface/words.js")                                                   \
    USE(surface_words_de, "surface/words_de.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/words_de.js")                                                \
    USE(surface_words_en, "surface/words_en.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/words_en.js")                                                \
    USE(surface_words_es, "surface/words_es.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/words_es.js")                                                \
    USE(surface_words_fr, "surface/words_fr.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/words_fr.js")                                                \
    USE(surface_words_it, "surface/words_it.js", CRN_ASSET_SCRIPT,                                 \
        CRN_SHARED_PAGE_DIR "/surface/words_it.js")                                                \
    USE(icon, "icon.svg", "image/svg+xml", CRN_SHARED_PAGE_DIR "/icon.svg")                        \
    USE(licences, "licences.txt", "text/plain; charset=utf-8",                                     \
        CRN_SHARED_PAGE_DIR "/licences.txt")                                                       \
    USE(chart_library, "chart.js", CRN_ASSET_SCRIPT, CRN_CHART_JS)

#define EMBED(symbol, file, media, path) CRN_ASSET_EMBED(symbol, path)
#define ROW(symbol, file, media, path)   CRN_ASSET_ROW(symbol, file, media)

FILES(EMBED)

static const crn_asset shared[] = {FILES(ROW)};

static const crn_asset *find(const crn_asset *assets, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

const crn_asset *crn_asset_find(const crn_asset *own, size_t count, const char *name)
{
    const crn_asset *asset = find(own, count, name);
    return asset ? asset : find(shared, sizeof shared / sizeof *shared, name);
}
