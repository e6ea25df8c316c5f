#include "tools/bench/line/peer.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The peers that run, for the thread that waits for signals; NULL: none. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static crn_peer *running[CRN_PEERS_MAX];

/* Where `peer` stands among them; NULL: the first place that is free. */
static crn_peer **find_running(const crn_peer *peer)
{
    for (int i = 0; i < CRN_PEERS_MAX; i++)
        if (running[i] == peer)
            return &running[i];
    return NULL;
}

static sigset_t signals;

const char *const crn_peer_path_names[CRN_PEER_PATHS] = {
    [CRN_PEER_TCP] = "tcp",         [CRN_PEER_IPC] = "ipc",
    [CRN_PEER_SLOTS] = "slots",     [CRN_PEER_SLOTS_ZMQ] = "slots+zmq",
    [CRN_PEER_ICEORYX] = "iceoryx", [CRN_PEER_VMM] = "vmm"};

static int make_folder(crn_peer *peer)
{
    memset(peer, 0, sizeof *peer);
    strcpy(peer->folder, "/tmp/cernita-bench-XXXXXX");
    pthread_mutex_lock(&mutex);
    crn_peer **place = find_running(NULL);
    int r = !place ? -EMFILE : mkdtemp(peer->folder) ? 0 : -errno;
    if (r == 0)
        *place = peer;
    pthread_mutex_unlock(&mutex);
    snprintf(peer->in, sizeof peer->in, "ipc://%s/in", peer->folder);
    snprintf(peer->out, sizeof peer->out, "ipc://%s/out", peer->folder);
    snprintf(peer->viewers, sizeof peer->viewers, "ipc://%s/viewers", peer->folder);
    return r;
}

/* Path of the program `name` in this program's folder. */
static void sibling(const char *name, char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        snprintf(slash + 1, size - (size_t)(slash + 1 - path), "%s", name);
}

static int start_program(crn_peer *peer, const char *program, const char *const arguments[])
{
    char path[512];
    sibling(program, path, sizeof path);
    pthread_mutex_lock(&mutex);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* an interrupted benchmark leaves no processes behind */
        /* The daemon logs every grader that disconnects, and one does so after every run. */
        int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (log >= 0)
            dup2(log, STDERR_FILENO);
        execv(path, (char *const *)arguments);
        _exit(127);
    }
    int r = pid < 0 ? -errno : 0;
    peer->pid = r == 0 ? pid : 0;
    pthread_mutex_unlock(&mutex);
    return r;
}

int crn_peer_start_beside(const crn_peer *peer, const char *program, const char *const arguments[],
                          crn_peer *ret_beside)
{
    *ret_beside = *peer;
    return start_program(ret_beside, program, arguments);
}

void crn_peer_stop_beside(crn_peer *beside)
{
    if (beside->pid > 0) {
        kill(beside->pid, SIGTERM);
        waitpid(beside->pid, NULL, 0);
        beside->pid = 0;
    }
}

int crn_peer_find_port(uint16_t *ret_port)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof any;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = probe >= 0 && bind(probe, (struct sockaddr *)&any, sizeof any) == 0 &&
                    getsockname(probe, (struct sockaddr *)&any, &size) == 0
                ? 0
                : -errno;
    if (probe >= 0)
        close(probe);
    *ret_port = ntohs(any.sin_port);
    return r;
}

/* Chooses the daemon's inputs. */
static int choose_path(crn_peer *peer, crn_peer_path path)
{
    uint16_t port;
    peer->headers_go_in = path == CRN_PEER_SLOTS_ZMQ;
    peer->by_iceoryx = path == CRN_PEER_ICEORYX;
    peer->slots_on_gpu = path == CRN_PEER_VMM;
    if (path == CRN_PEER_SLOTS || path == CRN_PEER_SLOTS_ZMQ || path == CRN_PEER_VMM)
        snprintf(peer->slots, sizeof peer->slots, "%s/slots", peer->folder);
    if (path != CRN_PEER_TCP)
        return 0;
    int r = crn_peer_find_port(&port);
    if (r == 0)
        snprintf(peer->in, sizeof peer->in, "tcp://127.0.0.1:%u", (unsigned)port);
    return r;
}

/* Writes the settings with the peer's own sockets. */
static int write_config(const crn_peer *peer, const crn_config *config, const char *path)
{
    crn_config *own = malloc(sizeof *own);
    if (!own)
        return -ENOMEM;
    *own = *config;
    own->ingest.bind.count = 1;
    snprintf(own->ingest.bind.item[0], CRN_TEXT_BYTES, "%s", peer->in);
    snprintf(own->ingest.slots.path, CRN_TEXT_BYTES, "%s", peer->slots);
    own->ingest.slots.kinds.count = 1;
    snprintf(own->ingest.slots.kinds.item[0], CRN_TEXT_BYTES, "%s",
             peer->slots_on_gpu ? "vmm" : "memfd");
    snprintf(own->publish.grader.bind, CRN_TEXT_BYTES, "%s", peer->out);
    snprintf(own->publish.viewers.bind, CRN_TEXT_BYTES, "%s", peer->viewers);
    own->monitor.http[0] = '\0';
    FILE *file = fopen(path, "w");
    if (file)
        crn_config_print(own, file);
    free(own);
    return !file || fclose(file) != 0 ? -errno : 0;
}

