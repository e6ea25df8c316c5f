#include "src/formats/outcomes/outcome.h"

#include <errno.h>
#include <inttypes.h>

/* An entry's version has the key by which its kind is known, also from a verdict, whose log has the
 * same form. */
#define VERSION     1
#define KEY_OUTCOME "outcome"
#define KEY_FIRING  "firing"
#define KEYS        11
#define FIRING_KEYS 5
/* Sums of two numbers below it do not overflow an int64_t. */
#define NUMBER_MAX ((uint64_t)INT64_MAX / 2)

int crn_outcome_pack(const crn_outcome *outcome, crn_encoder *encoder,
                     const unsigned char **ret_bytes, size_t *ret_size)
{
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, KEYS);
    crn_encoder_pair_unsigned(encoder, KEY_OUTCOME, VERSION);
    crn_encoder_pair_text(encoder, "sorter", outcome->sorter);
    crn_encoder_pair_text(encoder, "run", outcome->run);
    crn_encoder_pair_unsigned(encoder, "lane", outcome->lane);
    crn_encoder_pair_unsigned(encoder, "sequence", outcome->sequence);
    crn_encoder_pair_unsigned(encoder, "fruits", outcome->fruits);
    crn_encoder_pair_unsigned(encoder, "fruit", outcome->fruit);
    crn_encoder_pair_unsigned(encoder, "decided_ns", (uint64_t)outcome->decided_ns);
    crn_encoder_pair_text(encoder, "outlet", outcome->outlet);
    crn_encoder_pair_text(encoder, "reason", outcome->reason);
    crn_encoder_pair_unsigned(encoder, "rule", outcome->rule);
    crn_encoder_map_end(encoder);
    return crn_encoder_end(encoder, ret_bytes, ret_size);
}

int crn_firing_outcome_pack(const crn_firing_outcome *firing, crn_encoder *encoder,
                            const unsigned char **ret_bytes, size_t *ret_size)
{
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, FIRING_KEYS);
    crn_encoder_pair_unsigned(encoder, KEY_FIRING, VERSION);
    crn_encoder_pair_text(encoder, "run", firing->run);
    crn_encoder_pair_unsigned(encoder, "lane", firing->lane);
    crn_encoder_pair_unsigned(encoder, "sequence", firing->sequence);
    crn_encoder_pair_text(encoder, "result", firing->result);
    crn_encoder_map_end(encoder);
    return crn_encoder_end(encoder, ret_bytes, ret_size);
}

/* --- reading --- */

bool crn_outcome_is_one(const crn_messagepack_json *packed)
{
    return crn_value_get(&packed->tree.data, KEY_OUTCOME) ||
           crn_value_get(&packed->tree.data, KEY_FIRING);
}

static int read_number(const msgpack_object *map, const char *key, uint64_t min, uint64_t max,
                       uint64_t *ret_number, crn_error *error)
{
    uint64_t number;
    if (!crn_value_unsigned(crn_value_get(map, key), max, &number) || number < min)
        return crn_error_set(error, -EBADMSG,
                             "%s: a whole number from %" PRIu64 " to %" PRIu64 " expected", key,
                             min, max);
    *ret_number = number;
    return 0;
}

static int read_text(const msgpack_object *map, const char *key,
                     char ret_text[CRN_OUTCOME_TEXT_BYTES], crn_error *error)
{
    return crn_value_copy_text(crn_value_get(map, key), ret_text, CRN_OUTCOME_TEXT_BYTES)
               ? 0
               : crn_error_set(error, -EBADMSG, "%s: printable text of 1 to %d bytes expected", key,
                               CRN_OUTCOME_TEXT_BYTES - 1);
}

/* Of whichever kind it is. */
static int check_version(const msgpack_object *map, bool *ret_is_firing, crn_error *error)
{
    uint64_t version = 0;
    const msgpack_object *value = crn_value_get(map, KEY_OUTCOME);
    *ret_is_firing = !value;
    if (!value)
        value = crn_value_get(map, KEY_FIRING);
    if (!value)
        return crn_error_set(error, -EMEDIUMTYPE,
                             "is not an outcome of cernita-sorter: name its outputs.log.dir");
    if (!crn_value_unsigned(value, UINT64_MAX, &version) || version != VERSION)
        return crn_error_set(error, -EPROTONOSUPPORT,
                             "is of another version: use the programs of that sorter");
    return 0;
}

static int read_outcome(const msgpack_object *map, crn_outcome *outcome, crn_error *error)
{
    const struct {
        const char *key;
        uint64_t *number, min, max;
    } numbers[] = {
        {"lane", &outcome->lane, 0, UINT32_MAX},
        {"sequence", &outcome->sequence, 0, NUMBER_MAX},
        {"fruits", &outcome->fruits, 1, NUMBER_MAX},
        {"fruit", &outcome->fruit, 0, UINT64_MAX},
        {"rule", &outcome->rule, 0, UINT32_MAX},
    };
    const struct {
        const char *key;
        char *text;
    } texts[] = {{"sorter", outcome->sorter},
                 {"run", outcome->run},
                 {"outlet", outcome->outlet},
                 {"reason", outcome->reason}};
    uint64_t decided_ns = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof numbers / sizeof *numbers; i++)
        r = read_number(map, numbers[i].key, numbers[i].min, numbers[i].max, numbers[i].number,
                        error);
    if (r == 0)
        r = read_number(map, "decided_ns", 0, INT64_MAX, &decided_ns, error);
    for (size_t i = 0; r == 0 && i < sizeof texts / sizeof *texts; i++)
        r = read_text(map, texts[i].key, texts[i].text, error);
    outcome->decided_ns = (int64_t)decided_ns;
    return r;
}

static int read_firing(const msgpack_object *map, crn_firing_outcome *firing, crn_error *error)
{
    int r = read_number(map, "lane", 0, UINT32_MAX, &firing->lane, error);
    if (r == 0)
        r = read_number(map, "sequence", 0, NUMBER_MAX, &firing->sequence, error);
    if (r == 0)
        r = read_text(map, "run", firing->run, error);
    return r < 0 ? r : read_text(map, "result", firing->result, error);
}

int crn_outcome_parse(const void *bytes, size_t size, crn_outcome_entry *ret_entry,
                      crn_error *error)
{
    crn_messagepack_json message;
    crn_outcome_entry entry = {.is_firing = false};
    int r = crn_messagepack_json_init(&message, bytes, size, error);
    if (r < 0)
        return r;
    r = check_version(&message.tree.data, &entry.is_firing, error);
    if (r == 0)
        r = entry.is_firing ? read_firing(&message.tree.data, &entry.firing, error)
                            : read_outcome(&message.tree.data, &entry.outcome, error);
    crn_messagepack_json_done(&message);
    if (r == 0)
        *ret_entry = entry;
    return r;
}
