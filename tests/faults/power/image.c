/* The folder as a loss of power leaves it: names first, then each file's bytes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/power/disk.h"
#include "tests/faults/power/noted.h"
#include "tests/support/cmocka_prelude.h"

#define SECTOR_BYTES 512
#define NAMES_MAX    512

typedef struct image {
    size_t calls;
    disk_loss loss;
    crn_random *random;
    const char *into;
    bool
        is_one_journal; /* a file's fsync() also keeps all names given before, as on ext4 and XFS */
    size_t names_kept;  /* calls up to here gave their names, whatever was synced */
    struct {
        char name[CRN_NOTED_NAME_BYTES];
        int64_t file; /* -1: it is a folder */
    } names[NAMES_MAX];
    size_t count;
} image;

static bool draw(const image *made)
{
    return made->loss == DISK_KEEPS_ALL ||
           (made->loss == DISK_DRAWS && crn_random_once_in(made->random, 2));
}

/* --- names --- */

static bool is_in(const char *name, const char *folder)
{
    const char *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) : 0;
    return strlen(folder) == length && strncmp(name, folder, length) == 0;
}

/* True if what was noted at `at` is there for certain. */
static bool is_name_synced(const image *made, size_t at)
{
    for (size_t i = at + 1; i < made->calls; i++) {
        const noted_call *call = &noted_calls[i];
        if (call->kind == NOTED_SYNC_FOLDER && is_in(noted_calls[at].name, call->name))
            return true;
        if (made->is_one_journal && (call->kind == NOTED_SYNC || call->kind == NOTED_SYNC_FOLDER))
            return true;
    }
    return false;
}

static size_t find(const image *made, const char *name)
{
    size_t i = 0;
    while (i < made->count && strcmp(made->names[i].name, name) != 0)
        i++;
    return i;
}

static void set_name(image *made, const char *name, int64_t file)
{
    size_t at = find(made, name);
    assert_true(at < NAMES_MAX);
    if (at == made->count)
        strcpy(made->names[made->count++].name, name);
    made->names[at].file = file;
}

static void remove_name(image *made, size_t at)
{
    if (at < made->count)
        made->names[at] = made->names[--made->count];
}

static void change_name(image *made, const noted_call *call)
{
    size_t from;
    switch (call->kind) {
    case NOTED_NAME:
        set_name(made, call->name, call->file);
        break;
    case NOTED_FOLDER:
        set_name(made, call->name, -1);
        break;
    case NOTED_REMOVE:
        remove_name(made, find(made, call->name));
        break;
    case NOTED_RENAME:
        from = find(made, call->from);
        if (from < made->count) {
            int64_t file = made->names[from].file;
            remove_name(made, from);
            set_name(made, call->name, file);
        }
        break;
    default:
        break;
    }
}

static bool is_of_names(noted_kind kind)
{
    return kind == NOTED_NAME || kind == NOTED_FOLDER || kind == NOTED_REMOVE ||
           kind == NOTED_RENAME;
}

static void make_names(image *made)
{
    made->names_kept = made->loss == DISK_KEEPS_ALL ? made->calls
                       : made->loss == DISK_LOSES_ALL
                           ? 0
                           : crn_random_below(made->random, (uint32_t)made->calls + 1);
    for (size_t i = 0; i < made->calls; i++)
        if (is_of_names(noted_calls[i].kind) && (i < made->names_kept || is_name_synced(made, i)))
            change_name(made, &noted_calls[i]);
}

/* --- bytes --- */

/* True if the sync after it makes certain what was written at `at`. */
static size_t last_sync(const image *made, uint32_t file)
{
    size_t last = 0;
    for (size_t i = 0; i < made->calls; i++)
        if (noted_calls[i].kind == NOTED_SYNC && noted_calls[i].file == file)
            last = i;
    return last;
}

static void put(int fd, const noted_call *call, size_t from, size_t size)
{
    assert_int_equal(pwrite(fd, call->bytes + from, size, (off_t)(call->offset + from)), size);
}

