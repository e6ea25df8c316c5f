#include "src/formats/keys/clients.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stages/base/param.h"
#include "stages/base/buffer/array.h"

#define PATH_BYTES (CRN_TEXT_BYTES + 300)

void crn_access_clients_done(crn_access_clients *clients)
{
    free(clients->client);
    *clients = (crn_access_clients){0};
}

const crn_access_client *crn_access_clients_find(const crn_access_clients *clients, const char *key)
{
    for (int32_t i = 0; i < clients->count; i++)
        if (strcmp(clients->client[i].file.key, key) == 0)
            return &clients->client[i];
    return NULL;
}

/* A folder of keys while it is read. */
typedef struct reading {
    FILE *faults; /* NULL: no output */
    crn_error *error;
    int r; /* the first fault's */
    crn_access_clients clients;
} reading;

static void add_fault(reading *self, int r, const crn_error *fault)
{
    if (self->faults)
        fprintf(self->faults, "%s\n", fault->text);
    if (self->r == 0)
        self->r = crn_error_set(self->error, r, "%s", fault->text);
}

/* Whoever may write there may admit himself. */
static int check_folder(const char *path, crn_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (status.st_mode & 022)
        return crn_error_set(
            error, -EPERM,
            "%s: other users may write to it (mode %04o), and so admit themselves: "
            "chmod go-w %s",
            path, (unsigned)status.st_mode & 07777, path);
    return 0;
}

/* The name between prefix and `.pub`; false: another file. */
static bool read_name(const char *file, const char *prefix, char name[CRN_KEY_NAME_MAX + 1])
{
    if (strncmp(file, prefix, strlen(prefix)) != 0)
        return false;
    file += strlen(prefix);
    size_t length = strlen(file), suffix = strlen(CRN_KEY_SUFFIX);
    if (length <= suffix || length - suffix > CRN_KEY_NAME_MAX ||
        strcmp(file + length - suffix, CRN_KEY_SUFFIX) != 0)
        return false;
    memcpy(name, file, length - suffix);
    name[length - suffix] = '\0';
    return crn_key_name_is_valid(name);
}

static int add_client(const char *folder, const char *prefix, const char *name,
                      crn_access_clients *clients, crn_error *error)
{
    crn_access_client added = {.name = ""};
    char path[PATH_BYTES];
    memcpy(added.name, name, strlen(name) + 1);
    snprintf(path, sizeof path, "%s/%s%s%s", folder, prefix, name, CRN_KEY_SUFFIX);
    int r = crn_key_read(path, CRN_KEY_CLIENT, &added.file, error);
    if (r < 0)
        return r;
    const crn_access_client *same = crn_access_clients_find(clients, added.file.key);
    if (same)
        return crn_error_set(
            error, -EEXIST,
            "%s: the same key as %s%s: give each client its own (cernita-keys), or "
            "remove one of them",
            path, same->name, CRN_KEY_SUFFIX);
    if (clients->count == CRN_ACCESS_CLIENTS_MAX)
        return crn_error_set(error, -E2BIG, "%s: more than %d clients: remove some", folder,
                             CRN_ACCESS_CLIENTS_MAX);
    if (crn_array_grow(&clients->client, (size_t)clients->count, sizeof *clients->client) < 0)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its keys", folder);
    clients->client[clients->count++] = added;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const crn_access_client *)a)->name, ((const crn_access_client *)b)->name);
}

static void read_client(reading *self, const char *folder, const char *prefix, const char *name)
{
    crn_error error;
    int r = add_client(folder, prefix, name, &self->clients, &error);
    if (r < 0)
        add_fault(self, r, &error);
}

/* Files with this prefix; a folder that does not exist has none. */
static void read_folder(reading *self, const char *path, const char *prefix)
{
    const struct dirent *entry;
    char name[CRN_KEY_NAME_MAX + 1];
    crn_error error;
    DIR *folder = opendir(path);
    int r = folder ? 0 : -errno;
    if (r == -ENOENT)
        return;
    if (r == -EACCES)
        crn_error_set(&error, r,
                      "%s: this user may not read it: start the program as its owner, or "
                      "chown it; a service of systemd gets it by LoadCredential=",
                      path);
    else if (r < 0)
        crn_error_set(&error, r, "%s: cannot be read: %s; a folder of keys expected", path,
                      strerror(-r));
    else
        r = check_folder(path, &error);
    if (r < 0)
        add_fault(self, r, &error);
    self->clients.have_place |= !prefix[0];
    while (folder && (entry = readdir(folder)) != NULL)
        if (read_name(entry->d_name, prefix, name)) {
            self->clients.have_place = true;
            read_client(self, path, prefix, name);
        }
    if (folder)
        closedir(folder);
}

int crn_access_clients_read(const char *folder, FILE *faults, crn_access_clients *ret_clients,
                            crn_error *error)
{
    reading self = {.faults = faults, .error = error};
    char path[CRN_TEXT_BYTES + sizeof CRN_KEY_CLIENTS];
    snprintf(path, sizeof path, "%s/%s", folder, CRN_KEY_CLIENTS);
    read_folder(&self, folder, CRN_KEY_CLIENTS "_");
    read_folder(&self, path, "");
    if (self.r < 0) {
        crn_access_clients_done(&self.clients);
        return self.r;
    }
    if (self.clients.count > 0)
        qsort(self.clients.client, (size_t)self.clients.count, sizeof *self.clients.client,
              compare_names);
    *ret_clients = self.clients;
    return 0;
}
