/* A line's file: loading, copying and freeing its settings. */
#include "stages/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/process/cpus.h"
#include "stages/config/internal.h"

/* The checks after reading; recipes last, as they need the file's own settings. */
static void check_line_file(crn_reader *reader)
{
    crn_check_config(reader);
    if (!reader->faults->full)
        crn_check_recipes(reader);
}

static const crn_file_scheme line_file = {
    .sections = crn_sections, .contents = "classes and a chain", .check = check_line_file};

int crn_config_parse(const char *file, const char *bytes, size_t length, FILE *faults_out,
                     crn_config *ret_config)
{
    crn_diagnostics faults = {.file = file};
    crn_config *config = calloc(1, sizeof *config);
    if (!config) {
        if (faults_out)
            fprintf(faults_out, "%s: not enough memory to read it\n", file);
        return -ENOMEM;
    }
    crn_reader reader = {.faults = &faults, .settings = config, .config = config};
    int r = crn_file_parse(&line_file, &reader, bytes, length, faults_out);
    if (r == 0)
        memcpy(ret_config, config, sizeof *config);
    else
        crn_config_done(config);
    free(config);
    return r;
}

int crn_config_load(const char *path, FILE *faults, crn_config *ret_config)
{
    char *bytes = NULL;
    size_t length = 0;
    crn_error error;
    int r = crn_file_bytes(path, &bytes, &length, &error);
    if (r < 0) {
        if (faults)
            fprintf(faults, "%s\n", error.text);
        return r;
    }
    r = crn_config_parse(path, bytes, length, faults, ret_config);
    free(bytes);
    return r;
}

void crn_config_done(crn_config *config)
{
    if (!config)
        return;
    crn_chain_done(config->chain, &config->steps);
    crn_recipes_done(&config->recipes);
}

int crn_config_copy(const crn_config *config, crn_config *ret_copy)
{
    crn_config copy = *config;
    copy.recipes = NULL;
    int r = crn_chain_copy(config->chain, config->steps, copy.chain, &copy.steps);
    if (r == 0)
        r = crn_recipes_copy(config->recipes, &copy.recipes);
    if (r < 0)
        crn_config_done(&copy);
    else
        *ret_copy = copy;
    return r;
}

uint32_t crn_config_textures(const crn_config *config)
{
    uint32_t textures = 0;
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_step *step = &config->chain[i];
        if (step->stage->textures)
            textures += step->stage->textures(step->settings);
    }
    return textures;
}

void crn_config_step_name(const crn_config *config, int32_t step, char *ret_name, size_t bytes)
{
    crn_step_kind kind = crn_config_step_kind(config, step);
    crn_step_kind_name(&kind, ret_name, bytes);
}

crn_step_kind crn_config_step_kind(const crn_config *config, int32_t step)
{
    crn_step_kind kind = {.stage = config->chain[step].stage};
    for (int32_t i = 0; i < step; i++)
        kind.before += config->chain[i].stage == kind.stage;
    return kind;
}

void crn_step_kind_name(const crn_step_kind *kind, char *ret_name, size_t bytes)
{
    if (kind->before)
        snprintf(ret_name, bytes, "%s_%d", kind->stage->name, kind->before + 1);
    else
        snprintf(ret_name, bytes, "%s", kind->stage->name);
}

void crn_config_resolve(crn_config *config, int32_t cores)
{
    cpu_set_t pinned;
    if (config->realtime.worker_cpus[0] &&
        crn_cpus_parse(config->realtime.worker_cpus, &pinned) == 0) {
        int64_t threads = config->run.threads ? config->run.threads : 1;
        cores = CPU_COUNT(&pinned);
        if (config->run.workers == 0)
            config->run.workers = cores > threads ? cores / threads : 1;
    }
    if (config->run.workers == 0)
        config->run.workers = cores > 2 ? cores - 1 : 1;
    if (config->run.threads == 0)
        config->run.threads = cores > config->run.workers ? cores / config->run.workers : 1;
    if (config->limits.slots == 0)
        config->limits.slots = 4 * config->run.workers + 16;
}
