#include "src/preflight.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/ingest/access/access.h"
#include "src/control/listener.h"
#include "src/ingest/socket/descriptors.h"
#include "src/ingest/socket/endpoint.h"
#include "src/line.h"
#include "src/monitor/http/address.h"
#include "src/monitor/machine.h"
#include "src/publish/log/format.h"
#include "src/publish/log/writer.h"
#include "src/realtime/realtime.h"
#include "src/recording/recorder.h"
#include "stages/backend.h"

/* Descriptors that the line opens without any peer: sockets, their monitors, libzmq's wake-ups,
 * files; some thirty were counted with one worker and no device. */
#define DESCRIPTORS_OWN 64

typedef struct preflight {
    const crn_config *config;
    FILE *faults, *notes;
    bool failed;
    char in_use[600]; /* what a running daemon has, perhaps this line's: one note for all */
} preflight;

__attribute__((format(printf, 3, 4))) static void fail(preflight *check, const char *key,
                                                       const char *format, ...)
{
    check->failed = true;
    if (!check->faults)
        return;
    va_list arguments;
    va_start(arguments, format);
    crn_error error;
    char text[sizeof error.text];
    vsnprintf(text, sizeof text, format, arguments);
    crn_error_set(&error, 0, "%s: %s: %s", check->config->file, key, text);
    fprintf(check->faults, "%s\n", error.text);
    va_end(arguments);
}

__attribute__((format(printf, 3, 4))) static void note(const preflight *check, const char *key,
                                                       const char *format, ...)
{
    if (!check->notes)
        return;
    va_list arguments;
    va_start(arguments, format);
    crn_error error;
    char text[sizeof error.text];
    vsnprintf(text, sizeof text, format, arguments);
    crn_error_set(&error, 0, "note: %s: %s", key, text);
    fprintf(check->notes, "%s\n", error.text);
    va_end(arguments);
}

static void add_in_use(preflight *check, const char *key, const char *what, long holder)
{
    char process[40] = "";
    if (holder > 0)
        snprintf(process, sizeof process, " (process %ld)", holder);
    size_t used = strlen(check->in_use);
    snprintf(check->in_use + used, sizeof check->in_use - used, "%s%s %s%s", used ? ", " : "", key,
             what, process);
}

/* True of --check for a folder that cernitad@NAME.service makes when it starts, and that is not
 * there yet; a note then says so. */
static bool is_left_to_unit(const preflight *check, const char *key, const char *folder)
{
    static const char *const roots[] = {"/run/cernita/", "/var/lib/cernita/",
                                        "/run/credentials/cernitad@"};
    bool made = false;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t length = strlen(roots[i]);
        made |= strncmp(folder, roots[i], length) == 0 && folder[length] &&
                !strchr(folder + length, '/');
    }
    if (!check->notes || !made || access(folder, F_OK) == 0 || errno != ENOENT)
        return false;
    note(check, key, "%s is not there yet: the unit makes it when it starts the line", folder);
    return true;
}

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

static void check_tcp(preflight *check, const char *key, const char *endpoint)
{
    const char *text = endpoint + strlen("tcp://");
    struct ifaddrs *interfaces = NULL;
    /* libzmq lists the interfaces for every address but `*`, and
     * aborts the process if it cannot. */
    if (text[0] != '*' && getifaddrs(&interfaces) < 0) {
        fail(check, key,
             "cannot bind %s: this machine's interfaces cannot be listed: %s; allow it netlink "
             "sockets (AF_NETLINK in RestrictAddressFamilies= of a unit), or bind tcp://*:PORT",
             endpoint, strerror(errno));
        return;
    }
    address at;
    int fault = read_address(text, interfaces, &at) ? try_bind(&at) : ENODEV;
    freeifaddrs(interfaces);
    if (fault == EADDRINUSE)
        add_in_use(check, key, endpoint, 0);
    else if (fault)
        fail(check, key, "cannot bind %s: %s", endpoint, crn_endpoint_bind_hint(fault));
}

/* --- files ------------------------------------------------------------------------------------ */

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

static void check_ipc(preflight *check, const char *key, const char *endpoint)
{
    const char *path = endpoint + strlen("ipc://");
    char folder[CRN_TEXT_BYTES], lock[CRN_TEXT_BYTES + 8];
    struct stat about;
    bool missing;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    strip_file_name(folder);
    if (is_left_to_unit(check, key, folder))
        return;
    int fault = try_folder(folder, &missing);
    if (fault && missing)
        fail(check, key, "cannot make the folder of %s: %s; make it, or give another path", path,
             strerror(fault));
    else if (fault)
        fail(
            check, key,
            "cannot make the lock file %s: %s; give a path in a folder that this user may write to",
            lock, strerror(fault));
    else if (missing)
        note(check, key, "the folder %s is made at the start", folder);
    if (fault || missing)
        return;
    long holder = find_holder(lock);
    if (lstat(path, &about) == 0 && !S_ISSOCK(about.st_mode))
        fail(check, key, "%s exists and is not a socket: move it away, or give another path", path);
    else if (access(lock, F_OK) == 0 && faccessat(AT_FDCWD, lock, R_OK | W_OK, AT_EACCESS) < 0)
        fail(
            check, key,
            "cannot make the lock file %s: %s; give a path in a folder that this user may write to",
            lock, strerror(errno));
    else if (holder > 0)
        add_in_use(check, key, endpoint, holder);
}

