#include "tests/support/line/decoded_verdict.h"

#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"

crn_decoded *verdict_decode(const void *bytes, size_t size)
{
    crn_error error;
    crn_decoded *decoded = NULL;
    crn_messagepack_json packed;
    if (crn_messagepack_json_init(&packed, bytes, size, &error) < 0 ||
        crn_decode(&packed, &decoded, &error) < 0)
        fail_msg("%s", error.text);
    crn_messagepack_json_done(&packed);
    return decoded;
}

crn_decoded *line_receive_decoded(line_fixture *fixture)
{
    size_t size;
    unsigned char *bytes = line_receive_bytes(fixture, CRN_FIXTURE_PATIENCE_MS, &size);
    assert_non_null(bytes);
    crn_decoded *decoded = verdict_decode(bytes, size);
    free(bytes);
    return decoded;
}
