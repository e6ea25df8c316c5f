/*
 * A stage is one step of the chain that a machine's file lists: one const struct, two halves.
 *
 * `enqueue` asks the operators for what the stage needs, on images that live where the engine
 * lives; `finish`, on the host once all is done, reads the results (geometry, filters, features).
 * The CPU engine runs all enqueues of a chain, then all finishes, on its workers; a stage does not
 * know which engine runs it. The runner times and counts stages; they do neither themselves.
 */
#ifndef CRN_STAGES_STAGE_H
#define CRN_STAGES_STAGE_H

#include "stages/base/cplusplus.h"
#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/classes.h"
#include "stages/ops.h"

CRN_C_BEGIN

/* A chain is image stages, then exactly one contours stage, then feature stages. */
typedef enum crn_stage_kind {
    CRN_STAGE_IMAGE,
    CRN_STAGE_CONTOURS,
    CRN_STAGE_FEATURE,
} crn_stage_kind;

/* Scratch slots of the context: 0 to 15 are the operators', from 16 on the stages'. */
enum {
    CRN_SLOT_MAPS_0 = 16, /* what image stages write, in turns: crn_job_output */
    CRN_SLOT_MAPS_1,
    CRN_SLOT_CONTOURS,
    CRN_SLOT_RANKLET_CROP, /* a class map in 8 bits, or a part of one */
    CRN_SLOT_RANKLET_MAPS, /* ranklets of one part and window */
};

/* One view on its way through the chain. All memory is the engine's; nothing may be kept past
 * finish. */
typedef struct crn_job {
    const crn_ops *ops;
    crn_context *context;
    const crn_classes *classes;
    crn_image received;    /* the maps as they came, dense; never written */
    crn_image maps;        /* what the next image stage reads and replaces; starts as `received` */
    crn_image intensity;   /* one u8 plane; data NULL when the view came without */
    crn_contours contours; /* the contours stage's enqueue fills it */
    crn_defects *defects;  /* its finish fills it */
} crn_job;

typedef struct crn_stage {
    const char *name;
    const char *help; /* one line */
    crn_stage_kind kind;
    const crn_param *params; /* over the settings struct, ended by a NULL key */
    size_t settings_bytes;
    /*
     * Once, when the file is read: checks what a table of parameters cannot say, and completes the
     * settings (a kernel from its name or file). NULL: nothing to do. 0, or negative errno with one
     * clause in *error. Settings own no memory: what is loaded stands in the struct itself.
     */
    int (*prepare)(void *settings, const crn_classes *classes, crn_error *error);
    /* Either half may be NULL. 0 or negative errno: the view then counts as unjudged. */
    int (*enqueue)(const void *settings, crn_job *job);
    int (*finish)(const void *settings, crn_job *job);
    /* The most textures (result.h) that its finish leaves for one defect; NULL: it makes none. */
    uint32_t (*textures)(const void *settings);
} crn_stage;

/*
 * Where an image stage writes: an image of that type with the size and layout of job->maps, dense,
 * in scratch memory that job->maps does not lie in. The stage then makes it job->maps. 0 or
 * -ENOMEM.
 */
int crn_job_output(crn_job *job, crn_type type, crn_image *ret_output);

/* f16 maps become f32 ones, exactly; others stay. For stages whose operators know no f16. 0 or
 * -ENOMEM. */
int crn_job_widen(crn_job *job);

/* All stages, in their usual running order, NULL-ended. */
extern const crn_stage *const crn_stages[];

/* The stage of that name, or NULL. */
const crn_stage *crn_stage_find(const char *name);

CRN_C_END

#endif
