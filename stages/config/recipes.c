/* Recipes: sets of levels, chain, latency and geometry, of which one at a time may replace the
 * file's own. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/internal.h"

#define PATH_BYTES 96

/* What is known of one recipe while it is read. */
typedef struct recipe_reader {
    crn_reader reader; /* its config is the file's own, with what the recipe replaces */
    const crn_node *name;
    const crn_node *classes, *chain, *latency, *geometry; /* NULL: the file's own */
    char path[PATH_BYTES];                                /* "recipes.NAME" */
} recipe_reader;

/* --- memory --- */

void crn_chain_done(crn_step *chain, int32_t *steps)
{
    for (int32_t i = 0; i < *steps; i++) {
        free(chain[i].settings);
        chain[i] = (crn_step){.stage = NULL};
    }
    *steps = 0;
}

int crn_chain_copy(const crn_step *chain, int32_t steps, crn_step *ret_chain, int32_t *ret_steps)
{
    for (*ret_steps = 0; *ret_steps < steps; ++*ret_steps) {
        const crn_step *step = &chain[*ret_steps];
        size_t bytes = step->settings ? step->stage->settings_bytes : 0;
        void *settings = bytes ? malloc(bytes) : NULL;
        if (bytes && !settings)
            return -ENOMEM;
        if (bytes)
            memcpy(settings, step->settings, bytes);
        ret_chain[*ret_steps] = *step;
        ret_chain[*ret_steps].settings = settings;
    }
    return 0;
}

void crn_recipes_done(crn_recipes **recipes)
{
    for (int32_t i = 0; *recipes && i < (*recipes)->count; i++)
        crn_chain_done((*recipes)->item[i].chain, &(*recipes)->item[i].steps);
    free(*recipes);
    *recipes = NULL;
}

int crn_recipes_copy(const crn_recipes *recipes, crn_recipes **ret_copy)
{
    *ret_copy = NULL;
    if (!recipes)
        return 0;
    crn_recipes *copy = calloc(1, sizeof *copy);
    int r = copy ? 0 : -ENOMEM;
    for (int32_t i = 0; i < recipes->count && r == 0; i++) {
        const crn_recipe *recipe = &recipes->item[i];
        copy->item[i] = *recipe;
        copy->count++;
        r = crn_chain_copy(recipe->chain, recipe->steps, copy->item[i].chain, &copy->item[i].steps);
    }
    *ret_copy = copy;
    if (r < 0)
        crn_recipes_done(ret_copy);
    return r;
}

int crn_config_use_recipe(const crn_config *config, const char *name, crn_config *ret_config)
{
    const crn_recipe *recipe = NULL;
    for (int32_t i = 0; config->recipes && i < config->recipes->count && name[0]; i++)
        if (strcmp(config->recipes->item[i].name, name) == 0)
            recipe = &config->recipes->item[i];
    if (!recipe && name[0])
        return -ENOENT;
    crn_config copy;
    int r = crn_config_copy(config, &copy);
    if (r < 0 || !recipe) {
        if (r == 0)
            *ret_config = copy;
        return r;
    }
    crn_chain_done(copy.chain, &copy.steps);
    memcpy(copy.recipe, recipe->name, sizeof copy.recipe);
    copy.classes = recipe->classes;
    copy.latency = recipe->latency;
    copy.geometry = recipe->geometry;
    r = crn_chain_copy(recipe->chain, recipe->steps, copy.chain, &copy.steps);
    if (r < 0)
        crn_config_done(&copy);
    else
        *ret_config = copy;
    return r;
}

/* --- reading --- */

void crn_read_recipes(crn_reader *reader, const crn_node *map)
{
    if (map && map->kind != CRN_NODE_MAP && map->kind != CRN_NODE_REFUSED && !crn_node_empty(map))
        crn_diagnostics_add(reader->faults, map->position,
                            "recipes: %s given, a map such as '{NAME: {classes: {rot: 0.4}}}' "
                            "expected",
                            crn_node_noun(map));
}

static bool name_is_good(const crn_reader *reader, const crn_node *name, const crn_recipes *others)
{
    crn_quoted shown = crn_quote(name->text, name->length, '\'');
    const char *fault = NULL;
    if (name->kind != CRN_NODE_SCALAR)
        fault = "is not a name, a word expected";
    else if (name->length == 0 || name->length >= CRN_RECIPE_NAME_BYTES)
        fault = "is not a name, 1 to 47 bytes expected";
    else if (name->text[0] == '-') /* cernitactl would take it for an option */
        fault = "begins with '-', a letter or digit expected";
    else if (name->text[0] == ' ' || name->text[name->length - 1] == ' ')
        fault = "begins or ends with a blank, none expected";
    for (size_t at = 0, length; !fault && at < name->length; at += length) {
        int32_t character = crn_utf8_read(name->text + at, name->length - at, &length);
        if (character < 0 || !crn_utf8_prints(character))
            fault = "holds characters that cannot be printed";
    }
    for (int32_t i = 0; !fault && i < others->count; i++)
        if (strcmp(others->item[i].name, name->text) == 0)
            fault = "is a duplicate, unique names expected";
    if (fault)
        crn_diagnostics_add(reader->faults, name->position, "recipes: %s %s",
                            name->kind == CRN_NODE_SCALAR ? shown.text : crn_node_noun(name),
                            fault);
    return !fault;
}

