#include "tools/workbench/levels/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "tools/common/cores.h"
#include "tools/common/recordings.h"
#include "tools/workbench/levels/report.h"

/* The chain without --config. */
#define CHAIN "chain: [{contours: {border: closed, min_area_px: 4}}]\n"

/* A line's file of the classes that the recording names. */
static int write_config(const char *path, char **ret_yaml, size_t *ret_bytes, crn_error *error)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    int r = crn_recording_open(path, &reader, error);
    if (r == 0)
        r = crn_recording_skip(reader, &view, error);
    const crn_classes *classes = r == 1 ? crn_recording_classes(reader) : NULL;
    if (r == 1 && !classes)
        r = crn_error_set(error, -EINVAL,
                          "%s: does not name its classes: name the line's file with --config",
                          path);
    else if (r == 0)
        r = crn_error_set(error, -EINVAL, "%s: has no view", path);
    FILE *out = r == 1 ? open_memstream(ret_yaml, ret_bytes) : NULL;
    if (r == 1 && !out)
        r = crn_error_set(error, -ENOMEM, "%s: no memory for its classes", path);
    if (out) {
        static crn_level_counts none; /* large; what is outlined nowhere keeps its level */
        crn_classes all = *classes;
        for (int32_t i = 0; i < all.count; i++)
            all.level[i] = 0.5;
        crn_levels_print_yaml(&none, &all, CRN_RECALL_NONE, out);
        fputs(CHAIN, out);
        fclose(out);
    }
    crn_recording_end(&reader);
    return r < 0 ? r : 0;
}

static int read_config(const crn_levels_options *options, const char *recording,
                       crn_config *ret_config, crn_error *error)
{
    char *yaml = NULL;
    size_t bytes = 0;
    int r = 0;
    if (options->config) {
        r = crn_config_load(options->config, stderr, ret_config);
        if (r < 0)
            crn_error_set(error, r, "%s: is not a line's file that can be used", options->config);
    } else {
        r = write_config(recording, &yaml, &bytes, error);
        if (r == 0)
            r = crn_config_parse(recording, yaml, bytes, stderr, ret_config);
        free(yaml);
    }
    if (r == 0) {
        ret_config->run.workers = 1;
        crn_config_resolve(ret_config, crn_core_count());
    }
    return r;
}

static int write_curves(const char *path, const crn_level_counts *levels,
                        const crn_classes *classes, crn_error *error)
{
    FILE *out = fopen(path, "we");
    if (out)
        crn_levels_print_curves(levels, classes, out);
    if (!out || ferror(out) | fclose(out))
        return crn_error_set(error, -EIO, "%s: cannot be written: %s", path, strerror(errno));
    return 0;
}

static void tell(const crn_tool *tool, const crn_level_counts *levels)
{
    printf("%" PRIu64 " views, %" PRIu64 " of them labelled, %" PRIu64 " with masks\n\n",
           levels->views, levels->labelled_views, levels->masks);
    if (levels->unused_labels)
        crn_tool_note(tool, "%" PRIu64 " labels are of views that the recordings do not have",
                      levels->unused_labels);
    if (levels->truncated)
        crn_tool_note(tool,
                      "%" PRIu64 " runs found more outlines than limits.defects or limits.points "
                      "allow; the rest did not count: raise them with --config",
                      levels->truncated);
}

static int sweep(const crn_tool *tool, const crn_levels_options *options, crn_config *config,
                 const crn_recordings *recordings, crn_error *error)
{
    crn_labels labels = {0};
    crn_level_counts *levels = calloc(1, sizeof *levels);
    int r = levels ? 0 : crn_error_set(error, -ENOMEM, "no memory for levels");
    if (r == 0)
        r = crn_labels_read(options->labels, &config->classes, &labels, error);
    if (r == 0)
        r = crn_levels_sweep(config, (const char *const *)recordings->paths, recordings->count,
                             &labels, levels, error);
    if (r == 0 && !levels->labelled_views)
        r = crn_error_set(error, -EINVAL, "%s: has no label of a view of the recordings",
                          options->labels);
    if (r == 0 && options->curves)
        r = write_curves(options->curves, levels, &config->classes, error);
    if (r == 0) {
        tell(tool, levels);
        crn_levels_print_table(levels, &config->classes, options->recall, stdout);
        putchar('\n');
        crn_levels_print_yaml(levels, &config->classes, options->recall, stdout);
    }
    crn_labels_free(&labels);
    free(levels);
    return r;
}

int crn_levels_command(const crn_tool *tool, const crn_levels_options *options,
                       const char *const recordings[], int count)
{
    crn_recordings list = {0};
    crn_config config = {0};
    crn_error error = {0};
    int r = crn_recordings_list(recordings, count, &list, &error);
    if (r == 0)
        r = read_config(options, list.paths[0], &config, &error);
    if (r == 0)
        r = sweep(tool, options, &config, &list, &error);
    crn_config_done(&config);
    crn_recordings_free(&list);
    return r < 0 ? crn_tool_fail(tool, "%s", error.text) : 0;
}
