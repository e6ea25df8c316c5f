/*
 * Shared by the files of this folder, in processing order: tree.c (bytes to a tree, the only user
 * of libyaml), diagnostics.c, scalar.c, keys.c, chain.c, check.c. Only they and their tests include
 * it.
 */
#ifndef CRN_STAGES_CONFIG_INTERNAL_H
#define CRN_STAGES_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/config/reader.h"

/* --- the keys --- */

typedef struct crn_class_settings {
    char name[CRN_TEXT_BYTES];
    double level;
} crn_class_settings;

/* The sections of a file, in printing order. */
extern const crn_section crn_sections[];

/* The rows of section latency, over crn_latency_settings: each recipe has them, too. */
extern const crn_param crn_keys_latency[];

/* Of section geometry, what each recipe has, too: rows and subsections. */
extern const crn_param *const crn_keys_geometry_of_recipe;
extern const crn_section *const crn_sections_of_geometry;

/* The row of an entry of geometry.lanes, over crn_lane_scale. */
extern const crn_param crn_keys_lane_scale[];

/* The last row of section classes, which a recipe's classes have alone. */
extern const crn_param *const crn_keys_level;

/* Returns the section of that kind; CLASSES, CHAIN and RECIPES each occur once. */
const crn_section *crn_section_of(crn_section_kind kind);

/* --- reading --- */

/* Read the two lists; `list` NULL: it is missing, which is reported at `position`. */
void crn_read_classes(crn_reader *reader, const crn_section *section, crn_source_position position,
                      const crn_node *list);
void crn_read_chain(crn_reader *reader, const crn_section *section, crn_source_position position,
                    const crn_node *list);

/*
 * A recipe needs the file's own settings, whatever their order in the file: crn_read_recipes only
 * checks that they are a map, crn_check_recipes, called last, reads and checks them all.
 */
void crn_read_recipes(crn_reader *reader, const crn_node *map);
void crn_check_recipes(crn_reader *reader);

/* Checks latency's values among themselves; `map` is the section's node, or NULL. */
void crn_check_latency(crn_reader *reader, const crn_node *map);

/* Checks geometry's values among themselves; `map` is the section's node, or NULL, `path` names it.
 */
void crn_check_geometry(crn_reader *reader, const char *path, const crn_node *map);

/* Subsection geometry.lanes; printed only where it has entries. */
void crn_read_lane_scales(crn_reader *reader, const crn_section *section,
                          crn_source_position position, const crn_node *node);
void crn_check_lane_scales(crn_reader *reader, const crn_node *map); /* of geometry */
void crn_print_lane_scales(const crn_config *config, int indent, FILE *out);

/* The stages' own checks. */
void crn_check_stages(crn_reader *reader);

/* --- parts of a config --- */

/* Frees the steps' settings; *steps becomes 0. */
void crn_chain_done(crn_step *chain, int32_t *steps);

/* Deep copy; on -ENOMEM *ret_steps of them are there. */
int crn_chain_copy(const crn_step *chain, int32_t steps, crn_step *ret_chain, int32_t *ret_steps);

void crn_recipes_done(crn_recipes **recipes);
int crn_recipes_copy(const crn_recipes *recipes, crn_recipes **ret_copy); /* of NULL: NULL */

/* Checks what rows cannot express: dependencies between keys, endpoints, the stages' own checks. */
void crn_check_config(crn_reader *reader);

#endif
