#include "src/http/assets.h"
#include "tools/workbench/requests.h"

/* The files of page/: a symbol, the name, the media type. */
#define FILES(USE)                                                                                 \
    USE(workbench_index, "index.html", CRN_ASSET_HTML)                                             \
    USE(workbench_css, "workbench.css", CRN_ASSET_STYLE)                                           \
    USE(workbench_js, "workbench.js", CRN_ASSET_SCRIPT)                                            \
    USE(workbench_api, "api.js", CRN_ASSET_SCRIPT)                                                 \
    USE(workbench_files, "files.js", CRN_ASSET_SCRIPT)                                             \
    USE(workbench_controls, "controls.js", CRN_ASSET_SCRIPT)                                       \
    USE(workbench_pixels, "pixels.js", CRN_ASSET_SCRIPT)                                           \
    USE(workbench_viewer, "viewer.js", CRN_ASSET_SCRIPT)                                           \
    USE(workbench_operator, "operator/operator.js", CRN_ASSET_SCRIPT)                              \
    USE(workbench_options, "operator/options.js", CRN_ASSET_SCRIPT)                                \
    USE(workbench_output, "operator/output.js", CRN_ASSET_SCRIPT)                                  \
    USE(workbench_result, "operator/result.js", CRN_ASSET_SCRIPT)                                  \
    USE(workbench_histogram, "operator/histogram.js", CRN_ASSET_SCRIPT)                            \
    USE(workbench_save, "operator/save.js", CRN_ASSET_SCRIPT)                                      \
    USE(workbench_timing, "timing.js", CRN_ASSET_SCRIPT)                                           \
    USE(workbench_times, "times.js", CRN_ASSET_SCRIPT)                                             \
    USE(workbench_timing_chart, "timing_chart.js", CRN_ASSET_SCRIPT)                               \
    USE(workbench_chain, "chain/chain.js", CRN_ASSET_SCRIPT)                                       \
    USE(workbench_chain_steps, "chain/steps.js", CRN_ASSET_SCRIPT)                                 \
    USE(workbench_chain_picture, "chain/picture.js", CRN_ASSET_SCRIPT)                             \
    USE(workbench_chain_times, "chain/warm_times.js", CRN_ASSET_SCRIPT)                            \
    USE(workbench_compare, "compare/compare.js", CRN_ASSET_SCRIPT)                                 \
    USE(workbench_compare_outlines, "compare/outlines.js", CRN_ASSET_SCRIPT)                       \
    USE(workbench_compare_values, "compare/values.js", CRN_ASSET_SCRIPT)                           \
    USE(workbench_compare_results, "compare/results.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_levels, "levels/levels.js", CRN_ASSET_SCRIPT)                                    \
    USE(workbench_levels_curve, "levels/curve.js", CRN_ASSET_SCRIPT)                               \
    USE(workbench_calibrate, "calibrate/calibrate.js", CRN_ASSET_SCRIPT)                           \
    USE(workbench_fruits, "fruits/fruits.js", CRN_ASSET_SCRIPT)                                    \
    USE(workbench_fruits_query, "fruits/query.js", CRN_ASSET_SCRIPT)                               \
    USE(workbench_fruits_bar, "fruits/bar.js", CRN_ASSET_SCRIPT)                                   \
    USE(workbench_fruits_surface, "fruits/surface.js", CRN_ASSET_SCRIPT)                           \
    USE(workbench_fruits_again, "fruits/again.js", CRN_ASSET_SCRIPT)                               \
    USE(workbench_languages, "languages.js", CRN_ASSET_SCRIPT)                                     \
    USE(workbench_operator_words_en, "words/operator_en.js", CRN_ASSET_SCRIPT)                     \
    USE(workbench_operator_words_it, "words/operator_it.js", CRN_ASSET_SCRIPT)                     \
    USE(workbench_timing_words_en, "words/timing_en.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_timing_words_it, "words/timing_it.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_chain_words_en, "words/chain_en.js", CRN_ASSET_SCRIPT)                           \
    USE(workbench_chain_words_it, "words/chain_it.js", CRN_ASSET_SCRIPT)                           \
    USE(workbench_compare_words_en, "words/compare_en.js", CRN_ASSET_SCRIPT)                       \
    USE(workbench_compare_words_it, "words/compare_it.js", CRN_ASSET_SCRIPT)                       \
    USE(workbench_calibrate_words_en, "words/calibrate_en.js", CRN_ASSET_SCRIPT)                   \
    USE(workbench_calibrate_words_it, "words/calibrate_it.js", CRN_ASSET_SCRIPT)                   \
    USE(workbench_fruits_words_en, "words/fruits_en.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_fruits_words_it, "words/fruits_it.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_levels_words_en, "words/levels_en.js", CRN_ASSET_SCRIPT)                         \
    USE(workbench_levels_words_it, "words/levels_it.js", CRN_ASSET_SCRIPT)

#define EMBED(symbol, file, media) CRN_ASSET_EMBED(symbol, CRN_WORKBENCH_PAGE_DIR "/" file)

FILES(EMBED)

static const crn_asset assets[] = {FILES(CRN_ASSET_ROW)};

const crn_asset *crn_workbench_asset(const char *name)
{
    return crn_asset_find(assets, sizeof assets / sizeof *assets, name);
}
