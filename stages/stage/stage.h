/**
 * @file
 * A stage is one step of the chain that a machine's configuration file lists: a const struct with
 * two functions.
 *
 * `enqueue` calls the operators that the stage needs, on images in the engine's memory (host or
 * device); `finish` runs on the host after all of them have completed and reads the results
 * (geometry, filters, features); what it needs of the maps it asks of operators too. The CPU
 * engine's workers run all enqueues of a chain, then all finishes; a stage does not depend on which
 * engine runs it. Stages are timed and counted by their caller.
 */
#ifndef CRN_STAGES_STAGE_STAGE_H
#define CRN_STAGES_STAGE_STAGE_H

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/ops.h"
#include "stages/stage/classes.h"

CRN_C_BEGIN

/** A chain is image stages, then exactly one contours stage, then feature stages. */
typedef enum crn_stage_kind {
    CRN_STAGE_IMAGE,
    CRN_STAGE_CONTOURS,
    CRN_STAGE_FEATURE,
} crn_stage_kind;

/** Scratch slots of a context: 0 to 15 are for operators, 16 and up for stages. */
enum {
    CRN_SLOT_MAPS_0 = 16, /**< outputs of image stages, used in alternation: crn_job_output */
    CRN_SLOT_MAPS_1,
    CRN_SLOT_FINISH,       /**< arrays of a finish half, until the next one's */
    CRN_SLOT_RUNS,         /**< pixels inside contours, and their sums */
    CRN_SLOT_RANKLET_CROP, /**< class maps in 8 bits, or a rectangle of one */
    CRN_SLOT_RANKLET_MAPS, /**< ranklets of one rectangle and window size */
    CRN_SLOT_RANKLET_MEANS,
};

/** How finish halves read maps that lie on a device: what they enqueue there, and waiting for it.
 */
typedef struct crn_job_device {
    const crn_ops *ops;
    crn_context *context; /**< the device's */
    /** Pinned memory, as crn_context_scratch(); of the slots of stages. NULL: out of memory. */
    void *(*shared)(struct crn_job_device *device, int32_t slot, size_t bytes);
    /** Waits until all that was enqueued is done: 0 or negative errno. */
    int (*wait)(struct crn_job_device *device);
} crn_job_device;

/** One view being processed by the chain. The engine owns all memory; no pointer may be kept
 * after finish. */
typedef struct crn_job {
    const crn_ops *ops;
    crn_context *context;
    const crn_classes *classes;
    crn_image received; /**< the maps as received, dense; read-only */
    crn_image maps; /**< input of the next image stage, which replaces it; initially `received` */
    crn_image intensity;   /**< one u8 plane; data NULL if the view has no photograph */
    crn_contours contours; /**< set by enqueue of the contours stage */
    crn_defects *defects;  /**< set by finish of the contours stage */
    /** In finish halves: where `received` and `intensity` lie; NULL: in host memory. `ops` and
     * `context` are the host's. */
    crn_job_device *device;
} crn_job;

/** One stage; static and const. */
typedef struct crn_stage {
    const char *name;
    const char *help; /**< one line */
    crn_stage_kind kind;
    const crn_param *params; /**< describes the settings struct; ended by a NULL key */
    size_t settings_bytes;
    /**
     * Called once, when the configuration is read: checks what the parameter table cannot express
     * and completes the settings (a kernel from its name or file). Settings own no memory: loaded
     * data are stored in the struct itself. May be NULL.
     *
     * @return 0, or negative errno with one clause in *error
     */
    int (*prepare)(void *settings, const crn_classes *classes, crn_error *error);
    /**
     * Calls the operators. May be NULL.
     *
     * @return 0 or negative errno, after which the view counts as unjudged
     */
    int (*enqueue)(const void *settings, crn_job *job);
    /** Reads the results, on the host. May be NULL; returns as enqueue. */
    int (*finish)(const void *settings, crn_job *job);
    /** Maximum number of textures (crn_texture) that finish adds to one defect; NULL: none. */
    uint32_t (*textures)(const void *settings);
} crn_stage;

/**
 * Sets *ret_output to a dense image of the given type, with the size and layout of job->maps, in
 * scratch memory that does not contain job->maps. The stage then assigns it to job->maps.
 *
 * @return 0 or -ENOMEM
 */
int crn_job_output(crn_job *job, crn_type type, crn_image *ret_output);

/**
 * Converts f16 maps to f32, exactly; leaves other types unchanged. For stages whose operators do
 * not accept f16.
 *
 * @return 0 or -ENOMEM
 */
int crn_job_widen(crn_job *job);

/**
 * Host memory that the operators on the received maps read and write: scratch memory, pinned if
 * the maps lie on a device. Contents as of crn_context_scratch().
 *
 * @return the job's; NULL if it cannot be allocated
 */
void *crn_job_shared(crn_job *job, int32_t slot, size_t bytes);

/** Operators on the received maps, where these lie, and their context. */
static inline const crn_ops *crn_job_map_ops(const crn_job *job)
{
    return job->device ? job->device->ops : job->ops;
}

static inline crn_context *crn_job_map_context(const crn_job *job)
{
    return job->device ? job->device->context : job->context;
}

/** Waits until the operators on the received maps are done: 0 or negative errno. */
int crn_job_wait(crn_job *job);

/** All stages in their usual order, NULL-terminated. */
CRN_API extern const crn_stage *const crn_stages[];

/** The stage of that name, or NULL. */
CRN_API const crn_stage *crn_stage_find(const char *name);

CRN_C_END

#endif
