/* libFuzzer's entry for what a producer of slots says, and for the line's answer to it. */
#include "src/formats/slots/slots.h"
#include "src/ingest/slots/answer.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const crn_config config = {.ingest.slots = {.slots = 16, .producers = 4},
                                      .limits = {.view_mib = 16, .slots = 64}};
    crn_slots_hello hello;
    crn_slots_reference reference;
    crn_slots_answer answer;
    crn_slots_parse_hello(data, size, &hello);
    crn_slots_parse_reference(data, size, &reference);
    crn_slots_parse_answer(data, size, &answer);
    crn_slots_decide(&config, data, size, &answer);
    return 0;
}
