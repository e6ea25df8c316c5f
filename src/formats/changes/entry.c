#include "src/formats/changes/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/encoding/value.h"
#include "stages/base/clock.h"

#define DIGITS (CRN_SHA256_TEXT_BYTES - 1)

/* The end of every line: the key, the digits, and what closes the text and the map. */
static const char key[] = ",\"hash\":\"", closing[] = "\"}";

const char crn_change_no_previous[CRN_SHA256_TEXT_BYTES] =
    "0000000000000000000000000000000000000000000000000000000000000000";

#define KEY_BYTES  (sizeof key - 1)
#define TAIL_BYTES (KEY_BYTES + DIGITS + sizeof closing - 1)

void crn_sha256_text(const void *bytes, size_t size, char ret_text[CRN_SHA256_TEXT_BYTES])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, bytes, size);
    sodium_bin2hex(ret_text, CRN_SHA256_TEXT_BYTES, hash, sizeof hash);
}

void crn_change_time(int64_t realtime_ns, char ret_text[CRN_CHANGE_TIME_BYTES])
{
    time_t seconds = (time_t)(realtime_ns / CRN_NS_PER_S);
    struct tm utc;
    char text[24];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(ret_text, CRN_CHANGE_TIME_BYTES, "%s.%03dZ", text,
             (int)(realtime_ns / CRN_NS_PER_MS % 1000));
}

/* --- writing --- */

static void put_state(crn_encoder *encoder, const char *name, const crn_change_state *state)
{
    crn_encoder_text(encoder, name);
    crn_encoder_map(encoder, state->text[0] ? 4 : 3);
    crn_encoder_pair_text(encoder, "settings", state->settings);
    crn_encoder_pair_text(encoder, "recipe", state->recipe);
    crn_encoder_pair_text(encoder, "lot", state->lot);
    if (state->text[0])
        crn_encoder_pair_text(encoder, "text_sha256", state->text);
    crn_encoder_map_end(encoder);
}

static uint32_t count_lines(const char *text)
{
    uint32_t count = 0;
    for (; *text; text++)
        count += *text == '\n' || text[1] == '\0';
    return count;
}

static void put_keys(crn_encoder *encoder, const char *keys)
{
    crn_encoder_text(encoder, "keys");
    crn_encoder_array(encoder, count_lines(keys));
    for (const char *line = keys; *line;) {
        char text[CRN_CHANGE_KEYS_BYTES];
        size_t length = strcspn(line, "\n");
        snprintf(text, sizeof text, "%.*s", (int)length, line);
        crn_encoder_text(encoder, text);
        line += length + (line[length] == '\n');
    }
    crn_encoder_array_end(encoder);
}

static void put_by(crn_encoder *encoder, const crn_change *change)
{
    crn_encoder_text(encoder, "by");
    crn_encoder_map(encoder, 4);
    crn_encoder_pair_text(encoder, "through", change->through);
    crn_encoder_pair_unsigned(encoder, "user", change->user);
    crn_encoder_pair_text(encoder, "name", change->user_name);
    crn_encoder_pair_unsigned(encoder, "process",
                              change->process > 0 ? (uint64_t)change->process : 0);
    crn_encoder_map_end(encoder);
}

static void put_entry(crn_encoder *encoder, const crn_change *change, uint64_t number,
                      const char *previous)
{
    char when[CRN_CHANGE_TIME_BYTES];
    uint32_t optional = (change->refused ? 1 : 0) + (change->keys[0] ? 1 : 0) +
                        (change->missing ? 1 : 0) + (change->refused_left_out ? 1 : 0) +
                        (change->continues ? 2 : 0) + (change->cut[0] ? 1 : 0);
    crn_change_time(change->time_ns, when);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 7 + optional);
    crn_encoder_pair_unsigned(encoder, "number", number);
    crn_encoder_pair_text(encoder, "time", when);
    crn_encoder_pair_text(encoder, "what", change->what);
    if (change->refused)
        crn_encoder_pair_bool(encoder, "refused", true);
    put_by(encoder, change);
    put_state(encoder, "before", &change->before);
    put_state(encoder, "after", &change->after);
    if (change->keys[0])
        put_keys(encoder, change->keys);
    if (change->missing)
        crn_encoder_pair_unsigned(encoder, "missing", change->missing);
    if (change->refused_left_out)
        crn_encoder_pair_unsigned(encoder, "refused_left_out", change->refused_left_out);
    if (change->continues) {
        crn_encoder_pair_unsigned(encoder, "continues", change->continues);
        crn_encoder_pair_text(encoder, "continues_sha256", change->continues_hash);
    }
    if (change->cut[0])
        crn_encoder_pair_text(encoder, "cut_sha256", change->cut);
    crn_encoder_pair_text(encoder, "previous", previous);
    crn_encoder_map_end(encoder);
}

