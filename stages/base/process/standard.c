#include "stages/base/process/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/log.h"

static const char *name;

static void check_output(void)
{
    bool failed_before = ferror(stdout);
    errno = 0;
    bool failed_now = fclose(stdout) != 0;
    if (!failed_before && !failed_now)
        return;
    fprintf(stderr, "%s: cannot write to standard output: %s\n", name,
            errno ? strerror(errno) : "an earlier write failed; is the disk full?");
    _exit(1);
}

void crn_standard_streams(const char *program)
{
    /* Read-only for 0 and 1, so that writes to an output that nobody receives fail; messages may
     * be lost. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(1); /* no /dev/null, and no way to report it */
    crn_log_find_journal();
    name = program;
    atexit(check_output);
}
