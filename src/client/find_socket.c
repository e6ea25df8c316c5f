#include "src/client/find_socket.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define GROUP_CURE                                                                                 \
    "this user may not ask it: join the daemon's group (usermod --append --groups cernita NAME, "  \
    "then log in again), or use sudo"

bool crn_socket_address_set(crn_socket_address *address, const char *path)
{
    *address = (crn_socket_address){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return false;
    strcpy(address->sun_path, path);
    return true;
}

static int try_connect(const crn_socket_address *address)
{
    struct timeval patience = {.tv_sec = CRN_SOCKET_PATIENCE_S};
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* SO_SNDTIMEO for connect, too: a daemon that is stopped admits nobody. */
    if (descriptor >= 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        connect(descriptor, (const struct sockaddr *)address, sizeof *address) == 0)
        return descriptor;
    int fault = errno;
    if (descriptor >= 0)
        close(descriptor);
    return -fault;
}

int crn_socket_connect(const crn_socket_address *address, crn_error *error)
{
    int r = try_connect(address);
    if (r >= 0)
        return r;
    const char *cure =
        r == -EACCES || r == -EPERM ? GROUP_CURE
        : r == -EAGAIN              ? "the daemon is stopped or has no time; see its log"
        : r == -ENOENT ? "is the daemon running, and is this control.path of its file? A changed "
                         "control.path needs a restart"
                       : "the daemon that made it is gone, or it is not a daemon's control.path";
    return crn_error_set(error, r, "%s: no daemon answers there: %s; %s", address->sun_path,
                         strerror(-r), cure);
}

/* --- the search --- */

typedef struct search {
    uint32_t answering, denied;
    char names[512], first_denied[sizeof(((crn_socket_address *)0)->sun_path)];
    crn_socket_address found; /* the first that answers */
    struct stat about;        /* of its file */
} search;

static void try_one(search *all, const char *path, const char *name)
{
    crn_socket_address address;
    if (!crn_socket_address_set(&address, path))
        return;
    int r = try_connect(&address);
    if (r >= 0) {
        struct stat about = {0};
        close(r);
        (void)stat(path, &about);
        /* A control.path elsewhere has a link in the unit's folder (src/control). */
        if (all->answering > 0 && about.st_ino == all->about.st_ino &&
            about.st_dev == all->about.st_dev)
            return;
        if (all->answering++ == 0) {
            all->found = address;
            all->about = about;
        }
        size_t used = strlen(all->names);
        snprintf(all->names + used, sizeof all->names - used, "%s%s", used ? ", " : "", name);
    } else if (r == -EACCES && all->denied++ == 0) {
        strcpy(all->first_denied, address.sun_path);
    }
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void try_all(search *all, const char *folder)
{
    struct dirent **entries;
    char path[2 * sizeof all->found.sun_path];
    snprintf(path, sizeof path, "%s/control", folder);
    try_one(all, path, path);
    int count = scandir(folder, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        int length = snprintf(path, sizeof path, "%s/%s/control", folder, entries[i]->d_name);
        if (length < (int)sizeof path)
            try_one(all, path, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static int find_by_name(const char *folder, const char *line, crn_socket_address *ret_address,
                        crn_error *error)
{
    char path[2 * sizeof ret_address->sun_path];
    crn_socket_address address;
    if (!line[0] || strchr(line, '/') || line[0] == '.')
        return crn_error_set(
            error, -EINVAL,
            "--line '%s': the NAME of cernitad@NAME expected; --socket takes a path", line);
    int length = snprintf(path, sizeof path, "%s/%s/control", folder, line);
    if (length >= (int)sizeof path || !crn_socket_address_set(&address, path))
        return crn_error_set(error, -ENAMETOOLONG, "--line '%s': the name is too long", line);
    *ret_address = address;
    return 0;
}

int crn_socket_find(const char *folder, const char *line, crn_socket_address *ret_address,
                    crn_error *error)
{
    search all = {0};
    if (line)
        return find_by_name(folder, line, ret_address, error);
    try_all(&all, folder);
    if (all.answering > 1)
        return crn_error_set(error, -ENOTUNIQ, "several lines run: %s; choose one by --line NAME",
                             all.names);
    if (all.answering == 0 && all.denied)
        return crn_error_set(error, -EACCES, "%s: %s", all.first_denied, GROUP_CURE);
    if (all.answering == 0)
        return crn_error_set(error, -ENOENT,
                             "no daemon answers below %s: is one running? As cernitad@NAME it has "
                             "%s/NAME/control; otherwise its file must name a socket, "
                             "control: {path: PATH}, and --socket PATH asks there",
                             folder, folder);
    *ret_address = all.found;
    return 0;
}
