#include "tools/ctl/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/formats/changes/chain.h"
#include "src/formats/changes/settings_text.h"
#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/encoding/value.h"
#include "stages/base/file/regular_file.h"
#include "stages/base/utf8.h"

typedef struct changes_reading {
    const crn_ctl_changes *given;
    char folder[PATH_MAX], file[PATH_MAX + sizeof CRN_CHANGES_FILE + 1];
    char compared[CRN_SETTINGS_HASH_DIGITS + 1]; /* the settings whose text was compared last */
    bool is_missing;                             /* it is not there */
    int32_t bad_texts;
    uint64_t missing_texts; /* entries */
    uint64_t printed;
} changes_reading;

/* --- texts of settings --- */

int crn_ctl_settings_print(const char *dir, const char *hash)
{
    crn_error error;
    size_t size;
    if (!crn_settings_hash_is_valid(hash)) {
        crn_error_set(&error, 0,
                      "settings %s: the 16 hexadecimal digits of a verdict's 'settings' "
                      "expected",
                      hash);
        fprintf(stderr, "cernitactl: %s\n", error.text);
        return 2;
    }
    char *text;
    if (crn_settings_text_read(dir, hash, &text, &size, &error) < 0) {
        fprintf(stderr, "cernitactl: %s\n", error.text);
        return 1;
    }
    bool good = fwrite(text, 1, size, stdout) == size;
    free(text);
    return good ? 0 : 1;
}

/* Whether the text is the one that the entry names. One that is not there was moved to where it is
 * kept, as of a full folder: that alters nothing. */
static void compare_text(changes_reading *self, const crn_change_links *entry)
{
    char hash[CRN_SHA256_TEXT_BYTES];
    crn_error error;
    size_t size;
    if (!entry->after.text[0] || !crn_settings_hash_is_valid(entry->after.settings))
        return;
    if (strcmp(self->compared, entry->after.settings) == 0) {
        self->missing_texts += self->is_missing;
        return;
    }
    memcpy(self->compared, entry->after.settings, sizeof self->compared);
    char *text;
    int r = crn_settings_text_read(self->folder, entry->after.settings, &text, &size, &error);
    self->is_missing = r == -ENOENT;
    self->missing_texts += self->is_missing;
    if (self->is_missing)
        return;
    if (r < 0) {
        fprintf(stderr, "cernitactl: entry %" PRIu64 ": %s\n", entry->number, error.text);
        self->bad_texts++;
        return;
    }
    crn_sha256_text(text, size, hash);
    free(text);
    if (strcmp(hash, entry->after.text) == 0)
        return;
    self->bad_texts++;
    fprintf(stderr,
            "cernitactl: %s/" CRN_SETTINGS_FOLDER "/%s.yaml: is not the text that entry %" PRIu64
            " was written with\n",
            self->folder, entry->after.settings, entry->number);
}

/* --- the table --- */

/* The text under that key, as it may be shown; "" if there is none. */
static const char *shown(const msgpack_object *map, const char *key, char out[512])
{
    const msgpack_object *value = key ? crn_value_get(map, key) : map;
    out[0] = '\0';
    if (value && value->type == MSGPACK_OBJECT_STR)
        crn_utf8_show(value->via.str.ptr, value->via.str.size, out, 512);
    return out;
}

static uint64_t number_of(const msgpack_object *map, const char *key)
{
    uint64_t number = 0;
    crn_value_unsigned(crn_value_get(map, key), UINT64_MAX, &number);
    return number;
}

static void print_states(const msgpack_object *entry)
{
    static const char *const keys[] = {"settings", "recipe", "lot"};
    const msgpack_object *states[] = {crn_value_get(entry, "before"),
                                      crn_value_get(entry, "after")};
    char before[512], after[512];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        shown(states[0], keys[i], before);
        shown(states[1], keys[i], after);
        if (strcmp(before, after) != 0)
            printf("       %s: %s -> %s\n", keys[i], before[0] ? before : "none",
                   after[0] ? after : "none");
    }
}

static void print_entry(const msgpack_object *entry)
{
    char text[512], what[512];
    const msgpack_object *by = crn_value_get(entry, "by"), *keys = crn_value_get(entry, "keys");
    uint64_t missing = number_of(entry, "missing");
    shown(entry, "what", what);
    printf("%5" PRIu64 "  %s  %s%s", number_of(entry, "number"), shown(entry, "time", text), what,
           crn_value_is_true(crn_value_get(entry, "refused")) ? " refused" : "");
    printf("  by %s", shown(by, "name", text)[0] ? text : "user");
    printf(" (%" PRIu64 "), process %" PRIu64, number_of(by, "user"), number_of(by, "process"));
    printf(", %s\n", shown(by, "through", text));
    if (missing > 0)
        printf("       %" PRIu64 " changes before it could not be recorded\n", missing);
    if (number_of(entry, "refused_left_out") > 0)
        printf("       %" PRIu64
               " refused requests before it, too many a minute, were not recorded\n",
               number_of(entry, "refused_left_out"));
    if (crn_value_get(entry, "continues"))
        printf("       continues entry %" PRIu64 " with the hash %s, which this file does not end "
               "with: it was moved, removed, replaced or altered\n",
               number_of(entry, "continues"), shown(entry, "continues_sha256", text));
    if (crn_value_get(entry, "cut_sha256"))
        puts("       an entry before it was cut, as by a loss of power");
    print_states(entry);
    for (uint32_t i = 0; i < crn_value_count(keys); i++)
        printf("       %s\n", shown(crn_value_item(keys, i), NULL, text));
}

