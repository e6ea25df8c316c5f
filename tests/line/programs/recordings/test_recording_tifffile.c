/* Recordings open completely in an ordinary TIFF library, Debian's tifffile, if installed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

#define VIEWS 24

/* Every type, both layouts, with and without intensity, one channel and several. */
static crn_recorded_view view_of(uint64_t i)
{
    return recorded_view(i, (crn_type)(1 + i % 3), (crn_layout)(1 + i / 3 % 2), i < 12 ? 1 : 5, 11,
                         23, i / 6 % 2);
}

static uint64_t fnv1a(uint64_t hash, const unsigned char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void tifffile_sees_every_view_with_all_its_fields(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import tifffile' 2>/dev/null"))
        skip();
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = view_of(i);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);

    char command[300];
    snprintf(command, sizeof command,
             "/usr/bin/python3 %s/line/programs/recordings/check_recording.py %s", CRN_TEST_DATA,
             recorded_path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = view_of(i);
        uint64_t sequence = 0, got = 0;
        uint64_t hash = fnv1a(UINT64_C(0xcbf29ce484222325), view.maps, view.header.payload_bytes);
        if (view.intensity)
            hash = fnv1a(hash, view.intensity, crn_wire_intensity_bytes(&view.header));
        assert_int_equal(fscanf(out, "%" SCNu64 " %" SCNx64, &sequence, &got), 2);
        assert_true(sequence == view.header.sequence && got == hash);
    }
    assert_int_equal(fgetc(out), '\n');
    assert_int_equal(fgetc(out), EOF);
    assert_int_equal(pclose(out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tifffile_sees_every_view_with_all_its_fields),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
