#include "src/control/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/control/kept/kept_file.h"
#include "src/control/kept/kept_recipe.h"
#include "src/ingest/access/access.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

/* How often to look whether former settings are free. */
#define LOOK_NS (10 * CRN_NS_PER_MS)

/* Faults of a file that go to the log; another kind of file has hundreds. */
#define FAULTS_LOGGED 20

struct crn_reloader {
    const crn_reload_settings *from;
    crn_config file; /* as read last, with no recipe in force; not resolved */
    uint64_t hash;   /* of what is in force */
    char recipe[CRN_RECIPE_NAME_BYTES], lost_recipe[CRN_RECIPE_NAME_BYTES]; /* as crn_config */
    int64_t keep_again_ns; /* when to try again to keep the recipe in force; 0: it is kept */
    crn_change change;     /* that is being made, for the log of changes */
    char *text;            /* of other settings that it puts into force; NULL: none so far */
};

int crn_reloader_create(const crn_reload_settings *settings, crn_reloader **ret_reloader)
{
    crn_reloader *reloader = calloc(1, sizeof *reloader);
    if (!reloader)
        return -ENOMEM;
    reloader->from = settings;
    reloader->hash = settings->running->hash;
    memcpy(reloader->recipe, settings->running->recipe, sizeof reloader->recipe);
    memcpy(reloader->lost_recipe, settings->running->lost_recipe, sizeof reloader->lost_recipe);
    if (crn_config_copy(settings->file, &reloader->file) < 0) {
        free(reloader);
        return -ENOMEM;
    }
    *ret_reloader = reloader;
    return 0;
}

void crn_reloader_free(crn_reloader **reloader)
{
    if (!reloader || !*reloader)
        return;
    crn_config_done(&(*reloader)->file);
    free(*reloader);
    *reloader = NULL;
}

/* --- the log of changes --- */

/* What differs between the file's settings and those of before. */
static void note_differences(crn_reloader *self, const crn_config *config)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return;
    crn_config_differences(&self->file, config, out);
    fclose(out);
    if (lines)
        crn_change_set_keys(&self->change, lines);
    free(lines);
}

/* The settings as the hash names them; NULL: no memory. */
static char *print_text(const crn_config *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    crn_config_print(config, out);
    fclose(out);
    return text;
}

static void end_change(crn_reloader *self, int r, const char *faults)
{
    crn_change *change = &self->change;
    change->refused = r < 0;
    if (r < 0) {
        crn_change_set_keys(change, faults);
        free(self->text);
        self->text = NULL;
    }
    snprintf(change->after.settings, sizeof change->after.settings, "%016" PRIx64, self->hash);
    snprintf(change->after.recipe, sizeof change->after.recipe, "%s", self->recipe);
    crn_changes_add(self->from->changes, change, self->text);
    self->text = NULL;
}

void crn_reloader_note(crn_reloader *reloader, const char *what, const char *lot)
{
    const crn_changed_by daemon = {"daemon", geteuid(), getpid()};
    crn_config config;
    crn_change_begin(&reloader->change, what, &daemon);
    crn_change_set_lot(&reloader->change, lot);
    if (crn_config_use_recipe(&reloader->file, reloader->recipe, &config) == 0) {
        reloader->text = print_text(&config);
        crn_config_done(&config);
    }
    end_change(reloader, 0, "");
}

/* --- settings --- */

