/* Loading a sorter's file, and what its rows cannot express. */
#include "tools/sorter/settings/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/client/post.h"
#include "src/http/token.h"
#include "tools/sorter/modbus/server.h"
#include "tools/sorter/mqtt/mqtt.h"
#include "tools/sorter/settings/internal.h"

static const crn_node *value_of(const crn_reader *reader, const char *section, const char *key)
{
    return crn_node_value(crn_node_value(reader->root, section), key);
}

static void check_line(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const char *endpoint = settings->line.endpoint;
    const crn_node *node = value_of(reader, "line", "endpoint");
    bool has_port = strncmp(endpoint, "tcp://", 6) == 0 && strrchr(endpoint + 6, ':');
    bool has_path = strncmp(endpoint, "ipc://", 6) == 0 && endpoint[6];
    if (node && !has_port && !has_path && !crn_diagnostics_at(reader->faults, node->position))
        crn_diagnostics_add(reader->faults, node->position,
                            "line.endpoint: %s is not an endpoint, tcp://HOST:PORT or ipc://PATH "
                            "expected",
                            crn_quote(endpoint, strlen(endpoint), '\'').text);
    const char *lonely = settings->line.key[0] ? "key" : "server_key";
    node = value_of(reader, "line", lonely);
    if (node && !settings->line.key[0] != !settings->line.server_key[0])
        crn_diagnostics_add(reader->faults, node->position,
                            "line.%s: without line.%s, both or neither expected", lonely,
                            settings->line.key[0] ? "server_key" : "key");
}

/* True for HOST:PORT. */
static bool is_address(const char *text)
{
    const char *port = strrchr(text, ':');
    return port && port[1] && !port[1 + strspn(port + 1, "0123456789")] && !strchr(text, '/');
}

/* Checks an address; returns its node, or NULL if it has none. */
static const crn_node *check_address(crn_reader *reader, const char *key, const crn_node *node,
                                     const char *text)
{
    if (!node || !text[0])
        return NULL;
    if (!is_address(text))
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s is not an address, HOST:PORT expected", key,
                            crn_quote(text, strlen(text), '\'').text);
    return node;
}

static const crn_node *check_bind(crn_reader *reader, const char *output, const char *text)
{
    const crn_node *section = crn_node_value(crn_node_value(reader->root, "outputs"), output);
    char key[48];
    snprintf(key, sizeof key, "outputs.%s.bind", output);
    return check_address(reader, key, crn_node_value(section, "bind"), text);
}

static void check_page(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const char *page = settings->line.page, *file = settings->line.page_token_file;
    const crn_node *node = value_of(reader, "line", "page");
    const crn_node *file_node = value_of(reader, "line", "page_token_file");
    char token[CRN_HTTP_TOKEN_BYTES];
    crn_error fault;
    if (page[0] && !is_address(strncmp(page, "http://", 7) == 0 ? page + 7 : page))
        crn_diagnostics_add(reader->faults, node->position,
                            "line.page: %s is not an address, HOST:PORT or http://HOST:PORT "
                            "expected",
                            crn_quote(page, strlen(page), '\'').text);
    if (page[0] && !crn_post_is_built())
        crn_diagnostics_add(reader->faults, node->position,
                            "line.page: this program was built without libcurl, one built where "
                            "libcurl4-openssl-dev is installed expected");
    if (file[0] && !page[0])
        crn_diagnostics_add(reader->faults, file_node->position,
                            "line.page_token_file: without line.page, both expected");
    else if (file[0] && crn_http_token_read(file, token, &fault) < 0)
        crn_diagnostics_add(reader->faults, file_node->position, "line.page_token_file: %s",
                            fault.text);
}

static void check_monitor(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    check_address(reader, "monitor.http", value_of(reader, "monitor", "http"),
                  settings->monitor.http);
}

static void check_mqtt(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const crn_node *section = crn_node_value(crn_node_value(reader->root, "outputs"), "mqtt");
    const crn_node *topic = crn_node_value(section, "topic");
    const char *text = settings->outputs.mqtt.topic;
    const crn_node *broker =
        check_address(reader, "outputs.mqtt.broker", crn_node_value(section, "broker"),
                      settings->outputs.mqtt.broker);
    if (broker && !crn_mqtt_is_built())
        crn_diagnostics_add(reader->faults, broker->position,
                            "outputs.mqtt: this program was built without libmosquitto, one built "
                            "where libmosquitto-dev is installed expected");
    if (topic && (!text[0] || strpbrk(text, "+#")))
        crn_diagnostics_add(reader->faults, topic->position,
                            "outputs.mqtt.topic: %s is not a topic, one without + and # expected",
                            crn_quote(text, strlen(text), '\'').text);
}

static void check_modbus_client(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const crn_node *section =
        crn_node_value(crn_node_value(reader->root, "outputs"), "modbus_client");
    const crn_node *node =
        check_address(reader, "outputs.modbus_client.address", crn_node_value(section, "address"),
                      settings->outputs.modbus_client.address);
    if (node && !crn_modbus_is_built())
        crn_diagnostics_add(reader->faults, node->position,
                            "outputs.modbus_client: this program was built without libmodbus, one "
                            "built where libmodbus-dev is installed expected");
    else if (node && settings->outputs.modbus_client.window < 0 && !settings->ejectors.count)
        crn_diagnostics_add(reader->faults, node->position,
                            "outputs.modbus_client: nothing is written to it, "
                            "outputs.modbus_client.window or ejectors expected");
}

