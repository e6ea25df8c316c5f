#include "tools/workbench/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "stages/image.h"
#include "stages/picture/picture.h"
#include "tools/workbench/text.h"

#define PREFIX    "cernita-workbench-"
#define LOCK_NAME ".lock"

/* Of the memory that is available at the start, of the folder's file system, and at most. */
#define MEMORY_SHARE        4
#define FOLDER_SHARE(bytes) ((bytes) / 4 * 3)
#define BYTES_MAX           (UINT64_C(4) << 30)

#define ENDING_BYTES_MAX 8
#define PAGE_BYTES       4096

static const char *memory_folder(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* --- the folder ------------------------------------------------------------------------------- */

/* Removes a folder, the files in it and those of its subfolders, which are labels. */
static void remove_folder(int parent, const char *name) // NOLINT(misc-no-recursion)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!itself && unlinkat(fd, entry->d_name, 0) < 0 && errno == EISDIR)
            remove_folder(fd, entry->d_name);
    }
    closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* A folder whose lock nobody holds belongs to a program that was killed. */
static bool is_abandoned(int parent, const char *name)
{
    char lock[300];
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || status.st_uid != geteuid())
        return false;
    snprintf(lock, sizeof lock, "%s/" LOCK_NAME, name);
    int fd = openat(parent, lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool abandoned = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return abandoned;
}

static void remove_abandoned(const char *parent_path)
{
    DIR *parent = opendir(parent_path);
    if (!parent)
        return;
    for (const struct dirent *entry; (entry = readdir(parent));)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            is_abandoned(dirfd(parent), entry->d_name))
            remove_folder(dirfd(parent), entry->d_name);
    closedir(parent);
}

/* What all files together may take. */
static uint64_t choose_bytes_max(const char *folder)
{
    struct statvfs status;
    uint64_t bytes = crn_memory_available_bytes() / MEMORY_SHARE;
    if (statvfs(folder, &status) == 0 &&
        FOLDER_SHARE((uint64_t)status.f_bavail * status.f_frsize) < bytes)
        bytes = FOLDER_SHARE((uint64_t)status.f_bavail * status.f_frsize);
    return bytes < BYTES_MAX ? bytes : BYTES_MAX;
}

