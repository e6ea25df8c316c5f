#include "tools/bench/peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "stages/base/malloc_tuning.h"
#include "src/ingest/wire.h"
#include "tools/bench/bench.h"

/* As many buffers as the daemon has slots with one worker. */
#define PLACES 20

static int make_folder(crn_peer *peer)
{
    memset(peer, 0, sizeof *peer);
    strcpy(peer->folder, "/tmp/cernita-bench-XXXXXX");
    if (!mkdtemp(peer->folder))
        return -errno;
    snprintf(peer->in, sizeof peer->in, "ipc://%s/in", peer->folder);
    snprintf(peer->out, sizeof peer->out, "ipc://%s/out", peer->folder);
    return 0;
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

static int start(crn_peer *peer, const char *program, const char *const arguments[])
{
    char path[512];
    sibling(program, path, sizeof path);
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* an interrupted benchmark leaves no processes behind */
        /* The daemon logs every grader that disconnects, and one does so after every run. */
        int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (log >= 0)
            dup2(log, STDERR_FILENO);
        execv(path, (char *const *)arguments);
        _exit(127);
    }
    peer->pid = pid;
    return 0;
}

int crn_peer_start_daemon(crn_peer *peer, const crn_config *config)
{
    int r = make_folder(peer);
    if (r < 0)
        return r;
    crn_config *own = malloc(sizeof *own);
    if (!own)
        return -ENOMEM;
    *own = *config;
    own->ingest.bind.count = 1;
    snprintf(own->ingest.bind.item[0], CRN_TEXT_BYTES, "%s", peer->in);
    snprintf(own->publish.grader.bind, CRN_TEXT_BYTES, "%s", peer->out);
    snprintf(own->publish.viewers.bind, CRN_TEXT_BYTES, "ipc://%s/viewers", peer->folder);
    char path[128];
    snprintf(path, sizeof path, "%s/line.yaml", peer->folder);
    FILE *file = fopen(path, "w");
    if (file)
        crn_config_print(own, file);
    free(own);
    if (!file || fclose(file) != 0)
        return -errno;
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    return start(peer, "cernitad", arguments);
}

int crn_peer_start_receiver(crn_peer *peer)
{
    int r = make_folder(peer);
    if (r < 0)
        return r;
    const char *const arguments[] = {"cernita-bench", "receiver", peer->in, peer->out, NULL};
    return start(peer, "cernita-bench", arguments);
}

bool crn_peer_has_ended(const crn_peer *peer)
{
    siginfo_t about = {0};
    int r = waitid(P_PID, (id_t)peer->pid, &about, WEXITED | WNOHANG | WNOWAIT);
    return r < 0 || about.si_pid == peer->pid;
}

void crn_peer_stop(crn_peer *peer)
{
    if (peer->pid > 0) {
        kill(peer->pid, SIGTERM);
        waitpid(peer->pid, NULL, 0);
        peer->pid = 0;
    }
    DIR *entries = opendir(peer->folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    rmdir(peer->folder);
}

int64_t crn_peer_cpu_ns(const crn_peer *peer)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", peer->pid);
    DIR *tasks = opendir(path);
    int64_t sum_ns = 0;
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", peer->pid, task->d_name);
        FILE *file = fopen(path, "r");
        long long ns;
        if (!file)
            continue;
        if (fscanf(file, "%lld", &ns) == 1)
            sum_ns += ns;
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
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

/* Receives and copies one view; sends the fruit's id after its last view. -1: interrupted. */
static int copy_one(void *in, void *out, unsigned char *place)
{
    zmq_msg_t header, tensor;
    zmq_msg_init(&header);
    zmq_msg_init(&tensor);
    int r = -1;
    if (zmq_msg_recv(&header, in, 0) == CRN_WIRE_HEADER_BYTES && zmq_msg_recv(&tensor, in, 0) > 0) {
        const unsigned char *bytes = zmq_msg_data(&header);
        uint16_t view, views;
        memcpy(&view, bytes + 60, sizeof view);
        memcpy(&views, bytes + 62, sizeof views);
        memcpy(place, zmq_msg_data(&tensor), zmq_msg_size(&tensor));
        if (view + 1 == views) {
            zmq_send(out, "fruit/0", 7, ZMQ_SNDMORE);
            zmq_send(out, bytes + 24, 8, 0);
        }
        r = 0;
    }
    zmq_msg_close(&header);
    zmq_msg_close(&tensor);
    return r;
}

static volatile sig_atomic_t asked_to_stop;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    asked_to_stop = 1;
}

int crn_bench_receiver(int argc, char **argv)
{
    if (argc != 3)
        return CRN_EXIT_USAGE;
    crn_malloc_keep_pages(); /* as the daemon does */
    struct sigaction stop = {.sa_handler = ask_to_stop};
    sigaction(SIGTERM, &stop, NULL);
    size_t place_bytes = (size_t)16 << 20;
    unsigned char *places = malloc(place_bytes * PLACES);
    void *zmq = zmq_ctx_new();
    void *in = zmq_socket(zmq, ZMQ_PULL), *out = zmq_socket(zmq, ZMQ_PUSH);
    int high_water_mark = 16, zero = 0;
    zmq_setsockopt(in, ZMQ_RCVHWM, &high_water_mark, sizeof high_water_mark);
    zmq_setsockopt(out, ZMQ_LINGER, &zero, sizeof zero);
    if (!places || zmq_bind(out, argv[2]) != 0 || zmq_bind(in, argv[1]) != 0)
        return CRN_EXIT_FAILED;
    for (int next = 0; !asked_to_stop; next = (next + 1) % PLACES)
        if (copy_one(in, out, places + (size_t)next * place_bytes) != 0)
            break;
    zmq_close(in);
    zmq_close(out);
    zmq_ctx_term(zmq);
    free(places);
    return 0;
}
