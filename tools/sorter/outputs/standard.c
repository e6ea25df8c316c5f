#include "tools/sorter/outputs/standard.h"

#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

/* A pipe that can be written to takes a line below PIPE_BUF whole, without waiting. */
void crn_standard_output_send(crn_standard_output *output, const char *line, size_t length)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool is_ready = poll(&ready, 1, 0) > 0 && (ready.revents & POLLOUT);
    if (!is_ready || write(STDOUT_FILENO, line, length) != (ssize_t)length)
        output->dropped++;
}
