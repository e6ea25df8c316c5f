/* Views of a recording are read where a pass over the headers has met them. */
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

static void a_view_is_read_where_it_was_met(void **state)
{
    (void)state;
    uint64_t offsets[3];
    crn_recorded_view got;
    crn_error error;
    recorded_write_small(3);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < 3; i++) {
        offsets[i] = crn_recording_offset(reader);
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
    }
    assert_int_equal(crn_recording_offset(reader), 0);
    for (int i = 2; i >= 0; i--) {
        crn_recorded_view want = recorded_small((uint64_t)i);
        crn_recording_go_to(reader, offsets[i]);
        assert_int_equal(crn_recording_next(reader, &got, &error), 1);
        recorded_assert_same(&want, &got);
    }
    crn_recording_end(&reader);
}

static void a_photograph_is_read_without_the_maps(void **state)
{
    (void)state;
    crn_recorded_view got;
    crn_error error;
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (uint64_t i = 0; i < 3; i++) {
        crn_recorded_view want = recorded_small(i);
        assert_int_equal(crn_recording_intensity(reader, &got, &error), 1);
        recorded_assert_header(&want, &got);
        assert_null(got.maps);
        assert_memory_equal(got.intensity, want.intensity, want.header.height * want.header.width);
    }
    crn_recording_end(&reader);
}

static void a_wrong_place_is_a_fault(void **state)
{
    (void)state;
    crn_recorded_view got;
    crn_error error;
    static const uint64_t wrong[] = {1, 17, 1000, UINT64_MAX, UINT64_MAX / 2};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        crn_recording_reader *reader = recorded_open(recorded_path);
        crn_recording_go_to(reader, wrong[i]);
        assert_true(crn_recording_next(reader, &got, &error) <= 0);
        assert_int_not_equal(error.text[0], '\0');
        crn_recording_end(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_is_read_where_it_was_met),
        cmocka_unit_test(a_photograph_is_read_without_the_maps),
        cmocka_unit_test(a_wrong_place_is_a_fault),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
