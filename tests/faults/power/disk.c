#include "tests/faults/power/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/faults/power/noted.h"

noted_call *noted_calls;
size_t noted_count;
uint32_t noted_files;

static size_t noted_room;
static char watched[128];    /* "": nothing is */
static const char *left_out; /* the end of names */

/* Files by the kernel's number, the newest of a number that is used again; and the size that the
 * noted calls lead to. */
#define FILES_MAX 4096
static struct {
    ino_t number;
    uint64_t size;
} files[FILES_MAX];

/* Recursive: what is noted may lead to other calls. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* --- what is noted --- */

static noted_call *note(noted_kind kind, uint32_t file)
{
    if (noted_count == noted_room) {
        noted_room = noted_room ? 2 * noted_room : 1024;
        noted_calls = realloc(noted_calls, noted_room * sizeof *noted_calls);
        if (!noted_calls)
            abort();
    }
    noted_call *call = &noted_calls[noted_count++];
    *call = (noted_call){.kind = kind, .file = file};
    return call;
}

/* The path within the folder that is watched; false: it is elsewhere, or left out. */
static bool is_watched(int folder, const char *path, char ret_name[CRN_NOTED_NAME_BYTES])
{
    char whole[PATH_MAX + CRN_NOTED_NAME_BYTES], link[64];
    if (!watched[0])
        return false;
    whole[0] = '\0';
    if (path[0] != '/' && folder != AT_FDCWD) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, whole, PATH_MAX - 1);
        if (length < 0)
            return false;
        whole[length] = '\0';
    }
    if (path[0])
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "%s%s", whole[0] ? "/" : "",
                 path);
    size_t head = strlen(watched);
    if (strncmp(whole, watched, head) != 0 || (whole[head] && whole[head] != '/'))
        return false;
    const char *name = whole + head;
    while (*name == '/')
        name++;
    size_t length = strlen(name), end = left_out ? strlen(left_out) : 0;
    while (length > 0 && name[length - 1] == '/')
        length--;
    if (end && length >= end && strncmp(name + length - end, left_out, end) == 0)
        return false;
    snprintf(ret_name, CRN_NOTED_NAME_BYTES, "%.*s", (int)length, name);
    return true;
}

/* The noted file of a descriptor; -1: it is none. */
static int64_t file_of(int descriptor)
{
    struct stat about;
    if (!watched[0] || fstat(descriptor, &about) < 0 || !S_ISREG(about.st_mode))
        return -1;
    for (int64_t file = (int64_t)noted_files - 1; file >= 0; file--)
        if (files[file].number == about.st_ino)
            return file;
    return -1;
}

static uint32_t note_new(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) < 0 || noted_files == FILES_MAX)
        abort();
    files[noted_files].number = about.st_ino;
    files[noted_files].size = 0;
    return noted_files++;
}

static void note_bytes(int64_t file, const void *bytes, size_t size, uint64_t offset, bool direct)
{
    noted_call *call = note(NOTED_WRITE, (uint32_t)file);
    call->offset = offset;
    call->size = size;
    call->is_direct = direct;
    call->bytes = malloc(size + 1);
    if (!call->bytes)
        abort();
    memcpy(call->bytes, bytes, size);
    if (offset + size > files[file].size)
        files[file].size = offset + size;
}

/* What came into the file otherwise, as by stdio. */
static void catch_up(int descriptor, int64_t file)
{
    struct stat about;
    char path[64];
    if (fstat(descriptor, &about) < 0 || (uint64_t)about.st_size <= files[file].size)
        return;
    size_t size = (size_t)about.st_size - files[file].size;
    unsigned char *bytes = malloc(size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int again = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (bytes && again >= 0 && pread(again, bytes, size, (off_t)files[file].size) == (ssize_t)size)
        note_bytes(file, bytes, size, files[file].size, false);
    if (again >= 0)
        close(again);
    free(bytes);
}

static bool is_direct(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT);
}

/* --- the calls, in the place of the C library's --- */

/* By other names here, so that no header of the library minds. */
#define IN_PLACE_OF(name) __asm__(name)

static int note_open(int folder, const char *path, int flags, mode_t mode)
{
    char name[CRN_NOTED_NAME_BYTES];
    pthread_mutex_lock(&lock);
    bool is_ours = is_watched(folder, path, name);
    bool was_there = is_ours && faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);
    int code = errno;
    if (descriptor >= 0 && is_ours && (flags & O_TMPFILE) == O_TMPFILE) {
        note_new(descriptor);
    } else if (descriptor >= 0 && is_ours && !was_there && (flags & O_CREAT)) {
        noted_call *call = note(NOTED_NAME, note_new(descriptor));
        strcpy(call->name, name);
    } else if (descriptor >= 0 && is_ours && (flags & O_TRUNC) && file_of(descriptor) >= 0) {
        int64_t file = file_of(descriptor);
        note(NOTED_SIZE, (uint32_t)file)->offset = files[file].size = 0;
    }
    pthread_mutex_unlock(&lock);
    errno = code;
    return descriptor;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name, symbol)                                                                         \
    int name(const char *path, int flags, ...) IN_PLACE_OF(symbol);                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = mode_of(flags, arguments);                                                   \
        va_end(arguments);                                                                         \
        return note_open(AT_FDCWD, path, flags, mode);                                             \
    }