/* Finds the recipe's sections; reports all other keys. */
static void find_sections(recipe_reader *self, const crn_node *map)
{
    static const char *const keys[] = {"classes", "chain", "latency", "geometry"};
    const crn_node **const found[] = {&self->classes, &self->chain, &self->latency,
                                      &self->geometry};
    const size_t count = sizeof keys / sizeof *keys;
    for (const crn_node *key = map->first; key && key->next && !self->reader.faults->full;
         key = key->next->next) {
        size_t k = 0;
        while (k < count && (key->kind != CRN_NODE_SCALAR || strcmp(key->text, keys[k]) != 0))
            k++;
        if (k == count)
            crn_diagnostics_add(
                self->reader.faults, key->position,
                "%s: unknown key %s, known: classes, chain, latency and geometry", self->path,
                key->kind == CRN_NODE_SCALAR ? crn_quote(key->text, key->length, '\'').text
                                             : crn_node_noun(key));
        else if (*found[k])
            crn_diagnostics_add(self->reader.faults, key->position,
                                "%s: '%s' is a duplicate, one expected", self->path, keys[k]);
        else
            *found[k] = key->next;
    }
}

static int32_t class_of(const crn_classes *classes, const crn_node *name)
{
    for (int32_t i = 0; name->kind == CRN_NODE_SCALAR && i < classes->count; i++)
        if (strcmp(classes->name[i], name->text) == 0)
            return i;
    return -1;
}

/* NAME: 0.4, or NAME: {level: 0.4}, or NAME: {}, which is not outlined. */
static void read_level(recipe_reader *self, const crn_param *row, const crn_node *node,
                       double *level)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.classes", self->path);
    crn_class_settings settings = {.level = NAN};
    crn_error error;
    if (node->kind == CRN_NODE_SCALAR) {
        crn_scalar scalar = {.text = node->text, .length = node->length, .plain = node->plain};
        if (crn_scalar_read(row, &scalar, level, &error) < 0)
            crn_diagnostics_add(self->reader.faults, node->position, "%s: %s", path, error.text);
        return;
    }
    const crn_table tables[2] = {{.rows = row, .settings = &settings}};
    crn_read_keys(&self->reader, path, node->position, node, tables, NULL);
    *level = settings.level;
}

static void read_levels(recipe_reader *self)
{
    const crn_node *map = self->classes;
    crn_classes *classes = &self->reader.config->classes;
    const crn_param *row = crn_keys_level;
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.classes", self->path);
    bool seen[CRN_CLASSES_MAX] = {false};
    if (!map || crn_node_empty(map) || map->kind == CRN_NODE_REFUSED)
        return;
    if (map->kind != CRN_NODE_MAP) {
        crn_diagnostics_add(self->reader.faults, map->position,
                            "%s.classes: %s given, a map such as '{rot: 0.4}' expected", self->path,
                            crn_node_noun(map));
        return;
    }
    for (const crn_node *key = map->first; key && key->next && !self->reader.faults->full;
         key = key->next->next) {
        int32_t class = class_of(classes, key);
        if (class >= 0 && crn_report_comma(&self->reader, path, key, row)) {
            key = key->next->next;
            continue;
        }
        if (class >= 0 && !seen[class])
            read_level(self, row, key->next, &classes->level[class]);
        else if (class >= 0 || self->reader.classes_good)
            crn_diagnostics_add(
                self->reader.faults, key->position,
                class < 0 ? "%s.classes: there is no class %s in 'classes'"
                          : "%s.classes: %s is a duplicate, one level each expected",
                self->path,
                key->kind == CRN_NODE_SCALAR ? crn_quote(key->text, key->length, '\'').text
                                             : crn_node_noun(key));
        if (class >= 0)
            seen[class] = true;
    }
}

static void read_latency(recipe_reader *self)
{
    const crn_table tables[2] = {
        {.rows = crn_keys_latency, .settings = &self->reader.config->latency, .keeps = true}};
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.latency", self->path);
    if (!self->latency)
        return;
    crn_read_keys(&self->reader, path, self->latency->position, self->latency, tables, NULL);
    crn_check_latency(&self->reader, self->latency);
}

/* What belongs to the machine, the scale and where the camera stands, is the file's. */
static void read_geometry(recipe_reader *self)
{
    crn_config *config = self->reader.config;
    const crn_table tables[2] = {
        {.rows = crn_keys_geometry_of_recipe, .settings = config, .keeps = true}};
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.geometry", self->path);
    if (!self->geometry)
        return;
    crn_read_keys(&self->reader, path, self->geometry->position, self->geometry, tables,
                  crn_sections_of_geometry);
    crn_check_geometry(&self->reader, path, self->geometry);
}

