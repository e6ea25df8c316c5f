/*
 * An entry of the log of changes: a line of JSON that says who changed what of a line, when, and
 * what held before and after. Each carries the hash of the entry before it and, as its last value,
 * its own: SHA-256 of the line up to `,"hash":`. So a byte that was changed shows, and where.
 */
#ifndef CRN_SRC_FORMATS_CHANGES_ENTRY_H
#define CRN_SRC_FORMATS_CHANGES_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "stages/config/config.h"

CRN_C_BEGIN

/* In the line's state folder: the log, and the folder of texts SETTINGS.yaml, by their hash as
 * verdicts have it. */
#define CRN_CHANGES_FILE    "changes.jsonl"
#define CRN_SETTINGS_FOLDER "settings"

/* A SHA-256 as text: 64 lowercase hexadecimal digits. */
#define CRN_SHA256_TEXT_BYTES 65

/* Longest line, with its end. */
#define CRN_CHANGE_LINE_BYTES 16384

/* What the first entry carries, as there is none before it. */
extern const char crn_change_no_previous[CRN_SHA256_TEXT_BYTES];

/* Most of it that `keys` may take, as text. */
#define CRN_CHANGE_KEYS_BYTES 8192

#define CRN_CHANGE_WORD_BYTES 24
#define CRN_USER_NAME_BYTES   64
#define CRN_CHANGE_LOT_BYTES  48

/* What a line judges by. */
typedef struct crn_change_state {
    char settings[17]; /* the hash that verdicts have; "": not known */
    char recipe[CRN_RECIPE_NAME_BYTES];
    char lot[CRN_CHANGE_LOT_BYTES];   /* "": none */
    bool has_lot;                     /* of an entry that is to be written: it says the lot */
    char text[CRN_SHA256_TEXT_BYTES]; /* of the settings' text that is kept; "": none */
} crn_change_state;

typedef struct crn_change {
    int64_t time_ns;                     /* CLOCK_REALTIME */
    char what[CRN_CHANGE_WORD_BYTES];    /* "start", "stop", "reload", "recipe", "lot" */
    char through[CRN_CHANGE_WORD_BYTES]; /* "control", "signal" or "daemon" */
    uint32_t user;
    int32_t process;
    char user_name[CRN_USER_NAME_BYTES]; /* "": not known */
    bool refused;
    crn_change_state before, after;
    char keys[CRN_CHANGE_KEYS_BYTES]; /* lines: what differs in the file, or why it was refused */
    uint64_t missing;                 /* entries before this one that could not be written */
    uint64_t refused_left_out;        /* refused requests before it, of too many a minute */
    /* The entry that was written before it, where the file does not end with that: 0: it does. */
    uint64_t continues;
    char continues_hash[CRN_SHA256_TEXT_BYTES];
    char cut[CRN_SHA256_TEXT_BYTES]; /* of the bytes before it that are no entry; "": none */
} crn_change;

void crn_sha256_text(const void *bytes, size_t size, char ret_text[CRN_SHA256_TEXT_BYTES]);

/* "2026-11-21T08:00:00.123Z" */
#define CRN_CHANGE_TIME_BYTES 40
void crn_change_time(int64_t realtime_ns, char ret_text[CRN_CHANGE_TIME_BYTES]);

/*
 * Writes the entry's line, with its end. Text that is not UTF-8 must have been cleaned
 * (crn_utf8_clean).
 *
 * @param previous the hash of the entry before; NULL: it is the first
 * @return its length, -ENOMEM, or -EMSGSIZE for texts that are too long
 */
int crn_change_pack(const crn_change *change, uint64_t number, const char *previous,
                    char ret_line[CRN_CHANGE_LINE_BYTES], char ret_hash[CRN_SHA256_TEXT_BYTES]);

typedef enum crn_change_line {
    CRN_CHANGE_WHOLE,
    CRN_CHANGE_CUT,    /* the file ends within it, as after a loss of power */
    CRN_CHANGE_ALTERED /* it is not what was written */
} crn_change_line;

/* What the line is, by itself; `ended`: it has its line end, which `length` does not count. */
crn_change_line crn_change_look(const char *line, size_t length, bool ended);

/* What links a whole line to others. */
typedef struct crn_change_links {
    uint64_t number;
    char previous[CRN_SHA256_TEXT_BYTES], hash[CRN_SHA256_TEXT_BYTES], cut[CRN_SHA256_TEXT_BYTES];
    crn_change_state after;
} crn_change_links;

/* Reads these of a whole line. Returns 0, -EBADMSG or -ENOMEM. */
int crn_change_links_read(const char *line, size_t length, crn_change_links *ret_links);

CRN_C_END

#endif
