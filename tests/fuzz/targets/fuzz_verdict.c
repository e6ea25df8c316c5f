/* libFuzzer's entry for verdicts and status messages, MessagePack or JSON, as readers have them. */
#include <errno.h>

#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/verdict/decode.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static crn_decoded_status status;
    crn_decoded *verdict = NULL;
    crn_error error = {""};
    crn_messagepack_json packed;
    if (crn_messagepack_json_init(&packed, data, size, &error) < 0)
        return 0;
    int r = crn_decode(&packed, &verdict, &error);
    if (r != 0 && r != -EBADMSG)
        abort();
    crn_decoded_free(&verdict);
    crn_decode_status(&packed, &status, &error);
    if (crn_messagepack_json_print(&packed, fuzz_nowhere()) != 0)
        abort();
    crn_messagepack_json_done(&packed);
    return 0;
}
