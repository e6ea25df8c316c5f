/* The rules that fruits follow. */
#include "src/fruit/fruit.h"

#include "stages/base/clock.h"

#define RULE_MAX (CRN_NEVER_NS / 8) /* so that sums of times cannot overflow */

bool crn_fruit_rules_are_sound(const crn_fruit_rules *rules)
{
    return rules->open_fruits >= 1 && rules->open_fruits < INT32_MAX / 4 && rules->views >= 1 &&
           rules->views <= CRN_FRUIT_VIEWS_MAX && rules->workers >= 1 && rules->budget_ns >= 0 &&
           rules->assemble_ns >= 0 && rules->guard_ns >= 0 && rules->budget_ns < RULE_MAX &&
           rules->assemble_ns < RULE_MAX && rules->guard_ns < RULE_MAX &&
           rules->judged_fruits >= 1 && rules->judged_fruits < INT32_MAX / 4 &&
           rules->straggler_ns >= 0 && rules->straggler_ns < RULE_MAX;
}

crn_fruit_rules crn_fruit_rules_of(const crn_config *config)
{
    return (crn_fruit_rules){
        .open_fruits = (int32_t)config->limits.open_fruits,
        .views = (int32_t)config->limits.views,
        .workers = (int32_t)config->run.workers,
        .budget_ns = config->latency.budget_ms * CRN_NS_PER_MS,
        .assemble_ns = config->latency.assemble_ms * CRN_NS_PER_MS,
        .guard_ns = config->latency.guard_ms * CRN_NS_PER_MS,
        .judged_fruits = (int32_t)config->limits.judged_fruits,
        .straggler_ns = config->latency.straggler_ms * CRN_NS_PER_MS,
        .config = config,
    };
}
