/* libFuzzer's entry for a sorter's rules: compiled and asked about a fruit, or refused with a
 * fault. */
#include "tools/common/rules/rules.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const crn_decoded nothing;
    crn_rules *rules;
    crn_rule_faults faults = {.count = 0};
    if (crn_rules_create(&rules) < 0)
        return 0;
    int r = crn_rules_add(rules, (const char *)data, size, &faults);
    if (r < 0 && faults.count == 0)
        abort();
    if (r >= 0)
        crn_rules_evaluate(rules, 0, &nothing);
    crn_rules_free(&rules);
    return 0;
}
