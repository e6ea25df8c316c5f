/* Runs cernita-workbench as a program, and asks it as its page does. */
#ifndef CRN_TESTS_SUPPORT_WORKBENCH_PROGRAM_H
#define CRN_TESTS_SUPPORT_WORKBENCH_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct workbench {
    pid_t pid;
    char address[64]; /* HOST:PORT */
    char token[64];   /* of the printed address; "" without */
} workbench;

/* Starts it on a free port with further arguments (NULL-terminated); it listens on return. */
void workbench_start(workbench *bench, const char *const arguments[]);

/* Ends it with SIGTERM and expects exit status 0. */
void workbench_stop(workbench *bench);

/* For tests of one workbench, in the folder of apply_setup: set-up and tear-down start and stop
 * it. */
extern workbench the_bench;
int workbench_setup(void **state);
int workbench_teardown(void **state);

/* An answer; the caller frees `body`, which is ended by a 0. */
typedef struct workbench_reply {
    int code;
    char *head, *body; /* of one allocation, `head` */
    size_t size;       /* of the body */
} workbench_reply;

/* Sends a request and reads the answer. `headers`: further lines, each with \r\n; the page's own
 * header is sent unless `headers` begins with "-". */
workbench_reply workbench_ask(const workbench *bench, const char *method, const char *path,
                              const char *headers, const void *body, size_t size);
void workbench_reply_free(workbench_reply *reply);

/* POST of a text that must be answered with `code`; the caller frees the reply. */
workbench_reply workbench_post(const workbench *bench, int code, const char *path,
                               const char *text);

/* The same without looking at the answer: only its sentence, which must contain `wanted`. */
void workbench_expect_refusal(const workbench *bench, int code, const char *path, const char *text,
                              const char *wanted);

/* GET, whose answer must have this code. */
void workbench_expect_get(const workbench *bench, const char *path, const char *headers, int code);

/* Opens a file of this machine by sending it. Returns its id. */
uint64_t workbench_open(const workbench *bench, const char *path, const char *name);

/* The number after the first `"key":` of a JSON text; fails the test if there is none. */
double workbench_number(const char *json, const char *key);

/* The text after the first `"key":"`, unescaped, in a static buffer. */
const char *workbench_text(const char *json, const char *key);

/* Connects and sends a POST without reading the answer. Returns the connection. */
int workbench_send(const workbench *bench, const char *path, const char *text);

#endif
