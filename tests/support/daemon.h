/* cernitad as a process, in a folder of its own: started, read, ended. */
#ifndef CRN_TESTS_SUPPORT_DAEMON_H
#define CRN_TESTS_SUPPORT_DAEMON_H

#include <stdio.h>
#include <sys/types.h>

/* A running daemon and everything it has said so far. */
typedef struct daemon_process {
    pid_t pid;
    FILE *output; /* its stdout and stderr */
    char text[16384];
} daemon_process;

/* A folder for configurations and sockets, of files only. 0, or -1. */
int daemon_make_folder(char ret_folder[64]);
int daemon_remove_folder(const char *folder);

/* Writes the file `name` into the folder; its path in ret_path. */
void daemon_write_config(const char *folder, const char *name, const char *yaml,
                         char ret_path[128]);

/* The same with a small line that works, its sockets in the folder. */
void daemon_good_config(const char *folder, char ret_path[128]);

/* The same with that backend. */
void daemon_config_with(const char *folder, const char *backend, char ret_path[128]);

/* Starts the daemon with these arguments, NULL-ended, the first its name. */
void daemon_start(daemon_process *daemon, const char *const arguments[]);

/* The same by another path to it, after `prepare` (NULL: nothing) in the new process. */
void daemon_start_as(daemon_process *daemon, const char *program, const char *const arguments[],
                     void (*prepare)(void));

/* Starts the small line and waits until it is ready. */
void daemon_start_line(daemon_process *daemon, const char *folder);

/* Reads on until `wanted` was said, or (NULL) the process has closed its output. */
void daemon_read_until(daemon_process *daemon, const char *wanted);

/* The status as waitpid returns it, once the process has ended. */
int daemon_end(daemon_process *daemon);

#endif
