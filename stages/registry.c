#include <string.h>

#include "stages/stage.h"

extern const crn_stage crn_stage_contours;

const crn_stage *const crn_stages[] = {&crn_stage_contours, NULL};

const crn_stage *crn_stage_find(const char *name)
{
    for (const crn_stage *const *stage = crn_stages; *stage; stage++)
        if (strcmp((*stage)->name, name) == 0)
            return *stage;
    return NULL;
}