static void check_access(preflight *check)
{
    const crn_config *config = check->config;
    int32_t clients = 0;
    char *faults = NULL;
    size_t size = 0;
    if (crn_access_check_exposed(config, check->faults) < 0)
        check->failed = true;
    if (!config->access.keys[0] || is_left_to_unit(check, "access.keys", config->access.keys))
        return;
    FILE *lines = open_memstream(&faults, &size);
    int r = lines ? crn_access_check(config->access.keys, lines, &clients) : -ENOMEM;
    if (lines)
        fclose(lines);
    for (char *line = faults, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        fail(check, "access.keys", "%.*s", (int)(end - line), line);
    free(faults);
    if (r == 0 && clients == 0)
        note(check, "access.keys",
             "%s/%s has no client's key, so nobody can connect; cernita-keys %s --client NAME "
             "makes one",
             config->access.keys, CRN_KEY_CLIENTS, config->access.keys);
}

static void check_log(preflight *check)
{
    const char *dir = check->config->publish.log.dir;
    crn_error error;
    crn_verdict_log_files files;
    struct statvfs disk;
    if (!dir[0] || is_left_to_unit(check, "publish.log.dir", dir))
        return;
    if (crn_verdict_writer_check(dir, &error) < 0) {
        fail(check, "publish.log.dir", "%s", error.text);
        return;
    }
    if (statvfs(dir, &disk) < 0 || crn_verdict_log_list(dir, &files, &error) < 0)
        return;
    uint64_t there = (uint64_t)disk.f_bavail * disk.f_frsize + files.bytes;
    uint64_t wanted = (uint64_t)check->config->publish.log.keep_mib << 20;
    crn_verdict_log_files_done(&files);
    there -= there < CRN_VERDICT_LOG_SPARE_BYTES ? there : CRN_VERDICT_LOG_SPARE_BYTES;
    if (there < wanted)
        note(check, "publish.log.dir",
             "%s has room for a log of %" PRIu64 " MiB, less than publish.log.keep_mib; what does "
             "not fit is not logged",
             dir, there >> 20);
}

static void check_recording(preflight *check)
{
    const char *dir = check->config->record.dir;
    crn_error error;
    struct statvfs disk;
    if (!dir[0] || is_left_to_unit(check, "record.dir", dir))
        return;
    if (crn_recorder_check(dir, &error) < 0) {
        fail(check, "record.dir", "%s", error.text);
        return;
    }
    if (statvfs(dir, &disk) < 0)
        return;
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    uint64_t wanted =
        CRN_RECORDER_SPARE_BYTES + ((uint64_t)check->config->record.segment_mib << 20);
    if (free_bytes < wanted)
        note(check, "record.dir",
             "%s has %" PRIu64 " MiB free, less than one recording of record.segment_mib and the "
             "%" PRIu64 " MiB that are left free",
             dir, free_bytes >> 20, (uint64_t)CRN_RECORDER_SPARE_BYTES >> 20);
}

/* --- memory, descriptors, devices ------------------------------------------------------------- */

static void check_memory(preflight *check)
{
    const crn_config *config = check->config;
    uint64_t bytes = crn_line_bytes(config);
    uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t used, resident;
    struct rlimit space;
    crn_machine_memory(&used, &resident);
    if (bytes > there)
        fail(check, "limits",
             "they reserve %" PRIu64 " MiB, %" PRId64 " + %" PRId64 " slots of %" PRId64
             " MiB among them, and this machine has %" PRIu64
             " MiB of memory; lower limits.slots, monitor.keep_slots or limits.view_mib",
             bytes >> 20, config->limits.slots,
             crn_line_kept_slots(config) + crn_line_recorded_slots(config), config->limits.view_mib,
             there >> 20);
    else if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
             bytes + used > space.rlim_cur)
        fail(check, "limits",
             "they reserve %" PRIu64 " MiB, and this process may have %" PRIu64
             " MiB of address space; lower limits.slots, monitor.keep_slots or limits.view_mib, or "
             "raise it (ulimit -v, LimitAS= of a unit)",
             bytes >> 20, (uint64_t)space.rlim_cur >> 20);
}

