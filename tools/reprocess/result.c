#include "tools/reprocess/result.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "src/formats/verdict_log/format.h"

static int fail(const crn_reprocess_result *result, crn_error *error)
{
    int code = errno ? errno : EIO;
    return crn_error_set(error, -code, "%s: cannot be written: %s; make room, and run it again",
                         result->path, strerror(code));
}

int crn_reprocess_result_open(const char *dir, int32_t number, uint64_t begun_ns,
                              crn_reprocess_result *ret_result, crn_error *error)
{
    unsigned char header[CRN_VERDICT_LOG_HEADER_BYTES];
    crn_verdict_log_path(ret_result->path, sizeof ret_result->path, dir, (uint64_t)number);
    ret_result->file = (crn_new_file){0};
    ret_result->verdicts = 0;
    int r = crn_new_file_open_stream(ret_result->path, &ret_result->file, error);
    if (r < 0)
        return r;
    crn_verdict_log_pack_header(header, begun_ns);
    if (fwrite(header, sizeof header, 1, ret_result->file.stream) == 1)
        return 0;
    r = fail(ret_result, error);
    crn_reprocess_result_drop(ret_result);
    return r;
}

int crn_reprocess_result_add(crn_reprocess_result *result, uint32_t lane, const void *verdict,
                             size_t size, crn_error *error)
{
    unsigned char record[CRN_VERDICT_RECORD_BYTES];
    if (size > CRN_VERDICT_LOG_VERDICT_MAX)
        return crn_error_set(error, -EMSGSIZE,
                             "%s: a verdict of %zu bytes is too large for a log; lower "
                             "limits.points or limits.defects",
                             result->path, size);
    crn_verdict_record_pack(record, lane, verdict, size);
    errno = 0;
    if (fwrite(record, sizeof record, 1, result->file.stream) < 1 ||
        fwrite(verdict, size, 1, result->file.stream) < 1)
        return fail(result, error);
    result->verdicts++;
    return 0;
}

int crn_reprocess_result_finish(crn_reprocess_result *result, bool again, crn_error *error)
{
    static const struct timespec old[2] = {{0}};
    errno = 0;
    if (fflush(result->file.stream) != 0 || (again && futimens(result->file.fd, old) < 0)) {
        int r = fail(result, error);
        crn_reprocess_result_drop(result);
        return r;
    }
    return crn_new_file_finish_synced(&result->file, error);
}

void crn_reprocess_result_drop(crn_reprocess_result *result)
{
    crn_new_file_drop(&result->file);
}

/* False if the recording was written after the result, or at the same moment. */
static bool is_newer(const struct stat *result, const char *recording)
{
    struct stat about;
    if (stat(recording, &about) < 0)
        return true; /* it cannot be judged again, either */
    return result->st_mtim.tv_sec != about.st_mtim.tv_sec
               ? result->st_mtim.tv_sec > about.st_mtim.tv_sec
               : result->st_mtim.tv_nsec > about.st_mtim.tv_nsec;
}

bool crn_reprocess_result_is_there(const char *dir, const crn_reprocess_segments *segments,
                                   int32_t index)
{
    char path[PATH_MAX];
    struct stat about;
    crn_verdict_log_path(path, sizeof path, dir, (uint64_t)index + 1);
    if (lstat(path, &about) < 0 || !S_ISREG(about.st_mode))
        return false;
    for (int32_t i = index - 1; i <= index + 1; i++)
        if (i >= 0 && i < segments->count && !is_newer(&about, segments->items[i].path))
            return false;
    return true;
}