int crn_store_open(crn_store *store, crn_error *error)
{
    const char *parent = memory_folder();
    char hidden[sizeof store->folder];
    *store = (crn_store){.folder_fd = -1, .lock_fd = -1};
    remove_abandoned(parent);
    /* Under another name until it is locked: a program that starts now would take it for abandoned.
     */
    snprintf(hidden, sizeof hidden, "%s/." PREFIX "%d-XXXXXX", parent, (int)getpid());
    if (!mkdtemp(hidden))
        return crn_error_set(error, -errno, "%s: no folder for pictures can be made: %s", parent,
                             strerror(errno));
    store->folder_fd = open(hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    store->lock_fd = openat(store->folder_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    snprintf(store->folder, sizeof store->folder, "%s/%s", parent, hidden + strlen(parent) + 2);
    if (store->lock_fd < 0 || flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0 ||
        rename(hidden, store->folder) < 0) {
        int r = crn_error_set(error, -errno, "%s: cannot be locked: %s", hidden, strerror(errno));
        remove_folder(AT_FDCWD, hidden);
        store->folder[0] = '\0';
        return r;
    }
    store->bytes_max = choose_bytes_max(store->folder);
    return 0;
}

void crn_store_close(crn_store *store)
{
    if (store->folder[0])
        remove_folder(AT_FDCWD, store->folder);
    if (store->folder_fd >= 0)
        close(store->folder_fd);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    store->folder[0] = '\0';
    store->folder_fd = store->lock_fd = -1;
}

void crn_store_remove_file(const crn_store *store, const char *name)
{
    if (unlinkat(store->folder_fd, name, 0) < 0 && errno == EISDIR)
        remove_folder(store->folder_fd, name);
}

/* --- names ------------------------------------------------------------------------------------ */

static void clean(const char *wanted, char *ret_text, size_t room)
{
    size_t used = 0;
    const char *slash = strrchr(wanted, '/');
    for (const char *from = slash ? slash + 1 : wanted; *from;) {
        size_t count = crn_utf8_bytes(from);
        bool bad = count == 0 || (count == 1 && (*from < ' ' || *from == 0x7f || *from == '\\'));
        bad = bad || (used == 0 && (*from == '.' || *from == '-' || *from == '@'));
        if (count == 0)
            count = 1;
        if (used + count >= room)
            break;
        memcpy(ret_text + used, bad ? "____" : from, bad ? 1 : count);
        used += bad ? 1 : count;
        from += count;
    }
    ret_text[used] = '\0';
    if (used == 0)
        snprintf(ret_text, room, "picture");
}

/* The last dot's part, if that is an ending. */
static const char *ending_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name && dot[1] && strlen(dot) <= ENDING_BYTES_MAX ? dot
                                                                          : name + strlen(name);
}

/* The wanted name, made harmless; from the second on with a number before its ending. */
static void make_name(const char *wanted, int number, char ret_name[CRN_STORE_NAME_BYTES])
{
    char base[CRN_STORE_NAME_BYTES - ENDING_BYTES_MAX - 16], ending[ENDING_BYTES_MAX + 2] = "";
    const char *slash = strrchr(wanted, '/');
    wanted = slash ? slash + 1 : wanted;
    if (*ending_of(wanted)) {
        clean(ending_of(wanted) + 1, ending + 1, sizeof ending - 1);
        ending[0] = '.';
    }
    clean(wanted, base, sizeof base);
    *(char *)(uintptr_t)ending_of(base) = '\0'; /* unless it was cut off with what is too long */
    if (number == 1)
        snprintf(ret_name, CRN_STORE_NAME_BYTES, "%s%s", base, ending);
    else
        snprintf(ret_name, CRN_STORE_NAME_BYTES, "%s-%d%s", base, number, ending);
}

void crn_store_original(const char *wanted, char ret_name[CRN_STORE_NAME_BYTES])
{
    make_name(wanted, 1, ret_name);
}

/* 0, or -1 and errno. */
static int make_file(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int make_folder(int folder_fd, const char *name)
{
    return mkdirat(folder_fd, name, 0700);
}

static int reserve(const crn_store *store, const char *wanted,
                   int make(int folder_fd, const char *name), char ret_name[CRN_STORE_NAME_BYTES])
{
    for (int number = 1;; number++) {
        make_name(wanted, number, ret_name);
        int r = make(store->folder_fd, ret_name);
        if (r == 0 || errno != EEXIST)
            return r == 0 ? 0 : -errno;
    }
}

int crn_store_reserve(const crn_store *store, const char *wanted,
                      char ret_name[CRN_STORE_NAME_BYTES])
{
    return reserve(store, wanted, make_file, ret_name);
}

int crn_store_reserve_folder(const crn_store *store, const char *wanted,
                             char ret_name[CRN_STORE_NAME_BYTES])
{
    return reserve(store, wanted, make_folder, ret_name);
}

/* --- entries ---------------------------------------------------------------------------------- */

static void drop(crn_store *store, crn_stored *picture)
{
    crn_store_remove_file(store, picture->name);
    *picture = (crn_stored){0};
}

/* The first to be dropped: of the results the longest unused, but for the last one, else of the
 * uploads but for the last two, as a user looks at a job's input and at what it made; NULL if there
 * is none. `gone`: entries that count as dropped already. */
static crn_stored *droppable(crn_store *store, const bool gone[CRN_STORE_PICTURES_MAX])
{
    for (int results = 1; results >= 0; results--) {
        crn_stored *oldest = NULL;
        int count = 0;
        for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++) {
            crn_stored *one = &store->at[i];
            if (!one->id || one->given || one->result != results || gone[i])
                continue;
            count++;
            if (!one->pins && (!oldest || one->used < oldest->used))
                oldest = one;
        }
        if (oldest && count > (results ? 1 : 2))
            return oldest;
    }
    return NULL;
}

static uint64_t bytes_held(const crn_store *store)
{
    uint64_t bytes = 0;
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        bytes += store->at[i].bytes;
    return bytes;
}

bool crn_store_has_room(crn_store *store, uint64_t bytes)
{
    bool gone[CRN_STORE_PICTURES_MAX] = {false};
    uint64_t held = bytes_held(store);
    while (held + bytes > store->bytes_max) {
        const crn_stored *oldest = droppable(store, gone);
        if (!oldest)
            return false;
        gone[oldest - store->at] = true;
        held -= oldest->bytes;
    }
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        if (gone[i])
            drop(store, &store->at[i]);
    return true;
}

static crn_stored *free_entry(crn_store *store)
{
    static const bool none[CRN_STORE_PICTURES_MAX];
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        if (!store->at[i].id)
            return &store->at[i];
    crn_stored *oldest = droppable(store, none);
    if (oldest)
        drop(store, oldest);
    return oldest;
}

/* Of memory: whole pages of each file; a link takes none. */
static uint64_t bytes_of_folder(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct stat status;
    uint64_t bytes = 0;
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size + PAGE_BYTES - (uint64_t)status.st_size % PAGE_BYTES;
    closedir(folder);
    return bytes;
}

crn_stored *crn_store_add(crn_store *store, const char *name, const crn_picture_facts *facts,
                          bool result)
{
    struct stat status = {0};
    if (fstatat(store->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    uint64_t bytes = S_ISREG(status.st_mode)   ? (uint64_t)status.st_size
                     : S_ISDIR(status.st_mode) ? bytes_of_folder(store->folder_fd, name)
                                               : 0;
    crn_stored *entry = crn_store_has_room(store, bytes) ? free_entry(store) : NULL;
    if (!entry) {
        crn_store_remove_file(store, name);
        return NULL;
    }
    *entry = (crn_stored){.id = ++store->last_id,
                          .facts = *facts,
                          .result = result,
                          .bytes = bytes,
                          .used = ++store->last_use};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    snprintf(entry->original, sizeof entry->original, "%s", name);
    return entry;
}

crn_stored *crn_store_find(crn_store *store, uint64_t id)
{
    for (int i = 0; id && i < CRN_STORE_PICTURES_MAX; i++)
        if (store->at[i].id == id) {
            store->at[i].used = ++store->last_use;
            return &store->at[i];
        }
    return NULL;
}

static void change_pins(crn_store *store, uint64_t id, int32_t by)
{
    for (int i = 0; id && i < CRN_STORE_PICTURES_MAX; i++)
        if (store->at[i].id == id)
            store->at[i].pins += by;
}

void crn_store_pin(crn_store *store, uint64_t id)
{
    change_pins(store, id, 1);
}

void crn_store_unpin(crn_store *store, uint64_t id)
{
    change_pins(store, id, -1);
}

crn_stored *crn_store_find_spec(crn_store *store, const char *spec)
{
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        if (store->at[i].id && *spec && strcmp(store->at[i].spec, spec) == 0)
            return &store->at[i];
    return NULL;
}

void crn_stored_write(const crn_stored *picture, crn_encoder *encoder)
{
    static const char *const kinds[] = {"picture",  "maps",  "recording",
                                        "contours", "table", "labels"};
    const crn_picture_facts *facts = &picture->facts;
    crn_encoder_map(encoder, 13);
    crn_encoder_pair_unsigned(encoder, "id", picture->id);
    crn_encoder_pair_text(encoder, "name", picture->name);
    crn_encoder_pair_text(encoder, "kind", kinds[facts->kind]);
    crn_encoder_pair_unsigned(encoder, "width", (uint64_t)facts->width);
    crn_encoder_pair_unsigned(encoder, "height", (uint64_t)facts->height);
    crn_encoder_pair_unsigned(encoder, "pages", (uint64_t)facts->pages);
    crn_encoder_pair_unsigned(encoder, "samples", (uint64_t)facts->samples);
    crn_encoder_pair_unsigned(encoder, "planes", (uint64_t)facts->planes);
    crn_encoder_pair_text(encoder, "type", facts->type ? crn_type_name((crn_type)facts->type) : "");
    crn_encoder_pair_bool(encoder, "alpha", facts->alpha);
    crn_encoder_pair_unsigned(encoder, "views", (uint64_t)facts->views);
    crn_encoder_pair_text(encoder, "spec", picture->spec);
    crn_encoder_pair_unsigned(encoder, "photograph", picture->photograph);
    crn_encoder_map_end(encoder);
}
