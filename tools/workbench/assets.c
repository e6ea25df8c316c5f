#include <string.h>

#include "src/monitor/http/assets.h"
#include "src/monitor/http/embed.h"
#include "tools/workbench/requests.h"

#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE  "text/css; charset=utf-8"
#define HTML   "text/html; charset=utf-8"

/* The files of page/: a symbol, the name, the media type. */
#define FILES(USE)                                                                                 \
    USE(workbench_index, "index.html", HTML)                                                       \
    USE(workbench_css, "workbench.css", STYLE)                                                     \
    USE(workbench_timing_chain_css, "timing_chain.css", STYLE)                                     \
    USE(workbench_js, "workbench.js", SCRIPT)                                                      \
    USE(workbench_api, "api.js", SCRIPT)                                                           \
    USE(workbench_pixels, "pixels.js", SCRIPT)                                                     \
    USE(workbench_viewer, "viewer.js", SCRIPT)                                                     \
    USE(workbench_operator, "operator.js", SCRIPT)                                                 \
    USE(workbench_options, "options.js", SCRIPT)                                                   \
    USE(workbench_result, "result.js", SCRIPT)                                                     \
    USE(workbench_histogram, "histogram.js", SCRIPT)                                               \
    USE(workbench_save, "save.js", SCRIPT)                                                         \
    USE(workbench_timing, "timing.js", SCRIPT)                                                     \
    USE(workbench_timing_chart, "timing_chart.js", SCRIPT)                                         \
    USE(workbench_chain, "chain.js", SCRIPT)                                                       \
    USE(workbench_chain_steps, "chain_steps.js", SCRIPT)                                           \
    USE(workbench_chain_picture, "chain_picture.js", SCRIPT)                                       \
    USE(workbench_words_en, "words_en.js", SCRIPT)                                                 \
    USE(workbench_words_it, "words_it.js", SCRIPT)                                                 \
    USE(workbench_operator_words_en, "operator_words_en.js", SCRIPT)                               \
    USE(workbench_operator_words_it, "operator_words_it.js", SCRIPT)                               \
    USE(workbench_timing_words_en, "timing_words_en.js", SCRIPT)                                   \
    USE(workbench_timing_words_it, "timing_words_it.js", SCRIPT)                                   \
    USE(workbench_chain_words_en, "chain_words_en.js", SCRIPT)                                     \
    USE(workbench_chain_words_it, "chain_words_it.js", SCRIPT)

#define EMBED(symbol, file, media) CRN_EMBED(symbol, CRN_WORKBENCH_PAGE_DIR "/" file)
#define ASSET(symbol, file, media)                                                                 \
    {.name = file, .type = media, .start = crn_asset_##symbol, .end = crn_asset_##symbol##_end},

FILES(EMBED)

static const crn_asset assets[] = {FILES(ASSET)};

/* Of the live page's files, those that the workbench shares. */
static const char *const shared[] = {"style.css", "frame.js", "words.js",
                                     "chart.js",  "icon.svg", "licences.txt"};

static const crn_asset *find(const char *name)
{
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (strcmp(shared[i], name) == 0)
            return crn_assets_find(name);
    return NULL;
}

bool crn_workbench_asset(const char *name, const char **ret_type, const unsigned char **ret_start,
                         size_t *ret_size)
{
    const crn_asset *asset = find(name);
    if (!asset)
        return false;
    *ret_type = asset->type;
    *ret_start = asset->start;
    *ret_size = (size_t)(asset->end - asset->start);
    return true;
}
