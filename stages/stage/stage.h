/**
 * @file
 * A stage is one step of the chain that a machine's configuration file lists: a const struct with
 * two functions.
 *
 * `enqueue` calls the operators that the stage needs, on images in the engine's memory (host or
 * device); `finish` runs on the host after all of them have completed and reads the results
 * (geometry, filters, features). The CPU engine's workers run all enqueues of a chain, then all
 * finishes; a stage does not depend on which engine runs it. Stages are timed and
 * counted by their caller.
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
    CRN_SLOT_CONTOURS,
    CRN_SLOT_RANKLET_CROP, /**< a class map in 8 bits, or a rectangle of one */
    CRN_SLOT_RANKLET_MAPS, /**< ranklets of one rectangle and window size */
};

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
    /** Maximum number of textures (result.h) that finish adds to one defect; NULL: none. */
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

/** All stages in their usual order, NULL-terminated. */
CRN_API extern const crn_stage *const crn_stages[];

/** The stage of that name, or NULL. */
CRN_API const crn_stage *crn_stage_find(const char *name);

CRN_C_END

#endif
