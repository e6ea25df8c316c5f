#include "tests/support/line/daemon.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cleanup.h"

void daemon_write_config(const char *folder, const char *name, const char *yaml, char ret_path[128])
{
    snprintf(ret_path, 128, "%s/%s", folder, name);
    FILE *file = fopen(ret_path, "w");
    assert_non_null(file);
    fprintf(file, "%s", yaml);
    assert_int_equal(fclose(file), 0);
}

void daemon_good_config(const char *folder, char ret_path[128])
{
    daemon_config_with(folder, "auto", ret_path);
}

void daemon_config_with(const char *folder, const char *backend, char ret_path[128])
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: %s, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "monitor: {http: ''}\n", /* the default is one port for the whole machine */
             folder, folder, folder, backend);
    daemon_write_config(folder, "line.yaml", yaml, ret_path);
}

void daemon_start_as(daemon_process *daemon, const char *program, const char *const arguments[],
                     void (*prepare)(void))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    memset(daemon, 0, sizeof *daemon);
    daemon->pid = fork();
    assert_true(daemon->pid >= 0);
    if (daemon->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (prepare)
            prepare();
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    crn_cleanup_add_process(daemon->pid);
    close(ends[1]);
    daemon->output = fdopen(ends[0], "r");
    assert_non_null(daemon->output);
}

void daemon_start(daemon_process *daemon, const char *const arguments[])
{
    daemon_start_as(daemon, CRN_BIN "/cernitad", arguments, NULL);
}

void daemon_read_until(daemon_process *daemon, const char *wanted)
{
    while (!wanted || !strstr(daemon->text, wanted)) {
        size_t used = strlen(daemon->text);
        assert_true(used + 1 < sizeof daemon->text);
        if (!fgets(daemon->text + used, (int)(sizeof daemon->text - used), daemon->output)) {
            if (wanted)
                fail_msg("never said '%s', but: %s", wanted, daemon->text);
            return;
        }
    }
}

int daemon_end(daemon_process *daemon)
{
    int status = 0;
    daemon_read_until(daemon, NULL);
    fclose(daemon->output);
    assert_int_equal(crn_cleanup_wait(daemon->pid, &status), daemon->pid);
    return status;
}

void daemon_start_line(daemon_process *daemon, const char *folder)
{
    char path[128];
    daemon_good_config(folder, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start(daemon, arguments);
    daemon_read_until(daemon, "ready:");
}

int daemon_make_folder(char ret_folder[64])
{
    strcpy(ret_folder, "/tmp/cernita-test-XXXXXX");
    return mkdtemp(ret_folder) ? 0 : -1;
}

int daemon_remove_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    return rmdir(folder);
}