OPEN(disk_open, "open")
OPEN(disk_open64, "open64")

#define OPENAT(name, symbol)                                                                       \
    int name(int folder, const char *path, int flags, ...) IN_PLACE_OF(symbol);                    \
    int name(int folder, const char *path, int flags, ...)                                         \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = mode_of(flags, arguments);                                                   \
        va_end(arguments);                                                                         \
        return note_open(folder, path, flags, mode);                                               \
    }
OPENAT(disk_openat, "openat")
OPENAT(disk_openat64, "openat64")

#define PWRITE(name, symbol)                                                                       \
    ssize_t name(int descriptor, const void *bytes, size_t size, off_t offset)                     \
        IN_PLACE_OF(symbol);                                                                       \
    ssize_t name(int descriptor, const void *bytes, size_t size, off_t offset)                     \
    {                                                                                              \
        ssize_t count = syscall(SYS_pwrite64, descriptor, bytes, size, offset);                    \
        int code = errno;                                                                          \
        pthread_mutex_lock(&lock);                                                                 \
        int64_t file = count > 0 ? file_of(descriptor) : -1;                                       \
        if (file >= 0)                                                                             \
            note_bytes(file, bytes, (size_t)count, (uint64_t)offset, is_direct(descriptor));       \
        pthread_mutex_unlock(&lock);                                                               \
        errno = code;                                                                              \
        return count;                                                                              \
    }
PWRITE(disk_pwrite, "pwrite")
PWRITE(disk_pwrite64, "pwrite64")

#define PWRITEV(name, symbol)                                                                      \
    ssize_t name(int descriptor, const struct iovec *parts, int count, off_t offset)               \
        IN_PLACE_OF(symbol);                                                                       \
    ssize_t name(int descriptor, const struct iovec *parts, int count, off_t offset)               \
    {                                                                                              \
        ssize_t done = 0;                                                                          \
        for (int i = 0; i < count; i++) {                                                          \
            ssize_t part =                                                                         \
                disk_pwrite(descriptor, parts[i].iov_base, parts[i].iov_len, offset + done);       \
            if (part < 0)                                                                          \
                return done > 0 ? done : part;                                                     \
            done += part;                                                                          \
        }                                                                                          \
        return done;                                                                               \
    }
PWRITEV(disk_pwritev, "pwritev")
PWRITEV(disk_pwritev64, "pwritev64")

ssize_t disk_write(int descriptor, const void *bytes, size_t size) IN_PLACE_OF("write");
ssize_t disk_write(int descriptor, const void *bytes, size_t size)
{
    pthread_mutex_lock(&lock);
    int64_t file = file_of(descriptor);
    ssize_t count = syscall(SYS_write, descriptor, bytes, size);
    int code = errno;
    if (file >= 0 && count > 0) /* where it was written: behind what was there, or not (O_APPEND) */
        note_bytes(file, bytes, (size_t)count, (uint64_t)(lseek(descriptor, 0, SEEK_CUR) - count),
                   is_direct(descriptor));
    pthread_mutex_unlock(&lock);
    errno = code;
    return count;
}

