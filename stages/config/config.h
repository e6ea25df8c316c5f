/**
 * @file
 * A machine's YAML file as typed settings. Only tree.c uses libyaml.
 *
 * Strict: an unknown, duplicate, mistyped, out-of-range or missing value is an error
 * `file:line:column: what is wrong, what was expected`, and all errors of a file are reported
 * together.
 */
#ifndef CRN_STAGES_CONFIG_CONFIG_H
#define CRN_STAGES_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/stage/classes.h"
#include "stages/stage/stage.h"

CRN_C_BEGIN

/** Maximum number of steps of a chain. */
#define CRN_STAGES_MAX 16

/** Sets of settings that are in use at once: the ones in force, and those of fruits that opened
 * before a reload. */
#define CRN_GENERATIONS 8

/** Bytes of a recipe's name, its final 0 included. */
#define CRN_RECIPE_NAME_BYTES 48
#define CRN_RECIPES_MAX       64

/** Encoding of the messages on a socket. */
typedef enum crn_format {
    CRN_FORMAT_MSGPACK,
    CRN_FORMAT_JSON,
} crn_format;

/** Which checks the maps' values undergo: values.h. */
typedef enum crn_values_rule {
    CRN_VALUES_CHECK,
    CRN_VALUES_SMALL_U8, /**< all but u8 maps of zeros and ones */
    CRN_VALUES_TRUST,    /**< nothing */
} crn_values_rule;

/** What the values of a pixel have to sum to: scale.h. */
typedef enum crn_sum_rule {
    CRN_SUM_AUTO, /**< 1 where the classes or the first views say so */
    CRN_SUM_ONE,
    CRN_SUM_NONE, /**< to anything */
} crn_sum_rule;

/** One configured step of the chain. */
typedef struct crn_step {
    const crn_stage *stage; /**< static */
    bool optional;  /**< skipped for a view when the time left is less than its recent p99 */
    void *settings; /**< the stage's settings struct, owned by the config; NULL if it has none */
} crn_step;

/** What names a step without its settings: its stage, and how many of the same come before it. */
typedef struct crn_step_kind {
    const crn_stage *stage; /**< static */
    int32_t before;
} crn_step_kind;

/** Section `latency`. */
typedef struct crn_latency_settings {
    int64_t budget_ms, assemble_ms, guard_ms;
    int64_t straggler_ms; /**< 0: as the other times and the lane have it */
} crn_latency_settings;

/** What of a view tells where it shows the fruit. */
typedef enum crn_fruit_from {
    CRN_FRUIT_FROM_PHOTO,  /**< the intensity part */
    CRN_FRUIT_FROM_CLASS,  /**< the map of a class */
    CRN_FRUIT_FROM_HEADER, /**< nothing but the sender, whom the others believe, too */
} crn_fruit_from;

/** What becomes of defects beside the fruit. */
typedef enum crn_outside {
    CRN_OUTSIDE_MARK, /**< the verdict says so of each */
    CRN_OUTSIDE_DROP,
    CRN_OUTSIDE_KEEP, /**< they are not looked for */
} crn_outside;

/** Section `geometry`. */
typedef struct crn_geometry_settings {
    crn_reals mm_per_px; /**< of all views, or of each; none: the file lacks the section */
    double distance_mm;
    int32_t roll_axis; /**< crn_roll_axis */
    /** From here on each recipe has its own. */
    double roll_deg;
    bool estimate_roll;
    int32_t outside; /**< crn_outside */
    struct {
        int32_t from; /**< crn_fruit_from */
        char class_name[CRN_TEXT_BYTES];
        double level;
    } fruit;
    struct {
        bool optional;
    } surface;
} crn_geometry_settings;

/** A recipe: what it replaces of a line's settings, complete (merged over the file's own). */
typedef struct crn_recipe {
    char name[CRN_RECIPE_NAME_BYTES];
    crn_classes classes;
    int32_t steps;
    crn_step chain[CRN_STAGES_MAX];
    crn_latency_settings latency;
    crn_geometry_settings geometry;
} crn_recipe;

/** Section `recipes`, in file order. */
typedef struct crn_recipes {
    int32_t count;
    crn_recipe item[CRN_RECIPES_MAX];
} crn_recipes;

