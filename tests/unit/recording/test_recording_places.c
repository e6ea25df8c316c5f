/* Views of a recording are read where a pass over the headers has met them. */
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

static void a_view_is_read_where_it_was_met(void **state)
{
    (void)state;
    crn_recording_position positions[3];
    crn_recorded_view got;
    crn_error error;
    recorded_write_small(3);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < 3; i++) {
        positions[i] = crn_recording_tell(reader);
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
    }
    assert_int_equal(crn_recording_tell(reader).offset, 0);
    for (int i = 2; i >= 0; i--) {
        crn_recorded_view want = recorded_small((uint64_t)i);
        crn_recording_go_to(reader, positions[i]);
        assert_int_equal(crn_recording_next(reader, &got, &error), 1);
        recorded_assert_same(&want, &got);
    }
    crn_recording_end(&reader);
}

/* A reader that starts there numbers views and pages as one that has read the file from its begin.
 */
static void faults_name_the_view_of_the_file(void **state)
{
    (void)state;
    crn_recording_position positions[3];
    crn_recorded_view got;
    crn_error error;
    recorded_write_small(3);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < 3; i++) {
        positions[i] = crn_recording_tell(reader);
        assert_int_equal(positions[i].view, i);
        assert_int_equal(positions[i].page, 4 * i);
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
    }
    crn_recording_end(&reader);
    assert_int_equal(truncate(recorded_path, (off_t)positions[2].offset + 8), 0);
    reader = recorded_open(recorded_path);
    crn_recording_go_to(reader, positions[2]);
    assert_int_equal(crn_recording_next(reader, &got, &error), 0);
    assert_non_null(strstr(error.text, "ends within view 2 (page 8)"));
    crn_recording_end(&reader);
    recorded_write_small(3);
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
        crn_recording_go_to(reader, (crn_recording_position){.offset = wrong[i]});
        assert_true(crn_recording_next(reader, &got, &error) <= 0);
        assert_int_not_equal(error.text[0], '\0');
        crn_recording_end(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_is_read_where_it_was_met),
        cmocka_unit_test(faults_name_the_view_of_the_file),
        cmocka_unit_test(a_photograph_is_read_without_the_maps),
        cmocka_unit_test(a_wrong_place_is_a_fault),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
