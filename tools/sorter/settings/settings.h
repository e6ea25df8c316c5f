/* A sorter's file as typed settings; ../README.md is the reference of all keys. */
#ifndef CRN_TOOLS_SORTER_SETTINGS_SETTINGS_H
#define CRN_TOOLS_SORTER_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/param.h"
#include "tools/common/outlets/outlets.h"
#include "tools/sorter/settings/ejectors.h"

/* How lines on stdout look. */
typedef enum crn_stdout_format {
    CRN_STDOUT_NONE,
    CRN_STDOUT_TEXT,
    CRN_STDOUT_JSON,
} crn_stdout_format;

/* Where the belt's position comes from. */
typedef enum crn_firing_source {
    CRN_SOURCE_NONE,
    CRN_SOURCE_VIEWS,
    CRN_SOURCE_MODBUS,
    CRN_SOURCE_MQTT,
} crn_firing_source;

typedef enum crn_register_kind {
    CRN_REGISTERS_HOLDING,
    CRN_REGISTERS_INPUT,
} crn_register_kind;

/* Zero-initialise. */
typedef struct crn_sorter_settings {
    struct {
        char endpoint[CRN_TEXT_BYTES], key[CRN_TEXT_BYTES], server_key[CRN_TEXT_BYTES];
        char page[CRN_TEXT_BYTES], page_token_file[CRN_TEXT_BYTES]; /* empty: none */
        int64_t silence_ms; /* 0: 3 times what the line's `alive` says */
        int64_t late_ms;
    } line;
    crn_outlets outlets;
    struct {
        struct {
            int32_t format; /* crn_stdout_format */
        } standard;
        struct {
            char bind[CRN_TEXT_BYTES]; /* HOST:PORT; empty: none */
            int64_t clients, backlog_kib, alive_ms;
        } tcp;
        struct {
            char bind[CRN_TEXT_BYTES]; /* HOST:PORT; empty: none */
            crn_texts peers;
            crn_numbers lanes;
            int64_t ring;
        } modbus_server;
        struct {
            char address[CRN_TEXT_BYTES]; /* HOST:PORT; empty: none */
            int64_t unit, timeout_ms;
            int64_t window; /* first register; -1: none */
            int64_t ring;
        } modbus_client;
        struct {
            char broker[CRN_TEXT_BYTES]; /* HOST:PORT; empty: none */
            char topic[CRN_TEXT_BYTES], user[CRN_TEXT_BYTES], password_file[CRN_TEXT_BYTES],
                ca_file[CRN_TEXT_BYTES];
        } mqtt;
        struct {
            char dir[CRN_TEXT_BYTES]; /* empty: none */
            bool dir_named;           /* in the file */
            int64_t keep_mib, keep_days;
        } log;
    } outputs;
    struct {
        int32_t source;    /* crn_firing_source */
        int32_t registers; /* crn_register_kind */
        int64_t address;   /* of the counter's first register */
        char topic[CRN_TEXT_BYTES], confirm_topic[CRN_TEXT_BYTES]; /* empty: none */
        int64_t width, stop_ms, age_ms, tolerance, poll_ms;
        double speed_max; /* ticks per second; 0: not given */
    } firing;
    crn_ejectors ejectors;
    struct {
        char http[CRN_TEXT_BYTES]; /* HOST:PORT; empty: none */
    } monitor;
    struct {
        char path[CRN_TEXT_BYTES]; /* empty: none */
    } control;
    struct {
        char file[CRN_TEXT_BYTES]; /* empty: none */
    } state;
    crn_log_settings log;
} crn_sorter_settings;

/* Reads and checks a file; each error is one line on `faults`. Returns 0, or a negative errno, told
 * there; crn_sorter_settings_done() in every case. */
int crn_sorter_settings_load(const char *path, FILE *faults, crn_sorter_settings *settings);
void crn_sorter_settings_done(crn_sorter_settings *settings);

/* Lists what differs between two files and needs a restart, one line each; returns how many. */
int32_t crn_sorter_settings_fixed(const crn_sorter_settings *running,
                                  const crn_sorter_settings *file, const char *path, FILE *out);

/* Prints the reference of all keys as a Markdown table. */
void crn_sorter_settings_print_reference(FILE *out);

#endif
