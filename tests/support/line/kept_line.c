#include "tests/support/line/kept_line.h"

#include <signal.h>
#include <stdio.h>

#include "tests/support/folder.h"
#include "tests/support/programs/shell.h"

void kept_line_write(const char *level, const char *rest)
{
    char yaml[1024], path[128];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: rot, level: %s}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "monitor: {http: ''}\n"
             "control: {path: '%s/control'}\n"
             "state: {dir: '%s/state'}\n"
             "%s",
             test_folder, test_folder, test_folder, level, test_folder, test_folder, rest);
    daemon_write_config(test_folder, "line.yaml", yaml, path);
}

void kept_line_start(daemon_process *line)
{
    char path[128];
    snprintf(path, sizeof path, "%s/line.yaml", test_folder);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start_as(line, CRN_BIN "/cernitad", arguments, NULL);
    daemon_read_until(line, "ready: ");
}

void kept_line_end(daemon_process *line, int number)
{
    kill(line->pid, number);
    daemon_end(line);
}

int kept_line_control(const char *request, char *ret_output, size_t bytes)
{
    char command[512];
    snprintf(command, sizeof command, CRN_BIN "/cernitactl --socket %s/control %s 2>&1",
             test_folder, request);
    return crn_test_shell(command, ret_output, bytes);
}
