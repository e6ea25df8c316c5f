/* cernita-sorter: from a line's verdicts to outlets, for PLCs and programs. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/log.h"
#include "stages/base/process/standard.h"
#include "tools/common/options.h"
#include "tools/common/signals.h"
#include "tools/sorter/sorter.h"

#define EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h: a service manager must not retry */

typedef struct sorter_options {
    const char *config;
    bool check, reference;
} sorter_options;

static const crn_option options[] = {
    CRN_OPTION_AT("config", "FILE", sorter_options, config, .help = "the sorter's file (YAML)"),
    CRN_OPTION_AT("check", NULL, sorter_options, check, .help = "check the file and exit"),
    CRN_OPTION_AT("reference", NULL, sorter_options, reference,
                  .help = "print the table of all keys (Markdown) and exit"),
    {0},
};

static const crn_tool tool = {
    .name = "cernita-sorter",
    .operands = "",
    .about =
        "Sends each fruit of a line to an outlet: reads the verdicts as the line's grader,\n"
        "decides by rules, and informs PLCs and programs. SIGHUP reads the file again; SIGTERM\n"
        "and SIGINT end it. Exit status: 0 success, 1 failure, 2 usage error, 78 bad file.",
    .options = options,
};

/* Tells where each outlet is used, so that a person sees what the file means. */
static void print_summary(const crn_sorter_settings *settings)
{
    printf("OK: %d rules, %d outlets:", crn_rules_count(settings->outlets.rules),
           settings->outlets.names.count);
    for (int32_t i = 0; i < settings->outlets.names.count; i++)
        printf(" %d %s%s", i + 1, settings->outlets.names.item[i],
               i + 1 < settings->outlets.names.count ? "," : "\n");
    int32_t classes = crn_rules_class_count(settings->outlets.rules);
    for (int32_t i = 0; i < classes; i++)
        printf("%s%s%s", i ? ", " : "the rules need these classes of the line, each with a level: ",
               crn_rules_class(settings->outlets.rules, i), i + 1 < classes ? "" : "\n");
}

static int run(const char *path, crn_sorter_settings *settings, int signals)
{
    crn_sorter *sorter = NULL;
    crn_error error = {""};
    crn_log_set_level((crn_log_level)settings->log.level);
    int r = crn_sorter_open(path, settings, &sorter, &error);
    if (r == 0) {
        r = crn_sorter_run(sorter, signals, &error);
        crn_sorter_close(&sorter);
    }
    if (r < 0)
        crn_log(CRN_LOG_ERROR, "%s", error.text);
    return r < 0 ? CRN_EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-sorter");
    sorter_options given = {.config = NULL};
    crn_options_read(&tool, argc, argv, &given);
    if (given.reference) {
        crn_sorter_settings_print_reference(stdout);
        return 0;
    }
    if (!given.config)
        crn_usage_error(&tool, "--config FILE is missing");
    crn_sorter_settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        return crn_tool_fail(&tool, "no memory");
    crn_log_find_journal();
    int signals = given.check ? -1 : crn_signals_catch();
    signal(SIGPIPE, SIG_IGN);
    int r = crn_sorter_settings_load(given.config, stderr, settings);
    if (r == 0 && !given.check)
        return run(given.config, settings, signals);
    if (r == 0)
        print_summary(settings);
    crn_sorter_settings_done(settings);
    free(settings);
    return r < 0 ? EXIT_CONFIG : 0;
}
