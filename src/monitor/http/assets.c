#include "src/monitor/http/assets.h"

#include <string.h>

#include "src/monitor/http/embed.h"

CRN_EMBED(index, CRN_PAGE_DIR "/index.html")
CRN_EMBED(fruit_html, CRN_PAGE_DIR "/fruit.html")
CRN_EMBED(style, CRN_PAGE_DIR "/style.css")
CRN_EMBED(live, CRN_PAGE_DIR "/live.js")
CRN_EMBED(fruit, CRN_PAGE_DIR "/fruit.js")
CRN_EMBED(fruit_picture, CRN_PAGE_DIR "/fruit_picture.js")
CRN_EMBED(chart, CRN_PAGE_DIR "/latency_chart.js")
CRN_EMBED(frame, CRN_PAGE_DIR "/frame.js")
CRN_EMBED(words, CRN_PAGE_DIR "/words.js")
CRN_EMBED(words_en, CRN_PAGE_DIR "/words_en.js")
CRN_EMBED(words_it, CRN_PAGE_DIR "/words_it.js")
CRN_EMBED(licences, CRN_PAGE_DIR "/licences.txt")
CRN_EMBED(icon, CRN_PAGE_DIR "/icon.svg")
CRN_EMBED(chart_library, CRN_CHART_JS)

#define HTML   "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define ASSET(address, media, symbol)                                                              \
    {                                                                                              \
        .name = address, .type = media, .start = crn_asset_##symbol,                               \
        .end = crn_asset_##symbol##_end                                                            \
    }

static const crn_asset assets[] = {
    ASSET("index.html", HTML, index),
    ASSET("fruit.html", HTML, fruit_html),
    ASSET("style.css", "text/css; charset=utf-8", style),
    ASSET("live.js", SCRIPT, live),
    ASSET("fruit.js", SCRIPT, fruit),
    ASSET("fruit_picture.js", SCRIPT, fruit_picture),
    ASSET("latency_chart.js", SCRIPT, chart),
    ASSET("frame.js", SCRIPT, frame),
    ASSET("words.js", SCRIPT, words),
    ASSET("words_en.js", SCRIPT, words_en),
    ASSET("words_it.js", SCRIPT, words_it),
    ASSET("licences.txt", "text/plain; charset=utf-8", licences),
    ASSET("icon.svg", "image/svg+xml", icon),
    ASSET("chart.js", SCRIPT, chart_library),
};

const crn_asset *crn_assets_find(const char *name)
{
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}
