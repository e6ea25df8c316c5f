/* libFuzzer's entry for a sorter's log of outcomes and its reports. */
#include "src/formats/outcomes/outcome.h"
#include "src/formats/outlets/report.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crn_outcome_entry entry;
    static crn_outlet_report report;
    crn_error error;
    crn_outcome_parse(data, size, &entry, &error);
    crn_outlet_report_parse((const char *)data, size, &report, &error);
    return 0;
}