/** Section `publish.grader` or `publish.viewers`. */
typedef struct crn_socket_settings {
    char bind[CRN_TEXT_BYTES];
    int32_t format; /**< crn_format */
    int64_t high_water_mark;
    int64_t alive_ms; /**< of the grader's socket; 0: no `alive` messages */
} crn_socket_settings;

/** Values of record.only. */
typedef enum crn_record_only {
    CRN_RECORD_ALL,
    CRN_RECORD_LATE,
    CRN_RECORD_PARTIAL, /**< late ones included */
} crn_record_only;

#define CRN_LANE_RANGES_MAX 256

typedef struct crn_lane_range {
    uint32_t first, last;
} crn_lane_range;

/** Lanes of ingest.lanes; without a range: any. */
typedef struct crn_lane_ranges {
    int32_t count;
    crn_lane_range at[CRN_LANE_RANGES_MAX];
} crn_lane_ranges;

/**
 * Parses lists of lanes such as `0`, `0-39` and `0-7, 100`.
 *
 * @return 0, or -EINVAL if one is none or they are too many
 */
CRN_API int crn_lane_ranges_parse(const crn_texts *texts, crn_lane_ranges *ret_ranges);
CRN_API bool crn_lane_ranges_have(const crn_lane_ranges *ranges, uint32_t lane);

#define CRN_LANE_SCALES_MAX 64

/** An entry of `geometry.lanes`. */
typedef struct crn_lane_scale {
    crn_lane_range lanes;
    crn_reals mm_per_px; /**< as geometry.mm_per_px */
} crn_lane_scale;

/** `geometry.lanes`: no lane is in two of them. */
typedef struct crn_lane_scales {
    int32_t count;
    crn_lane_scale at[CRN_LANE_SCALES_MAX];
} crn_lane_scales;

/** The settings of a line, named as in the file; config/README.md is the reference of all keys,
 * with units and defaults. Whoever loads it owns it: crn_config_done(). */
typedef struct crn_log_settings {
    int32_t level; /**< crn_log_level */
} crn_log_settings;

