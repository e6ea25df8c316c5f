#include "tests/support/surface/seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"

enum { OUTLINES_MAX = 256, POINTS_MAX = 16384 };

static const char line_file[] = "classes: [{name: rot, level: 0.5}, {name: rust, level: 0.5},\n"
                                "          {name: hail, level: 0.5}]\n"
                                "chain: [contours]\n";

void scene_seen_open(scene_seen *seen)
{
    char path[128];
    snprintf(seen->folder, sizeof seen->folder, "/tmp/cernita-surface-XXXXXX");
    assert_non_null(mkdtemp(seen->folder));
    daemon_write_config(seen->folder, "line.yaml", line_file, path);
    assert_int_equal(crn_context_open(NULL, &seen->context), 0);
    if (crn_chain_open(seen->context, path, &seen->chain) != 0)
        fail_msg("%s", crn_context_error(seen->context));
    for (int i = 0; i < SCENE_VIEWS; i++) {
        seen->defects[i].defects = malloc(OUTLINES_MAX * sizeof(crn_defect));
        seen->defects[i].xy = malloc(2 * POINTS_MAX * sizeof(float));
    }
}

void scene_seen_close(scene_seen *seen)
{
    char command[128];
    for (int i = 0; i < SCENE_VIEWS; i++) {
        free(seen->defects[i].defects);
        free(seen->defects[i].xy);
    }
    crn_chain_free(&seen->chain);
    crn_context_free(&seen->context);
    snprintf(command, sizeof command, "rm -r %s", seen->folder);
    assert_int_equal(system(command), 0);
}

/* The chain's result lasts until its next call. */
static void keep(const crn_defects *found, crn_defects *kept)
{
    assert_in_range(found->defect_count, 0, OUTLINES_MAX);
    assert_in_range(found->point_count, 0, POINTS_MAX);
    memcpy(kept->defects, found->defects, found->defect_count * sizeof *found->defects);
    memcpy(kept->xy, found->xy, 2 * found->point_count * sizeof *found->xy);
    kept->defect_count = found->defect_count;
    kept->point_count = found->point_count;
}

void scene_look(scene_seen *seen, const scene_fruit *fruit)
{
    seen->view_count = fruit->view_count;
    for (int i = 0; i < fruit->view_count; i++) {
        const crn_defects *found;
        scene_render(fruit, i, seen->maps[i]);
        crn_image maps = crn_image_dense(seen->maps[i], CRN_F32, CRN_CHW, SCENE_CLASSES,
                                         SCENE_HEIGHT, SCENE_WIDTH);
        assert_int_equal(crn_chain_judge(seen->chain, &maps, NULL, &found), 0);
        keep(found, &seen->defects[i]);
        seen->views[i] = (crn_surface_view){
            .pose = scene_pose(fruit, i),
            .mm_per_px = fruit->mm_per_px,
            .height = SCENE_HEIGHT,
            .width = SCENE_WIDTH,
            .defects = &seen->defects[i],
        };
    }
}

crn_surface_settings scene_settings(double distance_mm)
{
    return (crn_surface_settings){
        .distance_mm = distance_mm,
        .classes = SCENE_CLASSES,
        .views = SCENE_VIEWS,
        .defects = SCENE_VIEWS * OUTLINES_MAX,
        .points = SCENE_VIEWS * POINTS_MAX,
    };
}
