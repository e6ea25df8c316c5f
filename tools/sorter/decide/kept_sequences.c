#include "tools/sorter/decide/kept_sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC     "crnseq1"
#define RUN_BYTES 64

typedef struct kept_lane {
    uint64_t lane;
    _Atomic uint64_t next;
} kept_lane;

/* The file. Whoever is killed between two stores leaves the lanes before the last one whole. */
typedef struct kept_file {
    char magic[8];
    char run[RUN_BYTES];
    _Atomic uint32_t count;
    uint32_t reserved;
    kept_lane lane[CRN_DECIDER_LANES_MAX];
} kept_file;

struct crn_kept_sequences {
    int descriptor; /* its lock says that a sorter has the file */
    kept_file *file;
};

static bool is_sound(const kept_file *file)
{
    return memcmp(file->magic, MAGIC, sizeof MAGIC) == 0 && file->run[RUN_BYTES - 1] == '\0' &&
           atomic_load(&file->count) <= CRN_DECIDER_LANES_MAX;
}

static int map(crn_kept_sequences *kept, const char *path)
{
    kept->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (kept->descriptor < 0)
        return -errno;
    if (flock(kept->descriptor, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    /* Now, as a full disk would end the program at a store. */
    int r = posix_fallocate(kept->descriptor, 0, sizeof *kept->file);
    if (r)
        return -r;
    kept->file =
        mmap(NULL, sizeof *kept->file, PROT_READ | PROT_WRITE, MAP_SHARED, kept->descriptor, 0);
    if (kept->file == MAP_FAILED) {
        kept->file = NULL;
        return -errno;
    }
    return 0;
}

int crn_kept_sequences_open(const char *path, crn_kept_sequences **ret_kept, crn_error *error)
{
    crn_kept_sequences *kept = calloc(1, sizeof *kept);
    if (!kept)
        return crn_error_set(error, -ENOMEM, "state.file: no memory");
    int r = map(kept, path);
    if (r < 0) {
        crn_kept_sequences_close(&kept);
        return crn_error_set(error, r, "state.file: %s: %s", path,
                             r == -EBUSY ? "another sorter has it: each needs its own"
                                         : strerror(-r));
    }
    if (!is_sound(kept->file)) {
        memset(kept->file, 0, sizeof *kept->file);
        memcpy(kept->file->magic, MAGIC, sizeof MAGIC);
    }
    *ret_kept = kept;
    return 0;
}

void crn_kept_sequences_close(crn_kept_sequences **kept)
{
    crn_kept_sequences *self = *kept;
    if (!self)
        return;
    if (self->file)
        munmap(self->file, sizeof *self->file);
    if (self->descriptor >= 0)
        close(self->descriptor);
    free(self);
    *kept = NULL;
}

const char *crn_kept_sequences_run(const crn_kept_sequences *kept)
{
    return kept->file->run;
}

bool crn_kept_sequences_get(const crn_kept_sequences *kept, int32_t at, uint64_t *ret_lane,
                            uint64_t *ret_next)
{
    if (at >= (int32_t)atomic_load(&kept->file->count))
        return false;
    *ret_lane = kept->file->lane[at].lane;
    *ret_next = atomic_load(&kept->file->lane[at].next);
    return true;
}

void crn_kept_sequences_begin(crn_kept_sequences *kept, const char *run)
{
    atomic_store(&kept->file->count, 0);
    snprintf(kept->file->run, sizeof kept->file->run, "%s", run);
}

void crn_kept_sequences_put(crn_kept_sequences *kept, uint64_t lane, uint64_t next)
{
    kept_file *file = kept->file;
    uint32_t count = atomic_load(&file->count), at = 0;
    while (at < count && file->lane[at].lane != lane)
        at++;
    if (at == CRN_DECIDER_LANES_MAX)
        return;
    file->lane[at].lane = lane;
    atomic_store(&file->lane[at].next, next);
    if (at == count)
        atomic_store(&file->count, count + 1);
}
