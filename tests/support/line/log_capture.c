#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/line/log_capture.h"

#include "tests/support/cmocka_prelude.h"

void crn_log_capture_start(crn_log_capture *caught)
{
    caught->file = memfd_create("log", MFD_CLOEXEC);
    assert_true(caught->file >= 0);
    caught->stderr_copy = dup(STDERR_FILENO);
    assert_true(caught->stderr_copy >= 0);
    assert_true(dup2(caught->file, STDERR_FILENO) >= 0);
}

const char *crn_log_capture_stop(crn_log_capture *caught)
{
    assert_true(dup2(caught->stderr_copy, STDERR_FILENO) >= 0);
    close(caught->stderr_copy);
    ssize_t size = pread(caught->file, caught->text, sizeof caught->text - 1, 0);
    assert_true(size >= 0);
    caught->text[size] = '\0';
    close(caught->file);
    return caught->text;
}
