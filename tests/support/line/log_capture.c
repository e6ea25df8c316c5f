#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/line/log_capture.h"

#include "tests/support/cleanup.h"

/* For a test that fails meanwhile: what was caught, such as the reason, is printed. */
static void give_back(void *stderr_copy)
{
    char text[8192];
    ssize_t size = pread(STDERR_FILENO, text, sizeof text, 0);
    (void)dup2((int)(intptr_t)stderr_copy, STDERR_FILENO);
    close((int)(intptr_t)stderr_copy);
    if (size > 0 && write(STDERR_FILENO, text, (size_t)size) < 0)
        return;
}

void crn_log_capture_start(crn_log_capture *caught)
{
    caught->file = memfd_create("log", MFD_CLOEXEC);
    assert_true(caught->file >= 0);
    caught->stderr_copy = dup(STDERR_FILENO);
    assert_true(caught->stderr_copy >= 0);
    assert_true(dup2(caught->file, STDERR_FILENO) >= 0);
    crn_cleanup_add(give_back, (void *)(intptr_t)caught->stderr_copy);
}

const char *crn_log_capture_stop(crn_log_capture *caught)
{
    crn_cleanup_drop((void *)(intptr_t)caught->stderr_copy);
    assert_true(dup2(caught->stderr_copy, STDERR_FILENO) >= 0);
    close(caught->stderr_copy);
    ssize_t size = pread(caught->file, caught->text, sizeof caught->text - 1, 0);
    assert_true(size >= 0);
    caught->text[size] = '\0';
    close(caught->file);
    return caught->text;
}
