#include "stages/names.h"

#include <string.h>

const char *const crn_connectivity_names[] = {"low", "high", NULL};
const char *const crn_orientation_names[] = {"low", "high", NULL};
const char *const crn_border_names[] = {"open", "closed", NULL};
const char *const crn_morphology_operation_names[] = {"erode",    "dilate", "open",     "close",
                                                      "gradient", "tophat", "blackhat", NULL};
const char *const crn_element_shape_names[] = {"rect", "disk", "cross", NULL};
const char *const crn_convolve_border_names[] = {"replicate", "reflect", "wrap", "zero", NULL};

int crn_name_find(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(text, names[i]))
            return i;
    return -1;
}
