#include "src/line/outputs.h"

#include <errno.h>
#include <stdlib.h>

#include "src/publish/packed_defects.h"
#include "src/surface/pose.h"

/* Reserved per fruit for results, on average, in MessagePack and in JSON; one view may take as much
 * as the limits allow. */
#define RESULT_BYTES_PER_FRUIT      131072
#define JSON_RESULT_BYTES_PER_FRUIT 262144

typedef struct crn_line_extra {
    crn_defects_packer *packer;
    crn_pose_finder *finder;
    bool has_pose;            /* of the view at hand: its fruit is measured */
    crn_values_sample sample; /* of a view whose values the worker checks */
} crn_line_extra;

static void free_extra(void *extra)
{
    crn_line_extra *it = extra;
    if (!it)
        return;
    crn_defects_packer_free(&it->packer);
    crn_pose_finder_free(&it->finder);
    free(it);
}

static int create_extra(const crn_config *config, void **ret_extra)
{
    crn_line_extra *it = calloc(1, sizeof *it);
    int r = it ? crn_defects_packer_create(config, &it->packer) : -ENOMEM;
    if (r == 0)
        r = crn_pose_finder_create(config, &it->finder);
    if (r < 0)
        free_extra(it);
    else
        *ret_extra = it;
    return r;
}

static int run(crn_output *output)
{
    crn_line_extra *it = output->extra;
    const crn_view *view = output->view;
    if (view->check)
        it->sample = output->probe ? crn_values_sample_of(&view->header, output->probe)
                                   : crn_values_take_sample(&view->header, view->maps);
    it->has_pose = view->config && crn_config_measures(view->config);
    if (it->has_pose) {
        output->judgement.pose_ns = crn_pose_find(it->finder, view, &output->defects);
        output->judgement.defect_count = output->defects.defect_count;
    }
    return crn_defects_pack(it->packer, &output->defects,
                            it->has_pose ? crn_pose_on_fruit(it->finder) : NULL, view->header.view,
                            output->judgement.skipped, view);
}

const crn_values_sample *crn_line_sample(const crn_output *output)
{
    const crn_line_extra *it = output->extra;
    return &it->sample;
}

const crn_output_hook crn_line_hook = {.create = create_extra, .free = free_extra, .run = run};

static int store_result(crn_result_store *store, const crn_output *output, uint32_t *ret_handle)
{
    const crn_line_extra *it = output->extra;
    crn_result_part parts[CRN_POSE_PARTS];
    if (it->has_pose)
        crn_pose_parts(it->finder, &output->defects, parts);
    return crn_packed_defects_put_with(it->packer, parts, it->has_pose ? CRN_POSE_PARTS : 0, store,
                                       ret_handle);
}

crn_judgement crn_line_keep(crn_result_store *store, const crn_output *output)
{
    crn_judgement judgement = output->judgement;
    judgement.on_device = output->on_device;
    if (store_result(store, output, &judgement.result) < 0) {
        judgement.result = CRN_RESULT_NONE;
        judgement.defect_count = 0;
        judgement.truncated = true;
    }
    return judgement;
}

size_t crn_line_store_bytes(const crn_config *config)
{
    bool json = config->publish.grader.format == CRN_FORMAT_JSON ||
                config->publish.viewers.format == CRN_FORMAT_JSON;
    return (size_t)config->limits.open_fruits *
               (RESULT_BYTES_PER_FRUIT + (json ? JSON_RESULT_BYTES_PER_FRUIT : 0)) +
           4 * crn_defects_packer_bytes(config);
}
