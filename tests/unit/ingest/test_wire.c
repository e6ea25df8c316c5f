/* The view message's bytes: the position of each field, and the reasons for refusal. */
#include <string.h>

#include "src/formats/view/produced_view.h"
#include "src/formats/view/wire.h"
#include "tests/support/peers/bad_messages.h"
#include "tests/support/cmocka_prelude.h"

static const crn_wire_rules rules = {.max_bytes = 1 << 20,
                                     .channels = 3,
                                     .views = 16,
                                     .class_set = UINT64_C(0x8c7d6e5f4a3b2c1d),
                                     .slots = true};

/* A hand-written header, following the table of the message, every field a different number. */
static const unsigned char written[CRN_WIRE_HEADER_BYTES] = {
    'C',  'R',  'N',  '1',  0x80, 0x00, 0x01, 0x00, /* magic, header_bytes, flags */
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* sequence */
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* epoch */
    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* fruit */
    0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, /* captured_ns */
    0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, /* deadline_ns */
    0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, /* encoder */
    0x61, 0x62, 0x63, 0xf4, 0x02, 0x00, 0x04, 0x00, /* lane, view 2 of 4 */
    0x5f, 0x00, 0x00, 0x00, 0xff, 0x01, 0x00, 0x00, /* height 95, width 511 */
    0x03, 0x00, 0x00, 0x00, 0x02, 0x01, 0x00, 0x00, /* channels 3, f16, CHW, reserved */
    0x1d, 0x2c, 0x3b, 0x4a, 0x5f, 0x6e, 0x7d, 0x8c, /* class_set */
    0xc6, 0x71, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, /* payload_bytes 95 x 511 x 3 x 2 */
};

static void fields_stand_where_the_table_says(void **state)
{
    (void)state;
    crn_view_header header;
    assert_int_equal(crn_wire_parse(written, sizeof written, &rules, &header), CRN_WIRE_OK);
    assert_true(header.flags == CRN_WIRE_FLAG_INTENSITY);
    assert_true(header.sequence == UINT64_C(0x0807060504030201));
    assert_true(header.epoch == UINT64_C(0x1817161514131211));
    assert_true(header.fruit == UINT64_C(0x2827262524232221));
    assert_true(header.captured_ns == UINT64_C(0x3837363534333231));
    assert_true(header.deadline_ns == UINT64_C(0x4847464544434241));
    assert_true(header.encoder == UINT64_C(0x5857565554535251));
    assert_true(header.lane == UINT32_C(0xf4636261));
    assert_int_equal(header.view, 2);
    assert_int_equal(header.views, 4);
    assert_int_equal(header.height, 95);
    assert_int_equal(header.width, 511);
    assert_int_equal(header.channels, 3);
    assert_int_equal(header.type, CRN_F16);
    assert_int_equal(header.layout, CRN_CHW);
    assert_true(header.class_set == rules.class_set);
    assert_int_equal(header.payload_bytes, 95 * 511 * 3 * 2);
    assert_int_equal(crn_wire_intensity_bytes(&header), 95 * 511);
}

static void a_packed_header_is_the_written_one(void **state)
{
    (void)state;
    crn_view_header header;
    crn_wire_peek(written, &header);
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    memset(bytes, 0xee, sizeof bytes);
    crn_wire_pack(&header, bytes);
    assert_memory_equal(bytes, written, sizeof written);
}

static void a_pose_stands_behind_the_sizes(void **state)
{
    (void)state;
    static const unsigned char pose[] = {
        0x00, 0x00, 0x5e, 0x42, 0x00, 0x00, 0x3d, 0x42, /* 55.5, 47.25 */
        0x00, 0x00, 0x20, 0x42, 0x00, 0x00, 0x18, 0x42, /* 40, 38 */
        0x00, 0x00, 0xc0, 0xbf};                        /* -1.5 */
    unsigned char bytes[CRN_WIRE_HEADER_BYTES], packed[CRN_WIRE_HEADER_BYTES];
    crn_view_header header;
    memcpy(bytes, written, sizeof bytes);
    bytes[6] |= 8;
    memcpy(bytes + 96, pose, sizeof pose);
    assert_int_equal(crn_wire_parse(bytes, sizeof bytes, &rules, &header), CRN_WIRE_OK);
    assert_true(header.pose.x == 55.5F && header.pose.y == 47.25F);
    assert_true(header.pose.rx == 40 && header.pose.ry == 38 && header.pose.roll_rad == -1.5F);
    crn_wire_pack(&header, packed);
    assert_memory_equal(packed, bytes, sizeof bytes);
    header.flags &= (uint16_t)~CRN_WIRE_FLAG_POSE;
    crn_wire_pack(&header, packed);
    assert_memory_equal(packed, written, sizeof written);
}

