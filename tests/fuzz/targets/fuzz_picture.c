/* libFuzzer's entry for pictures: TIFF, PNG, JPEG and .npy, told apart by their bytes. */
#include "stages/picture/picture.h"
#include "tests/fuzz/targets/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    crn_picture picture;
    crn_error error;
    int fd = fuzz_file(data, size, path);
    if (crn_picture_probe(path, &picture, &error) == 0 &&
        crn_picture_read(path, &picture, &error) == 0)
        crn_picture_free(&picture);
    close(fd);
    return 0;
}