int crn_change_pack(const crn_change *change, uint64_t number, const char *previous,
                    char ret_line[CRN_CHANGE_LINE_BYTES], char ret_hash[CRN_SHA256_TEXT_BYTES])
{
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    put_entry(encoder, change, number, previous ? previous : crn_change_no_previous);
    r = crn_encoder_end(encoder, &bytes, &size);
    if (r == 0 && size + TAIL_BYTES + 1 > CRN_CHANGE_LINE_BYTES)
        r = -EMSGSIZE;
    if (r == 0) {
        size--; /* the brace that closes the map follows the hash */
        memcpy(ret_line, bytes, size);
        crn_sha256_text(ret_line, size, ret_hash);
        r = (int)size + snprintf(ret_line + size, CRN_CHANGE_LINE_BYTES - size, "%s%s%s\n", key,
                                 ret_hash, closing);
    }
    crn_encoder_free(&encoder);
    return r;
}

/* --- reading --- */

crn_change_line crn_change_look(const char *line, size_t length, bool ended)
{
    char hash[CRN_SHA256_TEXT_BYTES];
    if (length > TAIL_BYTES) {
        const char *tail = line + length - TAIL_BYTES;
        crn_sha256_text(line, length - TAIL_BYTES, hash);
        if (memcmp(tail, key, KEY_BYTES) == 0 && memcmp(tail + KEY_BYTES, hash, DIGITS) == 0 &&
            memcmp(tail + KEY_BYTES + DIGITS, closing, sizeof closing - 1) == 0)
            return CRN_CHANGE_WHOLE;
    }
    /* What was cut lacks at least a byte of its tail. A text has no such key: its quotes are
     * escaped. */
    const char *found = memmem(line, length, key, KEY_BYTES);
    bool is_long = found && length - (size_t)(found - line) >= TAIL_BYTES;
    return ended || is_long ? CRN_CHANGE_ALTERED : CRN_CHANGE_CUT;
}

static bool copy_links(const msgpack_object *entry, crn_change_links *ret_links)
{
    const msgpack_object *after = crn_value_get(entry, "after");
    crn_change_links links = {0};
    bool good =
        crn_value_unsigned(crn_value_get(entry, "number"), UINT64_MAX, &links.number) &&
        crn_value_copy_bytes(crn_value_get(entry, "previous"), links.previous,
                             sizeof links.previous) &&
        crn_value_copy_bytes(crn_value_get(entry, "hash"), links.hash, sizeof links.hash) &&
        crn_value_copy_bytes(crn_value_get(after, "settings"), links.after.settings,
                             sizeof links.after.settings) &&
        crn_value_copy_bytes(crn_value_get(after, "recipe"), links.after.recipe,
                             sizeof links.after.recipe) &&
        crn_value_copy_bytes(crn_value_get(after, "lot"), links.after.lot, sizeof links.after.lot);
    crn_value_copy_bytes(crn_value_get(after, "text_sha256"), links.after.text,
                         sizeof links.after.text);
    crn_value_copy_bytes(crn_value_get(entry, "cut_sha256"), links.cut, sizeof links.cut);
    *ret_links = links;
    return good;
}

int crn_change_links_read(const char *line, size_t length, crn_change_links *ret_links)
{
    crn_messagepack_json entry;
    crn_error error;
    int r = crn_messagepack_json_init(&entry, line, length, &error);
    if (r < 0)
        return r;
    r = copy_links(&entry.tree.data, ret_links) ? 0 : -EBADMSG;
    crn_messagepack_json_done(&entry);
    return r;
}
