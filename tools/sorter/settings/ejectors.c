/* Reads the section `ejectors`, and checks what firing needs. */
#include <string.h>

#include "tools/sorter/settings/internal.h"

static const crn_node *list_of(const crn_reader *reader)
{
    const crn_node *list = crn_node_value(reader->root, "ejectors");
    return list && list->kind == CRN_NODE_LIST ? list : NULL;
}

static void read_ejector(crn_reader *reader, const char *path, const crn_node *item,
                         crn_ejector *ret_ejector)
{
    crn_sorter_ejector read = {.outlet = ""};
    const crn_table tables[2] = {{.rows = crn_sorter_ejector_keys, .settings = &read}};
    crn_read_keys(reader, path, item->position, item, tables, NULL);
    *ret_ejector = (crn_ejector){.outlet = CRN_NO_OUTLET,
                                 .lane = read.lane,
                                 .distance = read.distance,
                                 .coil = read.coil,
                                 .input = read.input,
                                 .delay_ms = read.delay_ms,
                                 .pulse_ms = read.pulse_ms,
                                 .confirm_ms = read.confirm_ms};
}

void crn_sorter_read_ejectors(crn_reader *reader, const crn_section *section,
                              crn_source_position position, const crn_node *node)
{
    crn_ejectors *ejectors = &((crn_sorter_settings *)reader->settings)->ejectors;
    (void)position;
    ejectors->count = 0;
    if (!node || node->kind == CRN_NODE_REFUSED || crn_node_empty(node))
        return;
    if (node->kind != CRN_NODE_LIST) {
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s given, a list of {outlet: NAME, distance: TICKS, coil: "
                            "ADDRESS} expected",
                            section->key, crn_node_noun(node));
        return;
    }
    for (const crn_node *item = node->first; item && !reader->faults->full; item = item->next) {
        char path[32];
        if (ejectors->count == CRN_EJECTORS_MAX) {
            crn_diagnostics_add(reader->faults, item->position,
                                "ejectors: more than %d, at most so many expected",
                                CRN_EJECTORS_MAX);
            return;
        }
        snprintf(path, sizeof path, "ejectors[%d]", ejectors->count + 1);
        read_ejector(reader, path, item, &ejectors->item[ejectors->count++]);
    }
}

/* What contradicts an ejector before this one. */
static void check_duplicates(crn_reader *reader, int32_t at, const crn_node *item)
{
    const crn_ejectors *ejectors = &((const crn_sorter_settings *)reader->settings)->ejectors;
    const crn_ejector *one = &ejectors->item[at];
    for (int32_t i = 0; i < at; i++) {
        const crn_ejector *before = &ejectors->item[i];
        if (before->outlet == one->outlet && before->lane == one->lane)
            crn_diagnostics_add(reader->faults, item->position,
                                "ejectors[%d]: ejectors[%d] has the same outlet and lane, one "
                                "ejector for each expected",
                                at + 1, i + 1);
        else if (before->coil == one->coil)
            crn_diagnostics_add(reader->faults, item->position,
                                "ejectors[%d].coil: ejectors[%d] has the same, one coil for each "
                                "expected",
                                at + 1, i + 1);
    }
}