/* Copies the lines of the faults to `out`, and the first ones to the log. */
static void tell_faults(const crn_reloader *self, const char *faults, FILE *out)
{
    int32_t count = 0;
    for (const char *line = faults; *line; count++) {
        size_t length = strcspn(line, "\n");
        if (count < FAULTS_LOGGED)
            crn_log(CRN_LOG_ERROR, "settings refused: %.*s", (int)length, line);
        fprintf(out, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (count > FAULTS_LOGGED)
        crn_log(CRN_LOG_ERROR,
                "settings refused: %d more faults; cernitad --config %s --check lists them",
                count - FAULTS_LOGGED, self->from->file->file);
}

/* Offers the settings to the line; waits while too many former ones are in use. */
static int change_line(crn_reloader *self, crn_config *config, crn_error *error)
{
    int64_t until_ns = crn_now_ns() + CRN_RELOAD_PATIENCE_NS;
    int r;
    while ((r = crn_line_change(self->from->line, config, error)) == -EBUSY &&
           crn_now_ns() < until_ns)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    return r;
}

/* What the machine chose at the start stays, and no reload changes what it chose from. The live
 * keys of these sections are the file's. */
static void resolve(const crn_config *running, crn_config *config)
{
    int64_t stop_ms = config->run.stop_ms, lane_idle_s = config->limits.lane_idle_s;
    config->run = running->run;
    config->run.stop_ms = stop_ms;
    config->limits = running->limits;
    config->limits.lane_idle_s = lane_idle_s;
    config->monitor = running->monitor;
}

/*
 * Puts `file` into force with that recipe. Returns 0, also if that changes nothing, or a negative
 * errno with *error.
 */
static int put_into_force(crn_reloader *self, const crn_config *file, const char *recipe,
                          crn_error *error)
{
    crn_config config;
    int r = crn_config_use_recipe(file, recipe, &config);
    if (r == -ENOENT)
        return crn_error_set(error, r, "%s: there is no recipe '%s'; cernitactl recipes lists them",
                             file->file, recipe);
    if (r < 0)
        return crn_error_set(error, r, "no memory for the settings");
    bool chosen = recipe != self->recipe; /* else it stays, and so does that it was lost */
    uint64_t hash = 0;
    r = crn_config_hash(&config, &hash, error);
    config.hash = hash;
    if (!chosen)
        memcpy(config.lost_recipe, self->lost_recipe, sizeof config.lost_recipe);
    if (r == 0 && hash != self->hash)
        self->text = print_text(&config);
    resolve(self->from->running, &config);
    bool same = hash == self->hash && strcmp(recipe, self->recipe) == 0 &&
                strcmp(config.lost_recipe, self->lost_recipe) == 0;
    crn_log_level level = (crn_log_level)config.log.level;
    if (r == 0 && !same)
        r = change_line(self, &config, error);
    crn_config_done(&config);
    if (r < 0)
        return r;
    crn_log_set_level(level);
    self->hash = hash;
    if (chosen) {
        snprintf(self->recipe, sizeof self->recipe, "%s", recipe);
        self->lost_recipe[0] = '\0';
    }
    return 0;
}

/* Counts, logs and answers; `faults` and `r` say how it went. The change is recorded before
 * (end_change). */
static int conclude(crn_reloader *self, int r, const char *what, const char *faults, FILE *out)
{
    char recipe[CRN_RECIPE_NAME_BYTES + 16] = "";
    crn_line_count_reload(self->from->line, r == 0);
    if (r < 0) {
        tell_faults(self, faults, out);
        return r;
    }
    if (self->recipe[0])
        snprintf(recipe, sizeof recipe, ", recipe '%s'", self->recipe);
    char levels[CRN_ODD_LEVELS_BYTES];
    if (crn_config_odd_levels(&self->file, levels)) {
        crn_log(CRN_LOG_WARNING, "classes.level: %s", levels);
        fprintf(out, "note: classes.level: %s\n", levels);
    }
    crn_log(CRN_LOG_INFO, "%s: fruits from now on are judged by the settings %016" PRIx64 "%s",
            what, self->hash, recipe);
    fprintf(out, "settings %016" PRIx64 "%s\n", self->hash, recipe);
    return 0;
}

/* Cannot fail. */
static void change_keys(crn_access *guard, crn_access_update **keys, FILE *out)
{
    crn_access_changed changed = crn_access_change(guard, keys);
    fprintf(out, "keys of %d client%s", (int)changed.clients, changed.clients == 1 ? "" : "s");
    if (changed.lost > 0)
        fprintf(out, "; %d of those before lost a permission, %d connection%s ended",
                (int)changed.lost, (int)changed.ended, changed.ended == 1 ? "" : "s");
    fputc('\n', out);
}

/* Reads the keys again; their faults go beside the file's, with the file's name and the key. */
static int load_keys(const crn_reloader *self, crn_access_update **ret_keys, FILE *faults)
{
    char *text = NULL;
    size_t size = 0;
    if (!self->from->running->guard)
        return 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines) {
        fputs("no memory\n", faults);
        return -ENOMEM;
    }
    int r = crn_access_prepare(self->from->running->guard, lines, ret_keys);
    fclose(lines);
    for (char *line = text, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        fprintf(faults, "%s: access.keys: %.*s\n", self->from->file->file, (int)(end - line), line);
    free(text);
    return r;
}

/* Reads the file and finds all its faults. */
static int load(const crn_reloader *self, crn_config *ret_config, FILE *faults)
{
    const crn_config *start = self->from->file;
    int r = crn_config_load(start->file, faults, ret_config);
    if (r < 0)
        return r;
    ret_config->file = start->file;
    if (self->from->backend >= 0)
        ret_config->run.backend = self->from->backend;
    r = crn_config_fixed_differences(start, ret_config, faults) > 0 ? -EINVAL : 0;
    bool found = !self->recipe[0];
    for (int32_t i = 0; ret_config->recipes && i < ret_config->recipes->count; i++)
        found |= strcmp(ret_config->recipes->item[i].name, self->recipe) == 0;
    if (!found) {
        fprintf(faults,
                "%s: the recipe '%s' is in force and the file no longer has it; keep it, or "
                "switch before (cernitactl recipe)\n",
                start->file, self->recipe);
        r = -EINVAL;
    }
    if (r < 0)
        crn_config_done(ret_config);
    return r;
}

/* Puts the file's settings and the keys into force, or neither. */
static int reload_all(crn_reloader *self, crn_access_update **ret_keys, FILE *faults)
{
    crn_config config;
    crn_error error = {""};
    int loaded = load(self, &config, faults);
    int r = load_keys(self, ret_keys, faults); /* also beside faults of the file: all are told */
    if (loaded < 0)
        return loaded;
    if (r == 0) {
        note_differences(self, &config);
        r = put_into_force(self, &config, self->recipe, &error);
        if (r < 0)
            fprintf(faults, "%s\n", error.text);
    }
    crn_config_done(r < 0 ? &config : &self->file);
    if (r == 0)
        self->file = config;
    return r;
}

int crn_reloader_reload(crn_reloader *reloader, const crn_changed_by *by, FILE *out)
{
    crn_change_begin(&reloader->change, "reload", by);
    char *faults = NULL;
    size_t size = 0;
    crn_access *guard = reloader->from->running->guard;
    crn_access_update *keys = NULL;
    FILE *stream = open_memstream(&faults, &size);
    if (!stream) {
        end_change(reloader, -ENOMEM, "no memory\n");
        return conclude(reloader, -ENOMEM, "reload", "no memory\n", out);
    }
    int r = reload_all(reloader, &keys, stream);
    if (r < 0 && guard)
        crn_access_print_kept(guard, stream);
    fclose(stream);
    end_change(reloader, r, faults ? faults : "no memory\n");
    r = conclude(reloader, r, "reload", faults ? faults : "no memory\n", out);
    if (r == 0 && keys)
        change_keys(guard, &keys, out);
    crn_access_update_free(&keys);
    free(faults);
    return r;
}

/* Keeps the recipe in force. Returns 0, or a negative errno with *error, which the line's
 * conditions say until it is kept. */
static int try_to_keep(crn_reloader *self, crn_error *error)
{
    const char *dir = self->from->running->state.dir;
    int r = dir[0] ? crn_kept_recipe_write(dir, self->from->file->file, self->recipe, error) : 0;
    self->keep_again_ns = r < 0 ? crn_now_ns() + CRN_KEEP_AGAIN_NS : 0;
    crn_line_note_kept(self->from->line, r);
    return r;
}

/* Before the client is answered. A disk that fails does not keep the line from its new fruit. */
static void keep(crn_reloader *self, FILE *out)
{
    crn_error error;
    if (try_to_keep(self, &error) == 0)
        return;
    crn_log(CRN_LOG_WARNING, "recipe: a restart would lose it, until it can be kept: %s",
            error.text);
    fprintf(out, "note: a restart would lose it, until it can be kept: %s\n", error.text);
}

void crn_reloader_keep_again(crn_reloader *reloader)
{
    crn_error error;
    if (reloader->keep_again_ns != 0 && crn_now_ns() >= reloader->keep_again_ns &&
        try_to_keep(reloader, &error) == 0)
        crn_log(CRN_LOG_INFO, "recipe: a restart keeps it now");
}

int crn_reloader_use_recipe(crn_reloader *reloader, const char *name, const crn_changed_by *by,
                            FILE *out)
{
    crn_error error = {""};
    crn_change_begin(&reloader->change, "recipe", by);
    int r = put_into_force(reloader, &reloader->file, name, &error);
    end_change(reloader, r, error.text); /* keeping may hang with the disk */
    if (r == 0)
        keep(reloader, out);
    return conclude(reloader, r, "recipe", error.text, out);
}

void crn_reloader_list_recipes(const crn_reloader *reloader, FILE *out)
{
    const crn_recipes *recipes = reloader->file.recipes;
    fprintf(out, "%s --none\n", reloader->recipe[0] ? " " : "*");
    for (int32_t i = 0; recipes && i < recipes->count; i++)
        fprintf(out, "%s %s\n", strcmp(recipes->item[i].name, reloader->recipe) == 0 ? "*" : " ",
                recipes->item[i].name);
}