static int note_size(int descriptor, uint64_t size, int r)
{
    int code = errno;
    pthread_mutex_lock(&lock);
    int64_t file = r == 0 ? file_of(descriptor) : -1;
    if (file >= 0)
        note(NOTED_SIZE, (uint32_t)file)->offset = files[file].size = size;
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

int disk_ftruncate(int descriptor, off_t size) IN_PLACE_OF("ftruncate");
int disk_ftruncate(int descriptor, off_t size)
{
    return note_size(descriptor, (uint64_t)size, (int)syscall(SYS_ftruncate, descriptor, size));
}

int disk_ftruncate64(int descriptor, off_t size) IN_PLACE_OF("ftruncate64");
int disk_ftruncate64(int descriptor, off_t size)
{
    return disk_ftruncate(descriptor, size);
}

/* Space that is reserved at the end; no disk is filled for it. */
int disk_posix_fallocate(int descriptor, off_t offset, off_t size) IN_PLACE_OF("posix_fallocate");
int disk_posix_fallocate(int descriptor, off_t offset, off_t size)
{
    return disk_ftruncate(descriptor, offset + size) < 0 ? errno : 0;
}

static int note_sync(int descriptor, int r)
{
    char name[CRN_NOTED_NAME_BYTES];
    struct stat about;
    int code = errno;
    pthread_mutex_lock(&lock);
    int64_t file = r == 0 ? file_of(descriptor) : -1;
    if (file >= 0) {
        catch_up(descriptor, file);
        note(NOTED_SYNC, (uint32_t)file);
    } else if (r == 0 && fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode) &&
               is_watched(descriptor, "", name)) {
        strcpy(note(NOTED_SYNC_FOLDER, 0)->name, name);
    }
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

/* The kernel is not asked: the disk is this file's. */
int disk_fsync(int descriptor) IN_PLACE_OF("fsync");
int disk_fsync(int descriptor)
{
    return note_sync(descriptor, 0);
}

int disk_fdatasync(int descriptor) IN_PLACE_OF("fdatasync");
int disk_fdatasync(int descriptor)
{
    return note_sync(descriptor, 0);
}

/* What is in the file that a name leads to is noted before the name is. */
static void catch_up_with(int folder, const char *path)
{
    int descriptor = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    int64_t file = descriptor >= 0 ? file_of(descriptor) : -1;
    if (file >= 0)
        catch_up(descriptor, file);
    if (descriptor >= 0)
        close(descriptor);
}

static int note_rename(int from_folder, const char *from, int to_folder, const char *to,
                       unsigned flags)
{
    char old_name[CRN_NOTED_NAME_BYTES], new_name[CRN_NOTED_NAME_BYTES];
    pthread_mutex_lock(&lock);
    bool is_ours = is_watched(from_folder, from, old_name) && is_watched(to_folder, to, new_name);
    if (is_ours)
        catch_up_with(from_folder, from);
    int r = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    int code = errno;
    if (r == 0 && is_ours) {
        noted_call *call = note(NOTED_RENAME, 0);
        strcpy(call->name, new_name);
        strcpy(call->from, old_name);
    }
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

int disk_rename(const char *from, const char *to) IN_PLACE_OF("rename");
int disk_rename(const char *from, const char *to)
{
    return note_rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int disk_renameat(int from_folder, const char *from, int to_folder, const char *to)
    IN_PLACE_OF("renameat");
int disk_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return note_rename(from_folder, from, to_folder, to, 0);
}

int disk_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
    IN_PLACE_OF("renameat2");
int disk_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    return note_rename(from_folder, from, to_folder, to, flags);
}

int disk_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
    IN_PLACE_OF("linkat");
int disk_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    char name[CRN_NOTED_NAME_BYTES];
    pthread_mutex_lock(&lock);
    int r = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    int code = errno;
    if (r == 0 && is_watched(to_folder, to, name)) {
        int descriptor = (int)syscall(SYS_openat, to_folder, to, O_RDONLY | O_CLOEXEC, 0);
        int64_t file = file_of(descriptor);
        if (file >= 0) {
            catch_up(descriptor, file);
            strcpy(note(NOTED_NAME, (uint32_t)file)->name, name);
        }
        close(descriptor);
    }
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

int disk_unlinkat(int folder, const char *path, int flags) IN_PLACE_OF("unlinkat");
int disk_unlinkat(int folder, const char *path, int flags)
{
    char name[CRN_NOTED_NAME_BYTES];
    pthread_mutex_lock(&lock);
    bool is_ours = is_watched(folder, path, name);
    int r = (int)syscall(SYS_unlinkat, folder, path, flags);
    int code = errno;
    if (r == 0 && is_ours)
        strcpy(note(NOTED_REMOVE, 0)->name, name);
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

int disk_unlink(const char *path) IN_PLACE_OF("unlink");
int disk_unlink(const char *path)
{
    return disk_unlinkat(AT_FDCWD, path, 0);
}

int disk_mkdir(const char *path, mode_t mode) IN_PLACE_OF("mkdir");
int disk_mkdir(const char *path, mode_t mode)
{
    char name[CRN_NOTED_NAME_BYTES];
    pthread_mutex_lock(&lock);
    int r = (int)syscall(SYS_mkdir, path, mode);
    int code = errno;
    if (r == 0 && is_watched(AT_FDCWD, path, name))
        strcpy(note(NOTED_FOLDER, 0)->name, name);
    pthread_mutex_unlock(&lock);
    errno = code;
    return r;
}

/* --- for tests --- */

void disk_watch(const char *folder, const char *ignored)
{
    for (size_t i = 0; i < noted_count; i++)
        free(noted_calls[i].bytes);
    noted_count = noted_files = 0;
    left_out = ignored;
    snprintf(watched, sizeof watched, "%s", folder);
}

void disk_unwatch(void)
{
    watched[0] = '\0';
}

void disk_acknowledge(uint64_t value)
{
    pthread_mutex_lock(&lock);
    note(NOTED_ACKNOWLEDGED, 0)->offset = value;
    pthread_mutex_unlock(&lock);
}

size_t disk_calls(void)
{
    return noted_count;
}