int crn_peer_start(crn_peer *peer, crn_peer_kind kind, const crn_config *config, crn_peer_path path)
{
    char yaml[128];
    int r = make_folder(peer);
    if (r == 0)
        r = choose_path(peer, path);
    snprintf(yaml, sizeof yaml, "%s/line.yaml", peer->folder);
    if (r == 0)
        r = write_config(peer, config, yaml);
    if (r < 0)
        return r;
    const char *const arguments[][6] = {
        [CRN_PEER_DAEMON] = {"cernitad", "--config", yaml, NULL},
        [CRN_PEER_RECEIVER] = {"cernita-bench", "receiver", peer->in, peer->out, NULL},
        [CRN_PEER_FLOOR] = {"cernita-bench", "floor", yaml, peer->out,
                            peer->by_iceoryx ? "iceoryx" : NULL, NULL},
    };
    return start_program(peer, arguments[kind][0], arguments[kind]);
}

bool crn_peer_has_ended(const crn_peer *peer)
{
    siginfo_t about = {0};
    int r = waitid(P_PID, (id_t)peer->pid, &about, WEXITED | WNOHANG | WNOWAIT);
    return r < 0 || about.si_pid == peer->pid;
}

static void stop(crn_peer *peer)
{
    crn_peer_stop_beside(peer);
    DIR *entries = opendir(peer->folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    rmdir(peer->folder);
}

void crn_peer_stop(crn_peer *peer)
{
    pthread_mutex_lock(&mutex);
    stop(peer);
    crn_peer **place = find_running(peer);
    if (place)
        *place = NULL;
    pthread_mutex_unlock(&mutex);
}

static void *wait_for_signal(void *unused)
{
    (void)unused;
    int number;
    sigwait(&signals, &number);
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CRN_PEERS_MAX; i++)
        if (running[i])
            stop(running[i]);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    raise(number);
    return NULL;
}

void crn_peer_stop_on_signal(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction present;
        if (sigaction(numbers[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaddset(&signals, numbers[i]);
    }
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, NULL) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

/* CPU time of one of its threads so far; -1: it has ended. */
static int64_t thread_ns(const crn_peer *peer, long thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%ld/schedstat", peer->pid, thread);
    FILE *file = fopen(path, "r");
    long long ns = -1;
    if (file) {
        if (fscanf(file, "%lld", &ns) != 1)
            ns = -1;
        fclose(file);
    }
    return ns;
}

int64_t crn_peer_line_ns(const crn_peer *peer)
{
    return thread_ns(peer, peer->pid);
}

/* Its name without a number at the end. */
static void thread_name(const crn_peer *peer, long thread, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%ld/comm", peer->pid, thread);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(name, 16, file))
        strcpy(name, "?");
    if (file)
        fclose(file);
    if (thread == peer->pid)
        strcpy(name, "line");
    for (size_t end = strlen(name); end > 1 && strchr(" /\n0123456789", name[end - 1]); end--)
        name[end - 1] = '\0';
}

static void add_thread(const crn_peer *peer, long thread, crn_peer_threads *threads)
{
    char name[16];
    int64_t ns = thread_ns(peer, thread);
    uint32_t at = 0;
    thread_name(peer, thread, name);
    while (at < threads->count && strcmp(threads->of[at].name, name) != 0)
        at++;
    if (ns < 0 || at == sizeof threads->of / sizeof *threads->of)
        return;
    if (at == threads->count) {
        memcpy(threads->of[at].name, name, sizeof name);
        threads->of[at].ns = 0;
        threads->count++;
    }
    threads->of[at].ns += ns;
}

void crn_peer_list_threads(const crn_peer *peer, crn_peer_threads *ret_threads)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", peer->pid);
    DIR *tasks = opendir(path);
    struct dirent *task;
    ret_threads->count = 0;
    while (tasks && (task = readdir(tasks)))
        if (task->d_name[0] != '.')
            add_thread(peer, strtol(task->d_name, NULL, 10), ret_threads);
    if (tasks)
        closedir(tasks);
}

int64_t crn_peer_cpu_ns(const crn_peer *peer)
{
    crn_peer_threads threads;
    int64_t sum_ns = 0;
    crn_peer_list_threads(peer, &threads);
    for (uint32_t i = 0; i < threads.count; i++)
        sum_ns += threads.of[i].ns;
    return sum_ns;
}

int64_t crn_peer_resident_bytes(const crn_peer *peer)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", peer->pid);
    FILE *file = fopen(path, "r");
    long long pages = 0;
    if (file) {
        if (fscanf(file, "%*s %lld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}
