#include <string.h>

#include "stages/stage/stage.h"

extern const crn_stage crn_stage_convolve;
extern const crn_stage crn_stage_morphology;
extern const crn_stage crn_stage_haar;
extern const crn_stage crn_stage_contours;
extern const crn_stage crn_stage_ranklet;

const crn_stage *const crn_stages[] = {&crn_stage_convolve, &crn_stage_morphology, &crn_stage_haar,
                                       &crn_stage_contours, &crn_stage_ranklet,    NULL};

const crn_stage *crn_stage_find(const char *name)
{
    for (const crn_stage *const *stage = crn_stages; *stage; stage++)
        if (strcmp((*stage)->name, name) == 0)
            return *stage;
    return NULL;
}