static void check_ejector(crn_reader *reader, int32_t at, const crn_node *item)
{
    crn_sorter_settings *settings = reader->settings;
    crn_ejector *one = &settings->ejectors.item[at];
    const crn_node *outlet = crn_node_value(item, "outlet");
    char key[48];
    snprintf(key, sizeof key, "ejectors[%d].outlet", at + 1);
    if (!outlet || outlet->kind != CRN_NODE_SCALAR ||
        crn_diagnostics_at(reader->faults, outlet->position))
        return;
    one->outlet = crn_outlets_find(&settings->outlets, reader, key, outlet->text, outlet);
    if (one->outlet == CRN_NO_OUTLET)
        return;
    if (one->outlet == settings->outlets.choice.silence)
        crn_diagnostics_add(reader->faults, outlet->position,
                            "%s: '%s' is outlets.silence, but fruits whose place is not known pass "
                            "all ejectors: there an outlet at the belt's end expected",
                            key, outlet->text);
    bool confirms = one->input != CRN_NO_INPUT || settings->firing.confirm_topic[0];
    if (one->input != CRN_NO_INPUT && !one->confirm_ms)
        crn_diagnostics_add(reader->faults, item->position,
                            "ejectors[%d].input: without confirm_ms, that time expected", at + 1);
    else if (one->confirm_ms && !confirms)
        crn_diagnostics_add(reader->faults, item->position,
                            "ejectors[%d].confirm_ms: nothing confirms, input or "
                            "firing.confirm_topic expected",
                            at + 1);
    check_duplicates(reader, at, item);
}

/* Inputs are read by one request. */
static void check_inputs(crn_reader *reader, const crn_node *list)
{
    const crn_ejectors *ejectors = &((const crn_sorter_settings *)reader->settings)->ejectors;
    int64_t first = INT64_MAX, last = CRN_NO_INPUT;
    for (int32_t i = 0; i < ejectors->count; i++) {
        int64_t input = ejectors->item[i].input;
        if (input == CRN_NO_INPUT)
            continue;
        first = input < first ? input : first;
        last = input > last ? input : last;
    }
    if (last - first >= CRN_INPUTS_MAX && last != CRN_NO_INPUT)
        crn_diagnostics_add(reader->faults, list->position,
                            "ejectors: inputs from %lld to %lld are not read by one request, at "
                            "most %d in a row expected",
                            (long long)first, (long long)last, CRN_INPUTS_MAX);
}

/* One line for each part that ejectors need and the file lacks. */
static void check_needs(crn_reader *reader, const crn_node *list)
{
    const crn_sorter_settings *settings = reader->settings;
    const struct {
        bool is_missing;
        const char *key;
    } needs[] = {
        {!settings->outputs.modbus_client.address[0], "outputs.modbus_client.address"},
        {settings->firing.source == CRN_SOURCE_NONE, "firing.source"},
        {settings->firing.speed_max <= 0, "firing.speed_max"},
        {settings->firing.tolerance <= 0, "firing.tolerance"},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].is_missing)
            crn_diagnostics_add(reader->faults, list->position, "ejectors: without %s, it expected",
                                needs[i].key);
}

/* What the sources of positions and confirmations need. */
static void check_sources(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const crn_node *section = crn_node_value(reader->root, "firing");
    const crn_node *source = crn_node_value(section, "source");
    const crn_node *topic = crn_node_value(section, "confirm_topic");
    bool has_broker = settings->outputs.mqtt.broker[0];
    if (source && settings->firing.source == CRN_SOURCE_MQTT &&
        (!has_broker || !settings->firing.topic[0]))
        crn_diagnostics_add(reader->faults, source->position,
                            "firing.source: mqtt without %s, it expected",
                            has_broker ? "firing.topic" : "outputs.mqtt.broker");
    if (topic && settings->firing.confirm_topic[0] && !has_broker)
        crn_diagnostics_add(reader->faults, topic->position,
                            "firing.confirm_topic: without outputs.mqtt.broker, it expected");
    if (source && settings->firing.source != CRN_SOURCE_NONE && !settings->ejectors.count &&
        !list_of(reader))
        crn_diagnostics_add(reader->faults, source->position,
                            "firing.source: without ejectors, a section ejectors expected");
}

void crn_sorter_check_firing(crn_reader *reader)
{
    const crn_sorter_settings *settings = reader->settings;
    const crn_node *list = list_of(reader), *item = list ? list->first : NULL;
    for (int32_t i = 0; item && i < settings->ejectors.count; i++, item = item->next)
        check_ejector(reader, i, item);
    if (list && settings->ejectors.count) {
        check_inputs(reader, list);
        check_needs(reader, list);
    }
    check_sources(reader);
}