static void a_producer_describes_a_view_as_its_header_does(void **state)
{
    (void)state;
    crn_view_header header;
    crn_wire_peek(written, &header);
    header.flags |= CRN_WIRE_FLAG_POSE;
    header.pose = (crn_wire_pose){1, 2, 3, 4, 5};
    crn_producer_view view = crn_produced_view(&header);
    assert_true(view.sequence == header.sequence && view.epoch == header.epoch);
    assert_true(view.fruit == header.fruit && view.captured_ns == header.captured_ns);
    assert_true(view.deadline_ns == header.deadline_ns && view.encoder == header.encoder);
    assert_true(view.class_set == header.class_set && view.lane == header.lane);
    assert_true(view.view == header.view && view.views == header.views);
    assert_true(view.height == header.height && view.width == header.width);
    assert_int_equal(crn_producer_tensor_bytes(&view), header.payload_bytes);
    assert_true(view.type == CRN_PRODUCER_F16 && view.layout == CRN_PRODUCER_CHW);
    assert_true(view.has_intensity && view.has_pose);
    assert_true(view.pose.x == 1 && view.pose.y == 2 && view.pose.rx == 3 && view.pose.ry == 4);
    assert_true(view.pose.roll_rad == 5);
    header.flags = 0;
    view = crn_produced_view(&header);
    assert_true(!view.has_intensity && !view.has_pose);
}

static void types_and_layouts_are_the_bytes_of_the_message(void **state)
{
    (void)state;
    for (int type = CRN_U8; type <= CRN_F32; type++)
        for (int layout = CRN_CHW; layout <= CRN_HWC; layout++) {
            crn_view_header header = crn_message_header(&rules);
            crn_message_reshape(&header, 9, 4, (crn_type)type, (crn_layout)layout, false);
            unsigned char bytes[CRN_WIRE_HEADER_BYTES];
            crn_wire_pack(&header, bytes);
            assert_int_equal(bytes[76], type);
            assert_int_equal(bytes[77], layout);
            crn_view_header parsed;
            assert_int_equal(crn_wire_parse(bytes, sizeof bytes, &rules, &parsed), CRN_WIRE_OK);
            assert_int_equal(parsed.type, type);
            assert_int_equal(parsed.layout, layout);
            assert_int_equal(parsed.payload_bytes, 9 * 4 * 3 * crn_type_bytes(parsed.type));
            assert_int_equal(crn_wire_intensity_bytes(&parsed), 0);
        }
}

/* Checks a whole message as ingest does. */
static crn_wire_fault check(const crn_message *message, crn_view_header *ret_header)
{
    crn_wire_part parts[CRN_MESSAGE_PARTS_MAX];
    for (size_t i = 0; i < message->parts; i++)
        parts[i] = (crn_wire_part){message->part[i].bytes, message->part[i].size};
    return crn_wire_check(parts, message->parts, &rules, ret_header);
}

static void every_fault_gets_its_reason_and_leaves_the_header_alone(void **state)
{
    (void)state;
    bool seen[CRN_WIRE_MESSAGE_FAULTS] = {false};
    for (size_t i = 0; i < crn_message_bad_count(); i++) {
        crn_view_header good = crn_message_header(&rules);
        crn_message message;
        crn_message_make_bad(i, &good, &rules, &message);
        crn_view_header untouched, header;
        memset(&untouched, 0xa5, sizeof untouched);
        memcpy(&header, &untouched, sizeof header);
        crn_wire_fault fault = check(&message, &header);
        if (fault != message.fault)
            fail_msg("%s: %s, not %s", message.name, crn_wire_fault_names[fault],
                     crn_wire_fault_names[message.fault]);
        assert_memory_equal(&header, &untouched, sizeof header);
        if (crn_wire_parse(message.part[0].bytes, message.part[0].size, &rules, &header) != 0)
            assert_memory_equal(&header, &untouched, sizeof header);
        assert_false(crn_message_is_acceptable(&message, &rules));
        seen[fault] = true;
        crn_message_done(&message);
    }
    for (int fault = 1; fault < CRN_WIRE_MESSAGE_FAULTS; fault++)
        if (!seen[fault])
            fail_msg("no message has the fault %s", crn_wire_fault_names[fault]);
}

