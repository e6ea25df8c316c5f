/* Runs cernitad as a process in a folder of its own: start, output, exit. */
#ifndef CRN_TESTS_SUPPORT_DAEMON_H
#define CRN_TESTS_SUPPORT_DAEMON_H

#include <stdio.h>
#include <sys/types.h>

/* A running daemon and its output so far. */
typedef struct daemon_process {
    pid_t pid;
    FILE *output; /* its stdout and stderr */
    char text[16384];
} daemon_process;

/* Creates a folder for configurations and sockets; files only. 0 or -1. */
int daemon_make_folder(char ret_folder[64]);
int daemon_remove_folder(const char *folder);

/* Writes the file `name` into the folder; returns its path in ret_path. */
void daemon_write_config(const char *folder, const char *name, const char *yaml,
                         char ret_path[128]);

/* Writes the configuration of a small working line with sockets in the folder. */
void daemon_good_config(const char *folder, char ret_path[128]);

/* The same with the given backend. */
void daemon_config_with(const char *folder, const char *backend, char ret_path[128]);

/* Starts the daemon with these NULL-terminated arguments, the first being its name. */
void daemon_start(daemon_process *daemon, const char *const arguments[]);

/* Starts it from another path, calling `prepare` (may be NULL) in the new process first. */
void daemon_start_as(daemon_process *daemon, const char *program, const char *const arguments[],
                     void (*prepare)(void));

/* Starts the small line and waits until it is ready. */
void daemon_start_line(daemon_process *daemon, const char *folder);

/* Reads until `wanted` was printed, or (NULL) until the process closed its output. */
void daemon_read_until(daemon_process *daemon, const char *wanted);

/* Waits for the process to end; returns its waitpid status. */
int daemon_end(daemon_process *daemon);

#endif
