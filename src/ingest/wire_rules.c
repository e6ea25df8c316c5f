#include "src/ingest/wire_rules.h"

crn_wire_rules crn_ingest_wire_rules(const crn_config *config)
{
    return (crn_wire_rules){
        .max_bytes = (uint64_t)config->limits.view_mib << 20,
        .channels = (uint32_t)config->classes.count,
        .views = (uint32_t)config->limits.views,
        .class_set = crn_classes_hash(&config->classes),
    };
}
