/*
 * The headers that authors of graders and CNNs may include, in C++: they compile without warnings,
 * and their functions link to C. All other sources are C.
 */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
#include <cmocka.h>
}

#include "src/publish/verdict.h"
#include "src/formats/view/wire.h"
#include "src/publish/status.h"

static void a_header_is_packed_and_checked(void **)
{
    crn_view_header header = {};
    header.sequence = 7;
    header.lane = 3;
    header.views = 4;
    header.height = 2;
    header.width = 3;
    header.channels = 5;
    header.type = CRN_U8;
    header.layout = CRN_HWC;
    header.payload_bytes = 30;
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(&header, bytes);
    crn_wire_rules rules = {};
    rules.max_bytes = 1000;
    crn_view_header back = {};
    assert_int_equal(crn_wire_parse(bytes, sizeof bytes, &rules, &back), CRN_WIRE_OK);
    assert_int_equal(back.sequence, 7);
    assert_int_equal(back.lane, 3);
    rules.channels = 6;
    crn_wire_fault fault = crn_wire_parse(bytes, sizeof bytes, &rules, &back);
    assert_string_equal(crn_wire_fault_names[fault], "channels");
}

static void names_and_messages_are_those_of_c(void **)
{
    assert_string_equal(crn_verdict_kind_names[CRN_VERDICT_PARTIAL], "partial");
    assert_string_equal(crn_view_reason_names[CRN_REASON_NO_SLOT], "no_slot");
    assert_string_equal(crn_refusal_name(CRN_REFUSAL_LANES), "lanes");
    crn_encoder *encoder = nullptr;
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 1);
    crn_encoder_pair_unsigned(encoder, "v", CRN_VERDICT_VERSION);
    crn_encoder_map_end(encoder);
    const unsigned char *bytes = nullptr;
    std::size_t size = 0;
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    assert_memory_equal(bytes, "{\"v\":1}", size);
    crn_encoder_free(&encoder);
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_packed_and_checked),
        cmocka_unit_test(names_and_messages_are_those_of_c),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
