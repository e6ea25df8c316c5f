/**
 * @file
 * Runs the configured stages on one view: first every stage's enqueue half, then every finish half,
 * timing and counting each stage; no other file does that. Where a device ran the enqueue halves
 * (src/engine/device/device.h), the chain runs only the finish halves.
 *
 * Judges one view, a map of u8 for each class, with the backend of the configuration:
 *
 * @code{.c}
 * int judge(const crn_config *config, void *bytes, int32_t height, int32_t width,
 *           crn_defects *defects)
 * {
 *     const char *why;
 *     const crn_ops *ops = crn_backend_ops((crn_backend)config->run.backend, &why);
 *     if (!ops)
 *         return -ENOTSUP;
 *     crn_chain *chain;
 *     int r = crn_chain_create(config, ops, &chain);
 *     if (r < 0)
 *         return r;
 *     crn_chain_input view = {
 *         .maps = crn_image_dense(bytes, CRN_U8, CRN_HWC, config->classes.count, height, width),
 *         .received_ns = crn_now_ns(),
 *         .deadline_ns = CRN_NEVER_NS};
 *     crn_judgement judgement;
 *     r = crn_chain_run(chain, &view, defects, &judgement);
 *     crn_chain_free(&chain);
 *     return r;
 * }
 * @endcode
 *
 * `config` comes from crn_config_load() and crn_config_resolve(), the arrays in `defects` from the
 * caller.
 */
#ifndef CRN_STAGES_CHAIN_CHAIN_H
#define CRN_STAGES_CHAIN_CHAIN_H

#include <stdatomic.h>

#include "stages/base/api.h"
#include "stages/chain/judgement.h"
#include "stages/config/config.h"
#include "stages/cernita.h"
#include "stages/image.h"
#include "stages/maps/seen.h"

/** One view as input; the caller owns the memory. */
typedef struct crn_chain_input {
    crn_image maps;      /**< as received, dense */
    crn_image intensity; /**< one u8 plane of the same size; data NULL if there is none */
    int64_t received_ns; /**< CLOCK_MONOTONIC */
    int64_t deadline_ns; /**< CLOCK_MONOTONIC; CRN_NEVER_NS for none */
    /** For the first step that reads the maps, crn_context_watch(), or what a device saw of them;
     * NULL: none is asked. */
    struct crn_values_watch *watch;
    /** Set when the result is no longer needed; NULL: never cancelled. */
    const atomic_bool *cancelled;
} crn_chain_input;

/** Number of most recent durations that are kept per step. */
#define CRN_RECENT 128

/** With fewer samples, one that stands out is not left out, and a step that was stopped adds one
 * only if the view before was stopped in it as well: one view of another size would make the
 * following ones skip the step. */
#define CRN_RECENT_FEW 8

/** Recent durations of one step; zero-initialise. */
typedef struct crn_recent {
    uint32_t count;    /**< samples since the start or the last reset */
    uint32_t left_out; /**< consecutive views that skipped the step */
    uint32_t stopped;  /**< not 0: the latest view that ran it was stopped in it */
    int64_t ns[CRN_RECENT];
} crn_recent;

/** Adds the duration of a step that ran and ends a series of skips. */
CRN_API void crn_recent_add(crn_recent *recent, int64_t ns);

/**
 * Records that the step was skipped because of its recent cost. CRN_RECENT skips in a row reset the
 * samples, so that the step runs and is measured again: an estimate taken while the machine was
 * stalled would otherwise never be corrected, and the step would stay skipped for good.
 */
CRN_API void crn_recent_skip(crn_recent *recent);

/**
 * Records that the step was stopped after `took_ns`, a lower bound of its duration. It counts where
 * it exceeds the 99th percentile, so that the step is skipped when less time is left; with few
 * samples see CRN_RECENT_FEW.
 */
CRN_API void crn_recent_stop(crn_recent *recent, int64_t took_ns);

/** 99th percentile, the second largest sample; the largest of fewer than CRN_RECENT_FEW. */
CRN_API int64_t crn_recent_p99_ns(const crn_recent *recent);

/** Result of the enqueue halves that a device ran for one view. */
typedef struct crn_device_result {
    /** Contours of the whole batch, owned by the device; plane numbers are view * channels +
     * channel. */
    crn_contours *contours;
    /** Of the view's values, CRN_VALUES_PARTS; owned by the device. NULL: not validated. */
    const crn_values_seen *seen;
    /** Samples of its values; owned by the device. NULL: none were taken. */
    const crn_values_probe *probe;
    /** How finish halves read the maps, which lie there; NULL: they are in host memory. */
    struct crn_job_device *where;
    int32_t index;         /**< index of the view within the batch */
    uint32_t first, count; /**< range of its contours: crn_device_result_find */
    uint32_t skipped;      /**< bit per step of the chain */
    int64_t submitted_ns, begun_ns;
    int64_t stage_ns[CRN_STAGES_MAX];
} crn_device_result;

