/* Addresses and paths that the start will bind. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/ingest/slots/slots.h"
#include "src/ingest/socket/endpoint.h"
#include "src/service/listener.h"
#include "src/http/address.h"
#include "src/http/token.h"
#include "src/preflight/internal.h"

/* --- tcp -------------------------------------------------------------------------------------- */

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static bool find_interface(const struct ifaddrs *interfaces, const char *name, address *ret_address)
{
    for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET ||
            strcmp(one->ifa_name, name) != 0)
            continue;
        memcpy(&ret_address->v4, one->ifa_addr, sizeof ret_address->v4);
        return true;
    }
    return false;
}

/* Parses HOST:PORT, as checked in the config. False if no machine can have this address. Like
 * libzmq, which does not ask a name server before it binds. */
static bool read_address(const char *text, const struct ifaddrs *interfaces, address *ret_address)
{
    const char *colon = strrchr(text, ':');
    char host[CRN_TEXT_BYTES];
    bool bracketed = text[0] == '[';
    snprintf(host, sizeof host, "%.*s", (int)(colon - text) - 2 * bracketed, text + bracketed);
    in_port_t port = htons((uint16_t)atoi(colon + 1));
    memset(ret_address, 0, sizeof *ret_address);
    if (bracketed) {
        char *scope = strchr(host, '%');
        if (scope)
            *scope++ = '\0';
        ret_address->v6.sin6_family = AF_INET6;
        ret_address->v6.sin6_port = port;
        ret_address->v6.sin6_scope_id = scope ? if_nametoindex(scope) : 0;
        return inet_pton(AF_INET6, host, &ret_address->v6.sin6_addr) == 1;
    }
    ret_address->v4.sin_family = AF_INET;
    bool known = strcmp(host, "*") == 0 ||
                 inet_pton(AF_INET, host, &ret_address->v4.sin_addr) == 1 ||
                 find_interface(interfaces, host, ret_address);
    ret_address->v4.sin_port = port;
    return known;
}

/* Binds a temporary socket with libzmq's options, and closes it. Returns 0 or a positive errno. */
static int try_bind(const address *at)
{
    bool v6 = at->any.sa_family == AF_INET6;
    int one = 1, zero = 0, fault = 0;
    int probe = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return errno;
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (v6)
        setsockopt(probe, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(probe, &at->any, v6 ? sizeof at->v6 : sizeof at->v4) < 0)
        fault = errno;
    close(probe);
    return fault;
}

static void check_tcp(crn_preflight_check *check, const char *key, const char *endpoint)
{
    const char *text = endpoint + strlen("tcp://");
    struct ifaddrs *interfaces = NULL;
    /* libzmq lists the interfaces for every address but `*`, and
     * aborts the process if it cannot. */
    if (text[0] != '*' && getifaddrs(&interfaces) < 0) {
        crn_preflight_fail(
            check, key,
            "cannot bind %s: this machine's interfaces cannot be listed: %s; allow it netlink "
            "sockets (AF_NETLINK in RestrictAddressFamilies= of a unit), or bind tcp://*:PORT",
            endpoint, strerror(errno));
        return;
    }
    address at;
    int fault = read_address(text, interfaces, &at) ? try_bind(&at) : ENODEV;
    freeifaddrs(interfaces);
    if (fault == EADDRINUSE)
        crn_preflight_in_use(check, key, endpoint, 0);
    else if (fault)
        crn_preflight_fail(check, key, "cannot bind %s: %s", endpoint,
                           crn_endpoint_bind_hint(fault));
}

/* --- files --- */

/* Truncates the path to its folder. */
static void strip_file_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = '\0';
}

/* Returns 0 if files can be created in the folder or, if it does not exist (*ret_missing), if it
 * can be created itself in the nearest parent that exists; otherwise a positive errno. */