static void good_messages_pass_with_and_without_intensity(void **state)
{
    (void)state;
    for (int intensity = 0; intensity < 2; intensity++) {
        crn_view_header good = crn_message_header(&rules), header;
        crn_message_reshape(&good, 20, 30, CRN_F32, CRN_CHW, intensity);
        crn_message message;
        crn_message_make_good(&good, &message);
        assert_int_equal(message.parts, 2 + intensity);
        assert_int_equal(check(&message, &header), CRN_WIRE_OK);
        assert_true(crn_message_is_acceptable(&message, &rules));
        assert_true(crn_message_matches(&header, message.part[1].bytes, message.part[2].bytes));
        crn_message_done(&message);
    }
}

static crn_wire_fault parse(const crn_view_header *header, const crn_wire_rules *by)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(header, bytes);
    crn_view_header parsed;
    return crn_wire_parse(bytes, sizeof bytes, by, &parsed);
}

static void the_size_limit_is_inclusive_and_counts_the_intensity(void **state)
{
    (void)state;
    crn_wire_rules tight = rules;
    crn_view_header header = crn_message_header(&rules);
    crn_message_reshape(&header, 10, 10, CRN_U8, CRN_HWC, true);
    tight.max_bytes = 400;
    assert_int_equal(parse(&header, &tight), CRN_WIRE_OK);
    tight.max_bytes = 399;
    assert_int_equal(parse(&header, &tight), CRN_WIRE_TOO_LARGE);
    crn_message_reshape(&header, 10, 10, CRN_U8, CRN_HWC, false);
    tight.max_bytes = 300;
    assert_int_equal(parse(&header, &tight), CRN_WIRE_OK);
    tight.max_bytes = 299;
    assert_int_equal(parse(&header, &tight), CRN_WIRE_TOO_LARGE);
}

static void a_sum_beyond_64_bits_is_too_large_even_without_a_limit(void **state)
{
    (void)state;
    crn_wire_rules loose = {.max_bytes = UINT64_MAX};
    crn_view_header header = crn_message_header(&rules);
    header.channels = 3;
    /* 4 x 3 x (2^31 - 1) x 715827883 is just below 2^64; with the intensity it exceeds it. */
    crn_message_reshape(&header, INT32_MAX, 715827883, CRN_F32, CRN_CHW, false);
    assert_int_equal(parse(&header, &loose), CRN_WIRE_OK);
    crn_message_reshape(&header, INT32_MAX, 715827883, CRN_F32, CRN_CHW, true);
    assert_int_equal(parse(&header, &loose), CRN_WIRE_TOO_LARGE);
}

static void view_numbers_keep_to_their_limits(void **state)
{
    (void)state;
    static const struct {
        uint16_t view, views;
        crn_wire_fault fault;
    } cases[] = {
        {0, 0, CRN_WIRE_OK},          {15, 0, CRN_WIRE_OK},
        {16, 0, CRN_WIRE_VIEW_INDEX}, {0, 1, CRN_WIRE_OK},
        {1, 1, CRN_WIRE_VIEW_INDEX},  {15, 16, CRN_WIRE_OK},
        {3, 4, CRN_WIRE_OK},          {4, 4, CRN_WIRE_VIEW_INDEX},
        {0, 17, CRN_WIRE_VIEW_INDEX}, {65535, 65535, CRN_WIRE_VIEW_INDEX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crn_view_header header = crn_message_header(&rules);
        header.view = cases[i].view;
        header.views = cases[i].views;
        assert_int_equal(parse(&header, &rules), cases[i].fault);
    }
}

static void a_class_set_of_0_is_not_checked_on_either_side(void **state)
{
    (void)state;
    crn_view_header header = crn_message_header(&rules);
    assert_int_equal(parse(&header, &rules), CRN_WIRE_OK);
    header.class_set = 0;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_OK);
    header.class_set = 1;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_CLASS_SET);
    crn_wire_rules open = {.max_bytes = 1 << 20};
    assert_int_equal(parse(&header, &open), CRN_WIRE_OK);
    header.views = 0;
    header.view = UINT16_MAX;
    header.channels = 7;
    crn_message_reshape(&header, 3, 3, CRN_U8, CRN_CHW, false);
    assert_int_equal(parse(&header, &open), CRN_WIRE_OK);
}

