/* Shared by the tests of this folder: a made-up machine, and the rows that it gets. */
#ifndef CRN_TESTS_UNIT_SELF_CHECK_MADE_UP_H
#define CRN_TESTS_UNIT_SELF_CHECK_MADE_UP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/self_check/internal.h"
#include "tests/support/cmocka_prelude.h"

typedef struct made_up_machine {
    char root[64];
    crn_config config;
    crn_self_check check;
} made_up_machine;

static made_up_machine the; /* each test program's */

/* An empty machine. */
static inline void made_up_begin(made_up_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    strcpy(machine->root, "/tmp/cernita-machine-XXXXXX");
    assert_non_null(mkdtemp(machine->root));
    machine->check.root = machine->root;
    machine->check.config = &machine->config;
    machine->config.run.workers = machine->config.run.threads = 1;
    machine->config.latency.guard_ms = 2;
}

static inline void made_up_end(made_up_machine *machine)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", machine->root);
    assert_int_equal(system(command), 0);
}

/* Writes one file of the machine, with its folders. */
static inline void made_up_file(const made_up_machine *machine, const char *path, const char *text)
{
    char whole[400];
    snprintf(whole, sizeof whole, "%s%s", machine->root, path);
    for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Runs one concern again and asserts a row: its level, and a part of its text. */
static inline void expect(void (*concern)(crn_self_check *), const char *name,
                          crn_finding_level level, const char *part)
{
    the.check.count = 0;
    concern(&the.check);
    for (int i = 0; i < the.check.count; i++) {
        const crn_finding *row = &the.check.item[i];
        if (strcmp(row->name, name) != 0)
            continue;
        bool told = row->level == CRN_FINDING_NOTE || row->level == CRN_FINDING_BAD;
        if (row->level != level || !strstr(row->text, part))
            fail_msg("%s: %s: '%s', expected %s: '%s'", name, crn_finding_level_names[row->level],
                     row->text, crn_finding_level_names[level], part);
        assert_int_equal(row->cost != NULL, told);
        assert_int_equal(row->cure != NULL, told);
        return;
    }
    fail_msg("no row %s", name);
}

#endif
