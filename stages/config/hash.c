/* Hash of the settings, which identifies them in verdicts. */
#include "stages/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"
#include "stages/base/fnv.h"
#include "stages/names.h"

#define READ_BYTES 16384

static int hash_print(const crn_config *config, uint64_t *hash)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return -ENOMEM;
    crn_config_print(config, out);
    bool whole = !ferror(out);
    if (fclose(out) != 0 || !whole) {
        free(text);
        return -ENOMEM;
    }
    *hash = crn_fnv1a(*hash, text, size);
    free(text);
    return 0;
}

static int hash_file(const char *path, uint64_t *hash, crn_error *error)
{
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    unsigned char bytes[READ_BYTES];
    ssize_t count;
    while ((count = read(fd, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR))
        if (count > 0)
            *hash = crn_fnv1a(*hash, bytes, (size_t)count);
    int r = count < 0 ? crn_error_set(error, -errno, "%s: cannot be read again: %s", path,
                                      strerror(errno))
                      : 0;
    close(fd);
    return r;
}

/* The files that the steps' settings name. */
static int hash_files(const crn_step *chain, int32_t steps, uint64_t *hash, crn_error *error)
{
    for (int32_t i = 0; i < steps; i++) {
        for (const crn_param *row = chain[i].stage->params; row && row->key; row++) {
            const char *text = (const char *)chain[i].settings + row->offset;
            if (!row->names || crn_name_find(row->names, text) >= 0)
                continue;
            int r = hash_file(text, hash, error);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int crn_config_hash(const crn_config *config, uint64_t *ret_hash, crn_error *error)
{
    uint64_t hash = CRN_FNV1A_START;
    int r = hash_print(config, &hash);
    if (r < 0)
        return crn_error_set(error, r, "no memory to print the settings");
    r = hash_files(config->chain, config->steps, &hash, error);
    for (int32_t i = 0; config->recipes && i < config->recipes->count && r == 0; i++)
        r = hash_files(config->recipes->item[i].chain, config->recipes->item[i].steps, &hash,
                       error);
    if (r < 0)
        return r;
    *ret_hash = hash;
    return 0;
}