typedef struct crn_config {
    const char *file; /**< path for messages, set by whoever starts the line; NULL for none */
    struct {
        crn_texts bind;
        int64_t high_water_mark;
        int32_t values;  /**< crn_values_rule */
        int32_t sum;     /**< crn_sum_rule */
        crn_texts lanes; /**< crn_lane_ranges_parse() */
        struct {
            char path[CRN_TEXT_BYTES]; /**< of an AF_UNIX socket; empty: none */
            int64_t slots, producers;
            crn_texts kinds;
        } slots;
    } ingest;
    struct {
        /** slots 0: 4 x workers + 16 */
        int64_t lanes, peers, peer_mib, viewers_mib, view_mib, views, slots, open_fruits,
            judged_fruits, points, defects, lane_idle_s;
    } limits;
    crn_classes classes;
    int32_t steps;
    crn_step chain[CRN_STAGES_MAX];
    struct {
        int32_t backend; /**< crn_backend */
        /** workers, threads 0: by the cores, see crn_config_resolve() */
        int64_t workers, threads, stop_ms;
        crn_numbers devices; /**< indices of the GPUs to use where the backend uses any */
    } run;
    struct {
        /** lists of CPUs (stages/base/process/cpus.h), checked; empty: any */
        char line_cpus[CRN_TEXT_BYTES], io_cpus[CRN_TEXT_BYTES], worker_cpus[CRN_TEXT_BYTES],
            device_cpus[CRN_TEXT_BYTES];
        int64_t line_priority, worker_priority; /**< of SCHED_FIFO; 0: none */
        bool lock_memory, huge_pages;
    } realtime;
    crn_latency_settings latency;
    crn_geometry_settings geometry;
    crn_lane_scales lane_scales; /**< geometry.lanes; the machine's, of no recipe */
    crn_recipes *recipes;        /**< owned by the config; NULL: none */
    struct {
        crn_socket_settings grader, viewers;
        struct {
            char dir[CRN_TEXT_BYTES]; /* empty: no log */
            int64_t segment_mib, keep_mib, keep_days;
            bool dir_named; /**< the file gives it, perhaps as empty */
            bool of_unit;   /**< it is that of a unit whose file does not: nobody asked for it */
        } log;
    } publish;
    struct {
        char keys[CRN_TEXT_BYTES]; /**< folder; empty: no keys are required */
        bool ipc;                  /**< they are also required at ipc sockets */
        bool plain_tcp;            /**< without keys: addresses beyond loopback are allowed */
    } access;
    struct {
        char dir[CRN_TEXT_BYTES]; /**< empty: no recording */
        int64_t segment_mib;
        int32_t only;                /**< crn_record_only */
        int64_t keep_gib, keep_days; /**< 0: all */
    } record;
    struct {
        char http[CRN_TEXT_BYTES];       /**< HOST:PORT; empty: no pages */
        bool http_named;                 /**< the file gives it: it must be had */
        crn_texts hosts;                 /**< names of this server besides its own */
        char token_file[CRN_TEXT_BYTES]; /**< empty: only this machine may change something */
        int64_t keep_slots;
    } monitor;
    struct {
        char path[CRN_TEXT_BYTES]; /**< of an AF_UNIX socket; empty: none */
        /** where cernitactl looks for that of a unit; empty: the daemon is not one */
        char unit_path[CRN_TEXT_BYTES];
    } control;
    struct {
        char dir[CRN_TEXT_BYTES]; /**< empty: nothing is kept over a restart */
        bool of_unit;             /**< it is that of a unit whose file names none */
    } state;
    crn_log_settings log;
    /** The keys, loaded by whoever opens the line's sockets (src/ingest/access/access.h), who also
     * closes them; NULL: none are required. */
    struct crn_access *guard;
    char recipe[CRN_RECIPE_NAME_BYTES]; /**< in force: crn_config_use_recipe(); empty: none */
    /** in force before the start and not certain to be so now, "?" where its name is not known;
     * empty: none was lost, or one was chosen since */
    char lost_recipe[CRN_RECIPE_NAME_BYTES];
    uint32_t generation; /**< number of these settings in their line: 0 those of the start */
    uint64_t hash; /**< reported in verdicts: crn_config_hash, set by whoever starts the line */
} crn_config;

/** Size limit of a line's file. */
#define CRN_CONFIG_BYTES_MAX (1 << 20)

/**
 * Reads and checks a file.
 *
 * @param faults every error is one line on this stream of the caller's, in file order; NULL: no
 *        output
 * @param ret_config unchanged on failure; crn_config_done() frees what it owns
 * @return 0; -EINVAL for an invalid file; another negative errno, also reported as a line, if it
 *        cannot be read
 */
CRN_API int crn_config_load(const char *path, FILE *faults, crn_config *ret_config);

/**
 * The same as crn_config_load() from memory.
 *
 * @param file the name that messages use
 * @param bytes,length contents of the file
 */
CRN_API int crn_config_parse(const char *file, const char *bytes, size_t length, FILE *faults,
                             crn_config *ret_config);

/**
 * Frees the steps' settings and the recipes and leaves a chain without steps; NULL and a zeroed
 * config are allowed. A config copied by assignment shares its settings with the original: call
 * this for only one of them.
 */
CRN_API void crn_config_done(crn_config *config);

/** Room for what crn_config_odd_levels() tells. */
#define CRN_ODD_LEVELS_BYTES 512

/**
 * Tells the levels of 0 and 1, the file's own and its recipes': all pixels but those of exactly 0
 * lie above the first, none above the second.
 *
 * @return false if there are none
 */
CRN_API bool crn_config_odd_levels(const crn_config *config, char ret_text[CRN_ODD_LEVELS_BYTES]);

/**
 * Deep copy, with its own settings.
 *
 * @return 0 or -ENOMEM
 */
CRN_API int crn_config_copy(const crn_config *config, crn_config *ret_copy);

/** Upper bound on the textures (crn_texture) that one defect gets from all steps of the chain. */
CRN_API uint32_t crn_config_textures(const crn_config *config);

/**
 * Replaces the zeros that mean "chosen for this machine": workers = cores - 1 (at least 1),
 * threads = cores / workers (at least 1), slots = 4 x workers + 16. With realtime.worker_cpus the
 * workers have these cores, all of them.
 *
 * @param cores that the line may use
 */