/* The recipe's chain replaces the file's as a whole. A chain is checked with the recipe's levels,
 * also where it is the file's own. */
static void read_chain(recipe_reader *self)
{
    crn_config *config = self->reader.config;
    if (self->chain) {
        crn_chain_done(config->chain, &config->steps);
        crn_read_chain(&self->reader, crn_section_of(CRN_SECTION_CHAIN), self->chain->position,
                       self->chain);
    } else {
        for (int32_t i = 0; i < config->steps; i++)
            self->reader.step_position[i] = self->name->position;
    }
    crn_check_stages(&self->reader);
}

/* Reads one recipe over a copy of the file's own settings. */
static void read_recipe(const crn_reader *file, const crn_node *name, const crn_node *map,
                        crn_recipes *recipes)
{
    recipe_reader self = {.reader = *file, .name = name};
    crn_config *merged = calloc(1, sizeof *merged);
    snprintf(self.path, sizeof self.path, "recipes.%s", name->text);
    if (merged)
        *merged = *file->config;
    if (!merged || crn_chain_copy(file->config->chain, file->config->steps, merged->chain,
                                  &merged->steps) < 0) {
        file->faults->no_memory = true;
        crn_diagnostics_add(file->faults, name->position, "%s: no memory for it", self.path);
    } else {
        self.reader.config = merged;
        self.reader.settings = merged;
        self.reader.keeps = true;
        find_sections(&self, map);
        size_t before = file->faults->count;
        read_levels(&self);
        /* A chain is not checked with levels that are wrong. */
        self.reader.classes_good &= file->faults->count == before;
        read_latency(&self);
        read_geometry(&self);
        read_chain(&self);
        crn_recipe *recipe = &recipes->item[recipes->count++];
        memcpy(recipe->name, name->text, name->length + 1);
        recipe->classes = merged->classes;
        recipe->latency = merged->latency;
        recipe->geometry = merged->geometry;
        recipe->steps = merged->steps;
        memcpy(recipe->chain, merged->chain, sizeof recipe->chain);
        merged->steps = 0; /* the recipe's now */
    }
    if (merged)
        crn_chain_done(merged->chain, &merged->steps);
    free(merged);
}

void crn_check_recipes(crn_reader *reader)
{
    const crn_node *map = crn_node_value(reader->root, "recipes");
    if (!map || map->kind != CRN_NODE_MAP || !map->first)
        return;
    crn_recipes *recipes = calloc(1, sizeof *recipes);
    reader->config->recipes = recipes;
    if (!recipes) {
        reader->faults->no_memory = true;
        crn_diagnostics_add(reader->faults, map->position, "recipes: no memory for them");
        return;
    }
    for (const crn_node *name = map->first; name && name->next && !reader->faults->full;
         name = name->next->next) {
        const crn_node *of = name->next;
        if (recipes->count == CRN_RECIPES_MAX) {
            crn_diagnostics_add(reader->faults, name->position,
                                "recipes: too many, at most %d expected", CRN_RECIPES_MAX);
            return;
        }
        if (name->kind == CRN_NODE_REFUSED || of->kind == CRN_NODE_REFUSED ||
            !name_is_good(reader, name, recipes))
            continue;
        if (of->kind != CRN_NODE_MAP && !crn_node_empty(of))
            crn_diagnostics_add(
                reader->faults, of->position,
                "recipes.%s: %s given, keys expected: classes, chain, latency and geometry",
                name->text, crn_node_noun(of));
        else
            read_recipe(reader, name, of, recipes);
    }
}

/* --- levels --- */

/* `own`: the file's levels, which a recipe has where it names none; NULL: these are they. */
static void add_odd_levels(const crn_classes *classes, const crn_classes *own, const char *recipe,
                           char text[CRN_ODD_LEVELS_BYTES])
{
    for (int32_t i = 0; i < classes->count; i++) {
        if ((classes->level[i] != 0 && classes->level[i] != 1) ||
            (own && own->level[i] == classes->level[i]))
            continue;
        size_t used = strlen(text);
        snprintf(text + used, CRN_ODD_LEVELS_BYTES - used, "%s%s%s%s is %s", used ? ", " : "",
                 classes->name[i], recipe[0] ? " of recipe " : "", recipe,
                 classes->level[i] == 0 ? "0 (every pixel above it is a defect's)"
                                        : "1 (no pixel is above it: nothing is found)");
    }
}

bool crn_config_odd_levels(const crn_config *config, char ret_text[CRN_ODD_LEVELS_BYTES])
{
    ret_text[0] = '\0';
    add_odd_levels(&config->classes, NULL, config->recipe, ret_text);
    for (int32_t i = 0; config->recipes && i < config->recipes->count; i++)
        add_odd_levels(&config->recipes->item[i].classes, &config->classes,
                       config->recipes->item[i].name, ret_text);
    return ret_text[0] != '\0';
}
