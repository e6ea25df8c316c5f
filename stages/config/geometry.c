/* Checks section geometry, the file's and a recipe's: what is missing to measure fruits. */
#include <inttypes.h>
#include <string.h>

#include "stages/config/internal.h"

/* Without a class of that name there is no such map. */
static bool has_class(const crn_classes *classes, const char *name)
{
    for (int32_t i = 0; i < classes->count; i++)
        if (strcmp(classes->name[i], name) == 0)
            return true;
    return false;
}

static void check_fruit(crn_reader *reader, const char *path, const crn_node *map)
{
    crn_geometry_settings *geometry = &reader->config->geometry;
    const crn_node *fruit = crn_node_value(map, "fruit");
    const crn_node *from = crn_node_value(fruit, "from"), *name = crn_node_value(fruit, "class");
    const crn_node *at = name ? name : from ? from : map;
    if (name && !from)
        geometry->fruit.from = CRN_FRUIT_FROM_CLASS;
    bool by_class = geometry->fruit.from == CRN_FRUIT_FROM_CLASS;
    crn_quoted shown =
        crn_quote(geometry->fruit.class_name, strlen(geometry->fruit.class_name), '\'');
    if (by_class && !geometry->fruit.class_name[0])
        crn_diagnostics_add(reader->faults, at->position,
                            "%s.fruit.class: missing, with from: class the name of the fruit's own "
                            "class expected",
                            path);
    else if (by_class && reader->classes_good &&
             !has_class(&reader->config->classes, geometry->fruit.class_name))
        crn_diagnostics_add(reader->faults, at->position,
                            "%s.fruit.class: there is no class %s in 'classes'", path, shown.text);
    else if (!by_class && name && geometry->fruit.class_name[0])
        crn_diagnostics_add(reader->faults, at->position,
                            "%s.fruit.class: %s is not looked at, from: class expected", path,
                            shown.text);
    else if (!by_class) /* a recipe's may be the file's */
        memset(geometry->fruit.class_name, 0, sizeof geometry->fruit.class_name);
}

static void check_roll(crn_reader *reader, const char *path, const crn_node *map)
{
    const crn_geometry_settings *geometry = &reader->config->geometry;
    const crn_node *roll = crn_node_value(map, "roll_deg");
    const crn_node *estimate = crn_node_value(map, "estimate_roll");
    if (geometry->roll_deg == 0 && !geometry->estimate_roll &&
        geometry->fruit.from != CRN_FRUIT_FROM_HEADER)
        crn_diagnostics_add(reader->faults,
                            (roll       ? roll
                             : estimate ? estimate
                                        : map)
                                ->position,
                            "%s.roll_deg: 0 (unknown) without estimate_roll, so that nothing tells "
                            "how far a fruit rolls between two views; the angle, or "
                            "estimate_roll: true expected",
                            path);
}

void crn_check_geometry(crn_reader *reader, const char *path, const crn_node *map)
{
    const crn_config *config = reader->config;
    const crn_geometry_settings *geometry = &config->geometry;
    const crn_node *scale = crn_node_value(map, "mm_per_px");
    if (!map || map->kind != CRN_NODE_MAP)
        return;
    if (geometry->mm_per_px.count == 0)
        crn_diagnostics_add(reader->faults, map->position,
                            strcmp(path, "geometry") == 0
                                ? "%s.mm_per_px is missing, the scale that cernita-calibrate "
                                  "prints expected"
                                : "%s: the file has no section geometry, one with the machine's "
                                  "mm_per_px expected",
                            path);
    if (scale && geometry->mm_per_px.count > config->limits.views)
        crn_diagnostics_add(reader->faults, scale->position,
                            "geometry.mm_per_px: %d scales, at most limits.views, which is %" PRId64
                            ", expected",
                            geometry->mm_per_px.count, config->limits.views);
    check_fruit(reader, path, map);
    check_roll(reader, path, map);
}