CRN_API void crn_config_resolve(crn_config *config, int32_t cores);

/**
 * Gives what the file leaves out its place in the folders that systemd makes for a unit:
 * control.path in $RUNTIME_DIRECTORY, state.dir in $STATE_DIRECTORY, and there publish.log.dir,
 * where 7 days are kept unless the file says how many. Without these variables nothing changes.
 * Call it after crn_config_hash(): the folders belong to the machine.
 *
 * @param will_be_unit without the variables, a file /etc/cernita/NAME.yaml is taken for that of the
 *        unit cernitad@NAME
 */
CRN_API void crn_config_use_unit_folders(crn_config *config, bool will_be_unit);

/** True if programs may ask for slots of that kind (ingest.slots.kinds); without any, memfd. */
static inline bool crn_config_gives_slots(const crn_config *config, const char *kind)
{
    const crn_texts *kinds = &config->ingest.slots.kinds;
    for (int32_t i = 0; i < kinds->count; i++)
        if (strcmp(kinds->item[i], kind) == 0)
            return true;
    return kinds->count == 0 && strcmp(kind, "memfd") == 0;
}

/** True if fruits are measured: the file has the section `geometry`. */
static inline bool crn_config_measures(const crn_config *config)
{
    return config->geometry.mm_per_px.count > 0;
}

/** The scale of a view of that lane, of settings that measure. */
CRN_API double crn_config_mm_per_px(const crn_config *config, uint32_t lane, uint32_t view);

/** Which of CRN_GENERATIONS sets of resources belongs to these settings; 0 for NULL. */
static inline uint32_t crn_config_slot(const crn_config *config)
{
    return config ? config->generation % CRN_GENERATIONS : 0;
}

/**
 * Deep copy in which a recipe replaces levels, chain, latency and geometry.
 *
 * @param config as loaded, with no recipe in force
 * @param name empty: none, the file's own settings
 * @return 0, -ENOENT if there is no such recipe, or -ENOMEM
 */
CRN_API int crn_config_use_recipe(const crn_config *config, const char *name,
                                  crn_config *ret_config);

/**
 * Lists what differs between two configs, neither resolved, that a running line cannot take in:
 * one line each, with the file's name, the key and both values.
 *
 * @param out NULL: no output
 * @return how many there are
 */
CRN_API int32_t crn_config_fixed_differences(const crn_config *running, const crn_config *file,
                                             FILE *out);

/**
 * Lists all differences between two configs, neither resolved: one line each, `KEY: BEFORE ->
 * AFTER`.
 *
 * @param out NULL: no output
 * @return how many there are
 */
CRN_API int32_t crn_config_differences(const crn_config *before, const crn_config *after,
                                       FILE *out);

CRN_API crn_step_kind crn_config_step_kind(const crn_config *config, int32_t step);

/** That of its stage; the second of a kind is `contours_2`. */
CRN_API void crn_step_kind_name(const crn_step_kind *kind, char *ret_name, size_t bytes);

/** Name of a step of the chain where steps are told apart: that of its stage; the second of a kind
 * is `contours_2`. */
CRN_API void crn_config_step_name(const crn_config *config, int32_t step, char *ret_name,
                                  size_t bytes);

/** Prints all settings, defaults included, as a YAML file that crn_config_load() reads back to the
 * same settings. */
CRN_API void crn_config_print(const crn_config *config, FILE *out);

/**
 * FNV-1a 64 of the output of crn_config_print(), followed by the bytes of the files that the
 * settings name (kernels, elements), in the order in which they name them. Call it before
 * crn_config_resolve(), which replaces zeros with this machine's numbers.
 *
 * @return 0, -ENOMEM, or the errno with which a file could not be read again, with its name in
 *        *error
 */
CRN_API int crn_config_hash(const crn_config *config, uint64_t *ret_hash, crn_error *error);

/** Prints the reference of all keys as a Markdown table (key, default, range or choices, meaning),
 * stages included. */
CRN_API void crn_config_print_reference(FILE *out);

CRN_C_END

#endif