/**
 * Creates a chain for views up to the limits of the configuration.
 *
 * @param config resolved; must outlive the chain, as `ops`
 * @param ret_chain free it with crn_chain_free()
 * @return 0 or a negative errno
 */
CRN_API int crn_chain_create(const crn_config *config, const crn_ops *ops, crn_chain **ret_chain);

/**
 * Creates a chain with other settings that shares the scratch memory and the operators' results of
 * `of`: only one of them may run at a time. The steps' recent durations are its own.
 *
 * @param config with the limits and threads of the other; must outlive the chain
 * @param of must outlive the chain, too
 * @return 0 or -ENOMEM
 */
CRN_API int crn_chain_create_beside(const crn_config *config, const crn_chain *of,
                                    crn_chain **ret_chain);

/** What a chain takes instead of what its file says; zeroed: nothing. */
typedef struct crn_chain_settings {
    const char *recipe; /**< one of the file's `recipes`, by name; NULL or empty: none */
    const char *const *class_names; /**< `levels` classes of the file */
    const double *class_levels;     /**< their levels, over those of file and recipe, from 0 to 1;
                                       NaN: the class is not outlined */
    int32_t levels;                 /**< length of both */
} crn_chain_settings;

/**
 * crn_chain_open() with another recipe or other levels than the file's own, which must be valid,
 * too.
 *
 * @param context as there
 * @param path as there
 * @param settings NULL: the file's own; read during the call alone
 * @param ret_chain as there
 * @return as there; -EINVAL also for a recipe or a class that the file does not have, for a level
 *         outside 0 to 1, and if no class is left to outline
 */
CRN_API int crn_chain_open_with(crn_context *context, const char *path,
                                const crn_chain_settings *settings, crn_chain **ret_chain);

/** @return the level of class `index`, from 0 to 1; NaN: it is not outlined, or there is none */
CRN_API double crn_chain_class_level(const crn_chain *chain, int32_t index);

/**
 * Runs every step. An optional step is skipped when the time left until input->deadline_ns is less
 * than its recent p99.
 *
 * @param defects the caller's arrays; overwritten
 * @param ret_judgement receives the times, skipped steps, defect count and truncation; its
 *        `result` stays CRN_RESULT_NONE
 * @return 0, the negative errno of the step that failed, or -ETIME if input->deadline_ns passed or
 *        *input->cancelled was set while a step ran; that step then ends within a few milliseconds
 */
CRN_API int crn_chain_run(crn_chain *chain, const crn_chain_input *input, crn_defects *defects,
                          crn_judgement *ret_judgement);

/**
 * Runs only the finish halves, on the contours that a device computed and on the view's maps in
 * host memory. Renumbers the planes of the view's contours from 0 in place, so call it once per
 * view.
 *
 * @param done after crn_device_result_find()
 * @return as crn_chain_run(), or -EOVERFLOW if contours or points exceeded the limits: the view
 *        must then run whole
 */
CRN_API int crn_chain_finish(crn_chain *chain, const crn_chain_input *input,
                             const crn_device_result *done, crn_defects *defects,
                             crn_judgement *ret_judgement);

/**
 * Measures the duration of the enqueue halves on this view, which is the work that a device takes
 * over.
 *
 * @return 0 or the errno of the step that failed
 */
CRN_API int crn_chain_measure(crn_chain *chain, const crn_chain_input *input, int64_t *ret_ns);

/**
 * Finds the view's contours by their plane numbers; call it before any view of the batch is
 * finished.
 *
 * @param done its `contours` and `index` are set; receives `first` and `count`
 * @param channels number of planes of one view
 */
CRN_API void crn_device_result_find(crn_device_result *done, int32_t channels);

/** What a device saw of the values of a view of that type; done->seen is not NULL, or nothing was
 * seen. */
CRN_API crn_values_seen crn_device_result_seen(const crn_device_result *done, crn_type type);

/** Bytes that one chain reserves for results; part of the memory that --check reports. */
CRN_API size_t crn_chain_bytes(const crn_config *config);

/** Upper bound, in bytes, of one view's results under the limits: defects, points, textures. */
CRN_API size_t crn_chain_view_bytes(const crn_config *config);

#endif
