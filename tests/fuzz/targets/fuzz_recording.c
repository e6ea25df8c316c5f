/* libFuzzer's entry for recordings: each view is read, and skipped. */
#include "src/formats/recording/recording.h"
#include "tests/fuzz/targets/fuzz.h"

static void read_views(const char *path, int (*next)(crn_recording_reader *reader,
                                                     crn_recorded_view *ret_view, crn_error *error))
{
    crn_recording_reader *reader;
    crn_recorded_view view;
    crn_error error;
    if (crn_recording_open(path, &reader, &error) < 0)
        return;
    for (int i = 0; i < 1000 && next(reader, &view, &error) > 0; i++) {
        volatile unsigned char last = 0;
        if (view.maps) /* it has as many bytes as its header says */
            last = view.maps[view.header.payload_bytes - 1];
        (void)last;
    }
    crn_recording_end(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    read_views(path, crn_recording_next);
    read_views(path, crn_recording_intensity);
    close(fd);
    return 0;
}
