#include "src/formats/changes/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/encoding/value.h"
#include "stages/base/clock.h"

static void read_text(const msgpack_object *map, const char *key, char *out, size_t out_bytes)
{
    crn_value_copy_bytes(crn_value_get(map, key), out, out_bytes);
}

static uint64_t read_number(const msgpack_object *map, const char *key, uint64_t max)
{
    uint64_t number = 0;
    crn_value_unsigned(crn_value_get(map, key), max, &number);
    return number;
}

static void read_state(const msgpack_object *entry, const char *key, crn_change_state *ret_state)
{
    const msgpack_object *state = crn_value_get(entry, key);
    read_text(state, "settings", ret_state->settings, sizeof ret_state->settings);
    read_text(state, "recipe", ret_state->recipe, sizeof ret_state->recipe);
    read_text(state, "lot", ret_state->lot, sizeof ret_state->lot);
    read_text(state, "text_sha256", ret_state->text, sizeof ret_state->text);
    ret_state->has_lot = true;
}

/* "2026-11-21T08:00:00.123Z", as crn_change_time writes it. */
static bool parse_time(const char *text, int64_t *ret_ns)
{
    struct tm utc = {0};
    char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (!end || *end != '.' || strspn(end + 1, "0123456789") != 3 || strcmp(end + 4, "Z") != 0)
        return false;
    *ret_ns = (int64_t)timegm(&utc) * CRN_NS_PER_S + strtol(end + 1, NULL, 10) * CRN_NS_PER_MS;
    return true;
}

static void read_keys(const msgpack_object *keys, char ret_keys[CRN_CHANGE_KEYS_BYTES])
{
    size_t length = 0;
    for (uint32_t i = 0; i < crn_value_count(keys); i++) {
        const msgpack_object *line = crn_value_item(keys, i);
        if (line->type != MSGPACK_OBJECT_STR)
            continue;
        if (length + line->via.str.size + 2 > CRN_CHANGE_KEYS_BYTES)
            break;
        memcpy(ret_keys + length, line->via.str.ptr, line->via.str.size);
        length += line->via.str.size;
        ret_keys[length++] = '\n';
    }
    ret_keys[length > 0 ? length - 1 : 0] = '\0';
}

static int read_entry(const msgpack_object *entry, crn_change *ret_change)
{
    const msgpack_object *by = crn_value_get(entry, "by");
    crn_change change = {0};
    char when[CRN_CHANGE_TIME_BYTES];
    read_text(entry, "time", when, sizeof when);
    if (!parse_time(when, &change.time_ns))
        return -EBADMSG;
    read_text(entry, "what", change.what, sizeof change.what);
    change.refused = crn_value_is_true(crn_value_get(entry, "refused"));
    read_text(by, "through", change.through, sizeof change.through);
    change.user = (uint32_t)read_number(by, "user", UINT32_MAX);
    read_text(by, "name", change.user_name, sizeof change.user_name);
    change.process = (int32_t)read_number(by, "process", INT32_MAX);
    read_state(entry, "before", &change.before);
    read_state(entry, "after", &change.after);
    read_keys(crn_value_get(entry, "keys"), change.keys);
    change.missing = read_number(entry, "missing", INT64_MAX);
    change.refused_left_out = read_number(entry, "refused_left_out", INT64_MAX);
    change.continues = read_number(entry, "continues", UINT64_MAX);
    read_text(entry, "continues_sha256", change.continues_hash, sizeof change.continues_hash);
    read_text(entry, "cut_sha256", change.cut, sizeof change.cut);
    *ret_change = change;
    return 0;
}

int crn_change_read(const char *line, size_t length, crn_change *ret_change)
{
    crn_messagepack_json entry;
    crn_error error;
    int r = crn_messagepack_json_init(&entry, line, length, &error);
    if (r < 0)
        return r;
    r = read_entry(&entry.tree.data, ret_change);
    crn_messagepack_json_done(&entry);
    return r;
}