/* An empty name is one, too: then nothing is logged. */
static void check_log(crn_reader *reader)
{
    crn_sorter_settings *settings = reader->settings;
    const crn_node *section = crn_node_value(crn_node_value(reader->root, "outputs"), "log");
    settings->outputs.log.dir_named = crn_node_value(section, "dir") != NULL;
}

static void check_outputs(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const char *tcp = settings->outputs.tcp.bind, *modbus = settings->outputs.modbus_server.bind;
    check_bind(reader, "tcp", tcp);
    const crn_node *node = check_bind(reader, "modbus_server", modbus);
    if (node && !crn_modbus_is_built())
        crn_diagnostics_add(reader->faults, node->position,
                            "outputs.modbus_server: this program was built without libmodbus, one "
                            "built where libmodbus-dev is installed expected");
    check_modbus_client(reader);
    check_mqtt(reader);
    check_log(reader);
    if (!tcp[0] && !modbus[0] && !settings->outputs.mqtt.broker[0] &&
        !settings->outputs.modbus_client.address[0] &&
        settings->outputs.standard.format == CRN_STDOUT_NONE)
        crn_diagnostics_add(reader->faults, reader->root->position,
                            "outputs: there is none, outputs.tcp.bind, outputs.modbus_server.bind, "
                            "outputs.modbus_client.address, outputs.mqtt.broker or "
                            "outputs.stdout.format expected");
}

static void check(crn_reader *reader)
{
    crn_sorter_settings *settings = reader->settings;
    crn_outlets_check(reader, &settings->outlets);
    check_line(reader);
    check_outputs(reader);
    crn_sorter_check_firing(reader);
    check_page(reader);
    check_monitor(reader);
}

/* Where the file names no path, it is in the unit's folder, or, with an empty name, that. */
static void use_unit_folder(const char *variable, const char *name, char path[CRN_TEXT_BYTES])
{
    const char *folder = getenv(variable);
    char whole[CRN_TEXT_BYTES];
    if (path[0] || !folder || folder[0] != '/')
        return;
    int length = snprintf(whole, sizeof whole, "%.*s%s", (int)strcspn(folder, ":"), folder, name);
    if (length < (int)sizeof whole)
        strcpy(path, whole);
}

int crn_sorter_settings_load(const char *path, FILE *faults, crn_sorter_settings *settings)
{
    static const crn_file_scheme scheme = {
        .sections = crn_sorter_sections, .contents = "line, outlets and outputs", .check = check};
    if (crn_rules_create(&settings->outlets.rules) < 0) {
        fprintf(faults, "%s: not enough memory to read it\n", path);
        return -ENOMEM;
    }
    int r = crn_file_load(&scheme, path, faults, settings);
    use_unit_folder("RUNTIME_DIRECTORY", "/control", settings->control.path);
    use_unit_folder("RUNTIME_DIRECTORY", "/sequences", settings->state.file);
    if (!settings->outputs.log.dir_named)
        use_unit_folder("STATE_DIRECTORY", "", settings->outputs.log.dir);
    return r;
}

void crn_sorter_settings_done(crn_sorter_settings *settings)
{
    crn_outlets_done(&settings->outlets);
}

/* The value of a row as in a file. */
static void print_value(const crn_param *row, const void *settings, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (!out)
        return;
    crn_print_value(row, settings, out);
    fclose(out);
    text[size - 1] = '\0';
}

/* What one section has of them; `path` ends with a dot where it is not empty. */
static int32_t count_fixed(const crn_section *sections, const char *path,
                           const crn_sorter_settings *both[2], const char *file, FILE *out)
{
    int32_t count = 0;
    for (const crn_section *section = sections; section && section->key; section++) {
        char below[64], texts[2][CRN_TEXT_BYTES * (CRN_TEXTS_MAX + 1)];
        snprintf(below, sizeof below, "%s%s.", path, section->key);
        for (const crn_param *row = section->rows; row && row->key; row++) {
            for (int i = 0; i < 2; i++)
                print_value(row, (const char *)both[i] + section->at, texts[i], sizeof texts[i]);
            if (row->live || strcmp(texts[0], texts[1]) == 0)
                continue;
            fprintf(out, "%s: %s%s is %s while it runs and %s in the file: restart it\n", file,
                    below, row->key, texts[0], texts[1]);
            count++;
        }
        count += count_fixed(section->sections, below, both, file, out);
    }
    return count;
}

int32_t crn_sorter_settings_fixed(const crn_sorter_settings *running,
                                  const crn_sorter_settings *file, const char *path, FILE *out)
{
    const crn_sorter_settings *both[2] = {running, file};
    int32_t count = count_fixed(crn_sorter_sections, "", both, path, out);
    if (memcmp(&running->ejectors, &file->ejectors, sizeof file->ejectors) == 0)
        return count;
    fprintf(out, "%s: ejectors differ from those while it runs: restart it\n", path);
    return count + 1;
}

void crn_sorter_settings_print_reference(FILE *out)
{
    fputs("| Key | Default | Range or choices | Meaning |\n|---|---|---|---|\n", out);
    crn_file_print_reference(crn_sorter_sections, out);
}
