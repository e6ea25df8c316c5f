/* libFuzzer's entry for a line's file: settings, which print, or faults. */
#include "stages/config/config.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static crn_config config;
    if (crn_config_parse("fuzz.yaml", (const char *)data, size, fuzz_nowhere(), &config) < 0)
        return 0;
    crn_config_print(&config, fuzz_nowhere());
    crn_config_done(&config);
    return 0;
}