static bool is_number(const char *from)
{
    return from[0] && strspn(from, "0123456789") == strlen(from);
}

bool crn_ctl_from_is_valid(const char *from)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    static const size_t lengths[] = {10, 16, 19};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm time = {0};
        const char *end = strptime(from, forms[i], &time);
        if (!end || end != from + lengths[i]) /* all digits, so that texts compare as times do */
            continue;
        int day = time.tm_mday;
        timegm(&time);
        if (i == 2 && *end == '.' && strspn(end + 1, "0123456789") == 3)
            end += 4;
        if (time.tm_mday == day && (!*end || strcmp(end, "Z") == 0))
            return true;
    }
    return is_number(from);
}

static bool is_wanted(const char *from, const msgpack_object *entry)
{
    char text[512];
    if (!from)
        return true;
    if (is_number(from))
        return number_of(entry, "number") >= strtoull(from, NULL, 10);
    return strncmp(shown(entry, "time", text), from, strcspn(from, "Z")) >= 0;
}

static void print_line(changes_reading *self, const char *line, size_t length)
{
    crn_messagepack_json entry;
    crn_error error;
    if (crn_messagepack_json_init(&entry, line, length, &error) < 0)
        return;
    if (is_wanted(self->given->from, &entry.tree.data)) {
        print_entry(&entry.tree.data);
        self->printed++;
    }
    crn_messagepack_json_done(&entry);
}

/* --- the log --- */

static void take_entry(void *context, const crn_change_links *links, const char *line,
                       size_t length)
{
    changes_reading *self = context;
    if (self->given->verify)
        compare_text(self, links);
    else
        print_line(self, line, length);
}

/* The folder, and the file in it; a file that is named lies in the folder, too. */
static void find_files(changes_reading *self)
{
    struct stat about;
    const char *path = self->given->path, *slash = strrchr(path, '/');
    if (stat(path, &about) < 0 || S_ISDIR(about.st_mode)) {
        snprintf(self->folder, sizeof self->folder, "%s", path);
        snprintf(self->file, sizeof self->file, "%s/" CRN_CHANGES_FILE, self->folder);
        return;
    }
    snprintf(self->file, sizeof self->file, "%s", path);
    snprintf(self->folder, sizeof self->folder, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
}

/* The exit status. */
static int conclude(const changes_reading *self, const crn_change_chain *chain)
{
    fflush(stdout);
    if (chain->fault_line)
        fprintf(stderr, "cernitactl: %s:%" PRIu64 ": %s\n", self->file, chain->fault_line,
                chain->fault);
    if (chain->cuts > 0)
        printf("cut, as by a loss of power, with a later entry that vouches for it: %" PRIu64 "\n",
               chain->cuts);
    if (chain->cut[0])
        printf("line %" PRIu64 " is cut, as by a loss of power\n", chain->lines);
    if (self->missing_texts > 0)
        printf("the settings' text of %" PRIu64
               " %s is not there: it was moved away, removed, or could not be kept\n",
               self->missing_texts, self->missing_texts == 1 ? "entry" : "entries");
    if (chain->fault_line || self->bad_texts > 0)
        return 1;
    if (self->given->verify && chain->last.number > 0)
        printf("%" PRIu64 " entries, none altered; the last has the hash %s\n", chain->last.number,
               chain->last.hash);
    else if (chain->lines == 0)
        puts("no entries");
    else if (self->given->from && self->printed == 0)
        printf("no entries from %s on\n", self->given->from);
    return 0;
}

int crn_ctl_changes_print(const crn_ctl_changes *given)
{
    static changes_reading self;
    crn_change_chain chain;
    crn_error error;
    self = (changes_reading){.given = given};
    find_files(&self);
    int fd = crn_regular_open(self.file, &error);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        fprintf(stderr, "cernitactl: %s\n", fd < 0 ? error.text : strerror(errno));
        if (fd >= 0)
            close(fd);
        return 1;
    }
    int r = crn_change_chain_read(file, take_entry, &self, &chain);
    fclose(file);
    if (r < 0)
        fprintf(stderr, "cernitactl: %s: cannot be read: %s\n", self.file, strerror(-r));
    return r < 0 ? 1 : conclude(&self, &chain);
}
