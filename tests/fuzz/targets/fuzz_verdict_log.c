/* libFuzzer's entry for a segment of the verdict log. */
#include <limits.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "tests/fuzz/targets/fuzz.h"

static char folder[] = "/tmp/cernita-fuzz-XXXXXX", path[PATH_MAX];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        if (!mkdtemp(folder))
            abort();
        crn_verdict_log_path(path, sizeof path, folder, 1);
        atexit(remove_folder);
    }
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    crn_verdict_reader *reader;
    crn_logged_verdict verdict;
    crn_error error;
    if (crn_verdict_reader_open(folder, &reader, &error) < 0)
        return 0;
    size_t steps = 0; /* each skips or returns something */
    while (crn_verdict_reader_next(reader, &verdict, &error) != 0)
        if (++steps > size + 2)
            abort();
    crn_verdict_reader_close(&reader);
    return 0;
}
