#include "src/formats/verdict/fields.h"

#include <stddef.h>

#define FIELD_ROW(map, name, type, unit, help) {#name, CRN_FIELD_##type, unit, help},
#define FIELDS_DEFINE(map)                                                                         \
    const crn_field crn_##map##_fields[] = {CRN_FIELDS_##map(FIELD_ROW, map){NULL, 0, NULL, NULL}};

FIELDS_DEFINE(verdict)
FIELDS_DEFINE(time)
FIELDS_DEFINE(view)
FIELDS_DEFINE(total)
FIELDS_DEFINE(defect)
FIELDS_DEFINE(texture)
FIELDS_DEFINE(surface)
FIELDS_DEFINE(pose)
FIELDS_DEFINE(measure)
FIELDS_DEFINE(spot)
