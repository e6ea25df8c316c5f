#include "tools/bench/line/defects.h"

#include <errno.h>
#include <stdlib.h>

int crn_bench_defects_create(const crn_config *config, crn_defects *ret_defects)
{
    crn_defects defects = {.defect_capacity = (uint32_t)config->limits.defects,
                           .point_capacity = (uint32_t)config->limits.points};
    defects.texture_capacity = defects.defect_capacity * crn_config_textures(config);
    defects.defects = malloc(defects.defect_capacity * sizeof(crn_defect));
    defects.xy = malloc(defects.point_capacity * 2 * sizeof(float));
    defects.textures = malloc((defects.texture_capacity + 1) * sizeof(crn_texture));
    *ret_defects = defects;
    return defects.defects && defects.xy && defects.textures ? 0 : -ENOMEM;
}

void crn_bench_defects_free(crn_defects *defects)
{
    free(defects->defects);
    free(defects->xy);
    free(defects->textures);
    *defects = (crn_defects){.defect_count = 0};
}