/* Of several faults the most informative one is reported. */
static void the_most_telling_fault_is_told(void **state)
{
    (void)state;
    crn_view_header header = crn_message_header(&rules);
    header.channels = 5;
    header.class_set = 7;
    header.view = 99;
    crn_message_reshape(&header, 5000, 5000, CRN_U8, CRN_HWC, false);
    assert_int_equal(parse(&header, &rules), CRN_WIRE_CHANNELS);
    header.channels = 3;
    crn_message_reshape(&header, 5000, 5000, CRN_U8, CRN_HWC, false);
    assert_int_equal(parse(&header, &rules), CRN_WIRE_CLASS_SET);
    header.class_set = 0;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_TOO_LARGE);
    header.payload_bytes--;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_PAYLOAD_SIZE);
    header.width = 0;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_SHAPE);
    header.layout = (crn_layout)0;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_LAYOUT);
    header.type = (crn_type)0;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_TYPE);
    header.flags = 16;
    assert_int_equal(parse(&header, &rules), CRN_WIRE_FLAGS);
    crn_view_header parsed;
    assert_int_equal(crn_wire_parse("HTTP/1.1", 8, &rules, &parsed), CRN_WIRE_MAGIC);
    assert_int_equal(crn_wire_parse("CRN1", 4, &rules, &parsed), CRN_WIRE_HEADER_SIZE);
    assert_int_equal(crn_wire_parse(NULL, 0, &rules, &parsed), CRN_WIRE_HEADER_SIZE);
    static const crn_wire_part nonsense[CRN_WIRE_PARTS_MAX] = {{"x", 1}, {"x", 1}, {"x", 1}};
    assert_int_equal(crn_wire_check(nonsense, 3, &rules, &parsed), CRN_WIRE_HEADER_SIZE);
    assert_int_equal(crn_wire_check(nonsense, 4, &rules, &parsed), CRN_WIRE_PARTS);
    assert_int_equal(crn_wire_check(nonsense, 1, &rules, &parsed), CRN_WIRE_PARTS);
}

static void views_of_slots_are_a_header_with_a_reference_or_alone(void **state)
{
    (void)state;
    crn_view_header good = crn_message_header(&rules), header;
    crn_wire_rules without = rules;
    without.slots = false;
    unsigned char bytes[CRN_WIRE_HEADER_BYTES], reference[CRN_SLOTS_REFERENCE_BYTES] = {1};
    const crn_wire_part parts[] = {{bytes, sizeof bytes}, {reference, sizeof reference}};
    good.flags = CRN_WIRE_FLAG_INTENSITY | CRN_SLOTS_FLAG_IN_SLOT;
    crn_wire_pack(&good, bytes);
    assert_int_equal(crn_wire_check(parts, 2, &rules, &header), CRN_WIRE_OK);
    assert_true(crn_wire_is_in_slot(&header) && !crn_wire_got_no_slot(&header));
    assert_int_equal(crn_wire_check(parts, 2, &without, &header), CRN_WIRE_FLAGS);
    good.flags = CRN_SLOTS_FLAG_NO_SLOT;
    crn_wire_pack(&good, bytes);
    assert_int_equal(crn_wire_check(parts, 1, &rules, &header), CRN_WIRE_OK);
    assert_true(crn_wire_got_no_slot(&header) && !crn_wire_is_in_slot(&header));
    assert_int_equal(crn_wire_check(parts, 1, &without, &header), CRN_WIRE_PARTS);
}

static void every_fault_has_a_label_of_its_own_and_a_cure(void **state)
{
    (void)state;
    assert_string_equal(crn_wire_fault_names[CRN_WIRE_OK], "ok");
    for (int i = 0; i < CRN_WIRE_FAULTS; i++) {
        assert_non_null(crn_wire_fault_names[i]);
        assert_non_null(crn_wire_fault_hints[i]);
        assert_int_equal(strspn(crn_wire_fault_names[i], "abcdefghijklmnopqrstuvwxyz_"),
                         strlen(crn_wire_fault_names[i]));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(crn_wire_fault_names[i], crn_wire_fault_names[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_stand_where_the_table_says),
        cmocka_unit_test(a_packed_header_is_the_written_one),
        cmocka_unit_test(a_pose_stands_behind_the_sizes),
        cmocka_unit_test(a_producer_describes_a_view_as_its_header_does),
        cmocka_unit_test(types_and_layouts_are_the_bytes_of_the_message),
        cmocka_unit_test(every_fault_gets_its_reason_and_leaves_the_header_alone),
        cmocka_unit_test(good_messages_pass_with_and_without_intensity),
        cmocka_unit_test(the_size_limit_is_inclusive_and_counts_the_intensity),
        cmocka_unit_test(a_sum_beyond_64_bits_is_too_large_even_without_a_limit),
        cmocka_unit_test(view_numbers_keep_to_their_limits),
        cmocka_unit_test(a_class_set_of_0_is_not_checked_on_either_side),
        cmocka_unit_test(the_most_telling_fault_is_told),
        cmocka_unit_test(views_of_slots_are_a_header_with_a_reference_or_alone),
        cmocka_unit_test(every_fault_has_a_label_of_its_own_and_a_cure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
