/*
 * A line with its control thread in this process, whose file a test writes again while it runs. Its
 * picture has peaks of known heights, so that the number of defects tells by which level, and hence
 * by which file, a view was judged.
 */
#ifndef CRN_TESTS_SUPPORT_RELOADING_H
#define CRN_TESTS_SUPPORT_RELOADING_H

#include "src/control/control.h"
#include "tests/support/line/line_fixture.h"

#define CRN_RELOADING_PEAKS  8
#define CRN_RELOADING_HEIGHT 24
#define CRN_RELOADING_WIDTH  (CRN_RELOADING_PEAKS * 12)

typedef struct reloading_line {
    line_fixture line;
    crn_config file; /* as loaded; shares what it owns with line.config */
    char path[128];  /* of the file */
    char socket[128];
    crn_control *control;
    float *maps;
} reloading_line;

/* `more`: lines of YAML besides those of reloading_write. Starts with `peaks` visible. */
void reloading_start(reloading_line *self, int peaks, const char *more);
void reloading_stop(reloading_line *self);

/* Replaces the file: at its level so many peaks are seen. */
void reloading_write(const reloading_line *self, int peaks, const char *more);

/* Replaces the file by these bytes and its sections of sockets. */
void reloading_write_text(const reloading_line *self, const char *text);

/* The settings' hash that verdicts have with the file as it is and that recipe. */
void reloading_hash(const reloading_line *self, const char *recipe, char ret_hash[20]);

/* Asks at the control socket; true if the answer is ok. `answer`: its lines after the first. */
bool reloading_ask(const reloading_line *self, const char *request, char answer[4096]);
/* The same, of an answer of up to `bytes`. */
bool reloading_ask_for(const reloading_line *self, const char *request, char *answer, size_t bytes);

/* Sends one view of a fruit. */
void reloading_send(reloading_line *self, uint64_t fruit, uint16_t view, uint16_t views);

/* Waits until so many views have been added to fruits. */
void reloading_wait_views(reloading_line *self, uint64_t views);

#endif
