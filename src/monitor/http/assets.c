#include "src/monitor/http/assets.h"

#include <string.h>

/* The bytes of a file, from crn_asset_NAME to crn_asset_NAME_end. CMakeLists.txt defines where the
 * files lie, and builds this anew when one changes. */
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl crn_asset_" #name "\n"                                                         \
            "crn_asset_" #name ":\n"                                                               \
            ".incbin \"" path "\"\n"                                                               \
            ".globl crn_asset_" #name "_end\n"                                                     \
            "crn_asset_" #name "_end:\n"                                                           \
            ".popsection\n");                                                                      \
    extern const unsigned char crn_asset_##name[], crn_asset_##name##_end[];

EMBED(index, CRN_PAGE_DIR "/index.html")
EMBED(fruit_html, CRN_PAGE_DIR "/fruit.html")
EMBED(style, CRN_PAGE_DIR "/style.css")
EMBED(live, CRN_PAGE_DIR "/live.js")
EMBED(fruit, CRN_PAGE_DIR "/fruit.js")
EMBED(fruit_picture, CRN_PAGE_DIR "/fruit_picture.js")
EMBED(chart, CRN_PAGE_DIR "/latency_chart.js")
EMBED(frame, CRN_PAGE_DIR "/frame.js")
EMBED(words, CRN_PAGE_DIR "/words.js")
EMBED(words_en, CRN_PAGE_DIR "/words_en.js")
EMBED(words_it, CRN_PAGE_DIR "/words_it.js")
EMBED(licences, CRN_PAGE_DIR "/licences.txt")
EMBED(icon, CRN_PAGE_DIR "/icon.svg")
EMBED(chart_library, CRN_CHART_JS)

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