static int try_folder(const char *folder, bool *ret_missing)
{
    char path[CRN_TEXT_BYTES];
    struct stat about;
    snprintf(path, sizeof path, "%s", folder);
    *ret_missing = false;
    while (stat(path, &about) < 0) {
        if (errno != ENOENT || strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
            return errno;
        *ret_missing = true;
        strip_file_name(path);
    }
    if (!S_ISDIR(about.st_mode))
        return ENOTDIR;
    return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/* Process that holds an ipc path according to its lock file; 0 for none. Does not touch the lock
 * itself, or a daemon that is just starting would find it taken. */
static long find_holder(const char *lock_path)
{
    long holder = 0;
    FILE *lock = fopen(lock_path, "re");
    if (lock && fscanf(lock, "%ld", &holder) != 1)
        holder = 0;
    if (lock)
        fclose(lock);
    return holder > 0 && (kill((pid_t)holder, 0) == 0 || errno == EPERM) ? holder : 0;
}

static void check_ipc(crn_preflight_check *check, const char *key, const char *endpoint)
{
    const char *path = endpoint + strlen("ipc://");
    char folder[CRN_TEXT_BYTES], lock[CRN_TEXT_BYTES + 8];
    struct stat about;
    bool missing;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    strip_file_name(folder);
    if (crn_preflight_is_left_to_unit(check, key, folder))
        return;
    int fault = try_folder(folder, &missing);
    if (fault && missing)
        crn_preflight_fail(check, key,
                           "cannot make the folder of %s: %s; make it, or give another path", path,
                           strerror(fault));
    else if (fault)
        crn_preflight_fail(
            check, key,
            "cannot make the lock file %s: %s; give a path in a folder that this user may write to",
            lock, strerror(fault));
    else if (missing)
        crn_preflight_note(check, key, "the folder %s is made at the start", folder);
    if (fault || missing)
        return;
    long holder = find_holder(lock);
    if (lstat(path, &about) == 0 && !S_ISSOCK(about.st_mode))
        crn_preflight_fail(
            check, key, "%s exists and is not a socket: move it away, or give another path", path);
    else if (access(lock, F_OK) == 0 && faccessat(AT_FDCWD, lock, R_OK | W_OK, AT_EACCESS) < 0)
        crn_preflight_fail(
            check, key,
            "cannot make the lock file %s: %s; give a path in a folder that this user may write to",
            lock, strerror(errno));
    else if (holder > 0)
        crn_preflight_in_use(check, key, endpoint, holder);
}

/* --- all --- */

void crn_preflight_endpoint(crn_preflight_check *check, const char *key, const char *endpoint)
{
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
        check_tcp(check, key, endpoint);
    else
        check_ipc(check, key, endpoint);
}

static void check_token(crn_preflight_check *check)
{
    char folder[CRN_TEXT_BYTES], token[CRN_HTTP_TOKEN_BYTES];
    crn_error error;
    const char *file = check->config->monitor.token_file;
    snprintf(folder, sizeof folder, "%s", file);
    strip_file_name(folder);
    if (file[0] && !crn_preflight_is_left_to_unit(check, "monitor.token_file", folder) &&
        crn_http_token_read(file, token, &error) < 0)
        crn_preflight_fail(check, "monitor.token_file", "%s", error.text);
}

void crn_preflight_http(crn_preflight_check *check)
{
    const char *at = check->config->monitor.http;
    crn_error error;
    check_token(check);
    int r = at[0] ? crn_http_try(at, &error) : 0;
    if (r == 0)
        return;
    if (!check->config->monitor.http_named && r == -EADDRINUSE)
        crn_preflight_note(check, "monitor.http",
                           "%s is in use, perhaps by this line's running daemon; a further line "
                           "gets the next free port, up to the %dth",
                           at, CRN_HTTP_PORTS_TRIED);
    else if (!check->config->monitor.http_named)
        crn_preflight_note(check, "monitor.http", "%s; the line runs without metrics", error.text);
    else if (r == -EADDRINUSE)
        crn_preflight_in_use(check, "monitor.http", at, 0);
    else
        crn_preflight_fail(check, "monitor.http", "%s", error.text);
}

/* Tests a path to listen at. */
static void check_listener(crn_preflight_check *check, const char *key, const char *path)
{
    char folder[CRN_TEXT_BYTES];
    crn_error error;
    snprintf(folder, sizeof folder, "%s", path);
    strip_file_name(folder);
    if (!path[0] || crn_preflight_is_left_to_unit(check, key, folder))
        return;
    int r = crn_listener_try(key, path, &error);
    if (r == -EADDRINUSE)
        crn_preflight_in_use(check, key, path, 0);
    else if (r < 0)
        crn_preflight_fail(check, key, "%s", error.text + strlen(key) + strlen(": "));
}

void crn_preflight_control(crn_preflight_check *check)
{
    const char *path = check->config->control.path;
    if (check->notes && path[0] && strcmp(path, check->config->control.unit_path) == 0)
        crn_preflight_note(check, "control.path", "the service has %s", path);
    else
        check_listener(check, "control.path", path);
}

void crn_preflight_slots(crn_preflight_check *check, bool has_gpu)
{
    const crn_config *config = check->config;
    check_listener(check, "ingest.slots.path", config->ingest.slots.path);
    if (config->ingest.slots.path[0])
        crn_preflight_note(check, "ingest.slots",
                           "programs that connect may take %zu MiB of memory: %" PRId64
                           " (producers) x %" PRId64 " (slots) x %" PRId64 " MiB (limits.view_mib)",
                           crn_slots_bytes(config) >> 20, config->ingest.slots.producers,
                           config->ingest.slots.slots, config->limits.view_mib);
    if (config->ingest.slots.path[0] && crn_config_gives_slots(config, "vmm"))
        crn_preflight_note(check, "ingest.slots.kinds", "%s",
                           has_gpu ? "vmm: programs may take as much of a GPU's memory as well"
                                   : "vmm: no GPU can be used here, so no program gets slots on "
                                     "one");
}