/* Same computation as crn_descriptors_reserve: the soft limit is
 * raised as far as the hard one allows. */
static void check_descriptors(preflight *check)
{
    struct rlimit files;
    int64_t needed = crn_descriptors_needed(CRN_LINE_PORTS, check->config->limits.peers);
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= (rlim_t)needed)
        return;
    int64_t there = (int64_t)files.rlim_max;
    if (there < DESCRIPTORS_OWN)
        fail(check, "limits.peers",
             "this process may open %" PRId64 " files, and the line needs %d without any peer; "
             "raise it (ulimit -Hn, LimitNOFILE= of a unit)",
             there, DESCRIPTORS_OWN);
    else
        note(check, "limits.peers",
             "%" PRId64 " connections to each port need %" PRId64
             " descriptors and this process may have %" PRId64
             ", so the start lowers it; raise them (ulimit -Hn, LimitNOFILE= of a unit)",
             check->config->limits.peers, needed, there);
}

static void check_devices(preflight *check, const crn_gpu *gpu)
{
    const crn_config *config = check->config;
    int32_t backend = config->run.backend;
    if (!gpu || (backend != CRN_BACKEND_CUDA && backend != CRN_BACKEND_AUTO))
        return;
    int32_t there = gpu->count();
    for (int32_t i = 0; i < config->run.devices.count; i++) {
        int64_t number = config->run.devices.item[i];
        if (number >= there && backend == CRN_BACKEND_CUDA)
            fail(check, "run.devices",
                 "there is no device %" PRId64 "; this machine has %d, numbered from 0", number,
                 (int)there);
        else if (number >= there)
            note(check, "run.devices",
                 "there is no device %" PRId64
                 "; this machine has %d, numbered from 0; it is left out",
                 number, (int)there);
    }
}

static void check_realtime(preflight *check)
{
    crn_realtime_problem problems[CRN_REALTIME_PROBLEMS_MAX];
    int count = crn_realtime_try(check->config, problems);
    for (int i = 0; i < count; i++) {
        if (problems[i].fatal)
            fail(check, problems[i].key, "%s", problems[i].text);
        else
            note(check, problems[i].key, "%s", problems[i].text);
    }
}

static void check_endpoint(preflight *check, const char *key, const char *endpoint)
{
    if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
        check_tcp(check, key, endpoint);
    else
        check_ipc(check, key, endpoint);
}

static void check_http(preflight *check)
{
    const char *at = check->config->monitor.http;
    crn_error error;
    int r = at[0] ? crn_http_try(at, &error) : 0;
    if (r == 0)
        return;
    if (!check->config->monitor.http_named)
        note(check, "monitor.http", "%s; the line runs without metrics", error.text);
    else if (r == -EADDRINUSE)
        add_in_use(check, "monitor.http", at, 0);
    else
        fail(check, "monitor.http", "%s", error.text);
}

static void check_control(preflight *check)
{
    const char *path = check->config->control.path;
    char folder[CRN_TEXT_BYTES];
    crn_error error;
    snprintf(folder, sizeof folder, "%s", path);
    strip_file_name(folder);
    if (is_left_to_unit(check, "control.path", folder))
        return;
    int r = path[0] ? crn_control_try(path, &error) : 0;
    const char *text = error.text + strlen("control.path: ");
    if (r == -EADDRINUSE)
        add_in_use(check, "control.path", path, 0);
    else if (r < 0)
        fail(check, "control.path", "%s", text);
}

static void check_levels(preflight *check)
{
    char text[CRN_ODD_LEVELS_BYTES];
    if (crn_config_odd_levels(check->config, text))
        note(check, "classes.level", "%s", text);
}

int crn_preflight(const crn_config *config, const crn_gpu *gpu, FILE *faults, FILE *notes)
{
    preflight check = {.config = config, .faults = faults, .notes = notes};
    for (int32_t i = 0; i < config->ingest.bind.count; i++)
        check_endpoint(&check, "ingest.bind", config->ingest.bind.item[i]);
    check_endpoint(&check, "publish.grader.bind", config->publish.grader.bind);
    check_endpoint(&check, "publish.viewers.bind", config->publish.viewers.bind);
    check_access(&check);
    check_http(&check);
    check_control(&check);
    check_log(&check);
    check_recording(&check);
    check_memory(&check);
    check_descriptors(&check);
    check_devices(&check, gpu);
    check_realtime(&check);
    check_levels(&check);
    if (check.in_use[0] && notes) /* after all else: it is no news on a line that runs */
        note(&check, "in use",
             "perhaps by this line's running daemon, and a second one cannot have it: %s",
             check.in_use);
    return check.failed ? -EINVAL : 0;
}