/* A write that may be there, in part, or as zeros. */
static void put_drawn(const image *made, int fd, const noted_call *call)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    uint64_t end = call->offset + call->size;
    switch (crn_random_below(made->random, 4)) {
    case 0:
        put(fd, call, 0, call->size);
        break;
    case 1: /* of its sectors, some; the file is as long as if all were there */
        for (size_t at = 0; at < call->size;) {
            size_t next = SECTOR_BYTES - (call->offset + at) % SECTOR_BYTES;
            next = next < call->size - at ? next : call->size - at;
            if (crn_random_once_in(made->random, 2))
                put(fd, call, at, next);
            at += next;
        }
        /* fall through */
    case 2:
        if (end > (uint64_t)about.st_size)
            assert_int_equal(ftruncate(fd, (off_t)end), 0);
        break;
    default: /* lost, and its length, too */
        break;
    }
}

/* Past the page cache: bytes within the file are there, and of those behind its end as many as its
 * length, which grows in order, says. */
static void put_direct(int fd, const noted_call *call, uint64_t length)
{
    if (call->offset < length)
        put(fd, call, 0,
            call->offset + call->size <= length ? call->size : (size_t)(length - call->offset));
}

/* What the file's length may be, of those that it had since it was synced. */
static uint64_t draw_length(const image *made, uint32_t file, size_t synced)
{
    uint64_t length = 0;
    for (size_t i = 0; i < made->calls; i++) {
        const noted_call *call = &noted_calls[i];
        bool grows = call->kind == NOTED_WRITE && call->offset + call->size > length;
        if (call->file != file || (!grows && call->kind != NOTED_SIZE))
            continue;
        if (i > synced && !draw(made))
            return length;
        length = call->kind == NOTED_SIZE ? call->offset : call->offset + call->size;
    }
    return length;
}

static void make_file(const image *made, uint32_t file, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0)
        fail_msg("%s cannot be made", path);
    size_t synced = last_sync(made, file);
    uint64_t length = draw_length(made, file, synced);
    for (size_t i = 0; i < made->calls; i++) {
        const noted_call *call = &noted_calls[i];
        if (call->file != file || (call->kind != NOTED_WRITE && call->kind != NOTED_SIZE))
            continue;
        bool is_write = call->kind == NOTED_WRITE, is_kept = i < synced;
        if (is_write && call->is_direct && !is_kept)
            put_direct(fd, call, length);
        else if (is_write && (is_kept || made->loss == DISK_KEEPS_ALL))
            put(fd, call, 0, call->size);
        else if (is_write && made->loss == DISK_DRAWS)
            put_drawn(made, fd, call);
        else if (!is_write && (is_kept || draw(made)))
            assert_int_equal(ftruncate(fd, (off_t)call->offset), 0);
    }
    close(fd);
}

/* --- both --- */

static bool has_folder(const image *made, const char *name)
{
    char folder[CRN_NOTED_NAME_BYTES];
    const char *slash = strrchr(name, '/');
    if (!slash)
        return true;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    return find(made, folder) < made->count && has_folder(made, folder);
}

uint64_t disk_image(size_t calls, disk_loss loss, crn_random *random, const char *into)
{
    static image made;
    char path[256];
    uint64_t acknowledged = 0;
    made = (image){.calls = calls, .loss = loss, .random = random, .into = into};
    made.is_one_journal = loss == DISK_DRAWS && crn_random_once_in(random, 2);
    make_names(&made);
    for (size_t i = 0; i < calls; i++)
        if (noted_calls[i].kind == NOTED_ACKNOWLEDGED)
            acknowledged = noted_calls[i].offset;
    for (int folders = 1; folders >= 0; folders--)
        for (size_t i = 0; i < made.count; i++) {
            bool is_folder = made.names[i].file < 0;
            snprintf(path, sizeof path, "%s/%s", into, made.names[i].name);
            if (is_folder != folders || !has_folder(&made, made.names[i].name))
                continue;
            if (is_folder)
                assert_int_equal(mkdir(path, 0755), 0);
            else
                make_file(&made, (uint32_t)made.names[i].file, path);
        }
    return acknowledged;
}
