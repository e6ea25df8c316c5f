#include "src/ingest/access/access.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/formats/keys/clients.h"

#define PATH_BYTES (CRN_TEXT_BYTES + 16)

/* The line's context, and the viewers'. */
#define CONTEXTS_MAX 4

#define WATCHES_MAX 8

struct crn_access_counters {
    atomic_uint_fast64_t refused[CRN_ACCESS_REFUSALS];
};

struct crn_access {
    char folder[CRN_TEXT_BYTES];
    bool ipc;
    char secret[CRN_KEY_BYTES];
    crn_access_counters counters[CRN_ACCESS_USES];
    atomic_int_fast32_t client_count;
    _Atomic(void *) served[CONTEXTS_MAX];

    pthread_mutex_t lock; /* protects what follows */
    crn_access_clients clients;
    crn_log_gate gate[CRN_ACCESS_REFUSALS];
    crn_access_watch watches[WATCHES_MAX]; /* connections NULL: unused */
};

struct crn_access_update {
    crn_access_clients clients;
};

const char *const crn_access_refusal_names[CRN_ACCESS_REFUSALS] = {
    [CRN_ACCESS_UNKNOWN_KEY] = "unknown_key",
    [CRN_ACCESS_NOT_FOR_SOCKET] = "not_for_socket",
    [CRN_ACCESS_PLAIN] = "plain",
    [CRN_ACCESS_MALFORMED] = "malformed",
    [CRN_ACCESS_ATTEMPTS] = "attempts",
};

/* By use, then by whether the address is sealed. */
static const char *const domains[CRN_ACCESS_USES][2] = {
    [CRN_ACCESS_INGEST] = {"ingest.plain", "ingest"},
    [CRN_ACCESS_GRADER] = {"grader.plain", "grader"},
    [CRN_ACCESS_VIEWERS] = {"viewers.plain", "viewers"},
};

/* A public key in its place would be a secret that every client knows. */
static int check_pair(const char *folder, const char *secret, crn_error *error)
{
    char path[PATH_BYTES], public[CRN_KEY_BYTES];
    crn_key_file file;
    snprintf(path, sizeof path, "%s/%s", folder, CRN_KEY_SERVER_PUBLIC);
    /* Only clients need it: a service's credentials do without. */
    if (crn_key_read(path, CRN_KEY_PUBLIC, &file, NULL) < 0)
        return 0;
    if (zmq_curve_public(public, secret) == 0 && strcmp(public, file.key) == 0)
        return 0;
    return crn_error_set(error, -EINVAL,
                         "%s/%s: not the secret key to %s beside it: put back the one that "
                         "belongs to it, or move both away and make new ones with cernita-keys %s",
                         folder, CRN_KEY_SERVER_SECRET, CRN_KEY_SERVER_PUBLIC, folder);
}

static int read_secret(const char *folder, char ret_secret[CRN_KEY_BYTES], crn_error *error)
{
    char path[PATH_BYTES];
    crn_key_file file;
    crn_error why;
    snprintf(path, sizeof path, "%s/%s", folder, CRN_KEY_SERVER_SECRET);
    int r = crn_key_read(path, CRN_KEY_SECRET, &file, &why);
    if (r == -ENOENT)
        return crn_error_set(error, r, "%s does not exist: make it with cernita-keys %s", path,
                             folder);
    if (r < 0)
        return crn_error_set(error, r, "%s", why.text);
    memcpy(ret_secret, file.key, CRN_KEY_BYTES);
    explicit_bzero(&file, sizeof file);
    return check_pair(folder, ret_secret, error);
}

int crn_access_open(const char *folder, bool ipc, crn_access **ret_access, crn_error *error)
{
    if (!folder[0]) {
        *ret_access = NULL;
        return 0;
    }
    crn_access *access = calloc(1, sizeof *access);
    if (!access)
        return crn_error_set(error, -ENOMEM, "access.keys: no memory");
    pthread_mutex_init(&access->lock, NULL);
    snprintf(access->folder, sizeof access->folder, "%s", folder);
    access->ipc = ipc;
    int r = crn_key_supported(error);
    if (r == 0)
        r = read_secret(folder, access->secret, error);
    if (r == 0)
        r = crn_access_clients_read(folder, NULL, &access->clients, error);
    if (r < 0) {
        crn_access_close(&access);
        return r;
    }
    atomic_store(&access->client_count, access->clients.count);
    *ret_access = access;
    return 0;
}

/* How many clients of one list the other does not have, or with fewer permissions. */
static int32_t count_lost(const crn_access_clients *from, const crn_access_clients *to)
{
    int32_t lost = 0;
    for (int32_t i = 0; i < from->count; i++) {
        const crn_key_file *had = &from->client[i].file;
        const crn_access_client *has = crn_access_clients_find(to, had->key);
        lost += !has || had->uses & ~has->file.uses;
    }
    return lost;
}

static void tell_changed(const crn_access *access, const crn_access_changed *changed)
{
    crn_log(CRN_LOG_INFO, "access: %s/%s was read again: %d clients%s", access->folder,
            CRN_KEY_CLIENTS, (int)changed->clients,
            crn_key_is_credential(access->folder)
                ? ", those of the start: systemd hands over others when the service is restarted"
                : "");
    if (changed->lost > 0)
        crn_log(CRN_LOG_WARNING,
                "access: %d of the clients before lost a permission; %d of their connections %s "
                "ended",
                (int)changed->lost, (int)changed->ended, changed->ended == 1 ? "was" : "were");
}

int crn_access_check(const char *folder, FILE *faults, int32_t *ret_clients)
{
    crn_error error;
    char secret[CRN_KEY_BYTES];
    crn_access_clients clients = {0};
    int r = crn_key_supported(&error);
    if (r == 0)
        r = read_secret(folder, secret, &error);
    explicit_bzero(secret, sizeof secret);
    if (r < 0)
        fprintf(faults, "%s\n", error.text);
    int read = crn_access_clients_read(folder, faults, &clients, NULL);
    *ret_clients = clients.count;
    crn_access_clients_done(&clients);
    return r < 0 ? r : read;
}

static int check_same_server(const crn_access *access, crn_error *error)
{
    char secret[CRN_KEY_BYTES];
    int r = read_secret(access->folder, secret, error);
    if (r == 0 && strcmp(secret, access->secret) != 0)
        r = crn_error_set(error, -EBUSY,
                          "%s/%s is another key than at the start: restart the daemon to use it, "
                          "or put back the former",
                          access->folder, CRN_KEY_SERVER_SECRET);
    explicit_bzero(secret, sizeof secret);
    return r;
}

int crn_access_prepare(const crn_access *access, FILE *faults, crn_access_update **ret_update)
{
    crn_error error;
    crn_access_update *update = calloc(1, sizeof *update);
    if (!update) {
        fprintf(faults, "%s: no memory for its keys\n", access->folder);
        return -ENOMEM;
    }
    int r = check_same_server(access, &error);
    if (r < 0)
        fprintf(faults, "%s\n", error.text);
    int read = crn_access_clients_read(access->folder, faults, &update->clients, NULL);
    r = r < 0 ? r : read;
    if (read == 0 && access->clients.count > 0 && !update->clients.have_place) {
        fprintf(faults,
                "%s/%s does not exist any more: put it back, or make an empty one to take all "
                "clients' access away\n",
                access->folder, CRN_KEY_CLIENTS);
        r = r < 0 ? r : -ENOENT;
    }
    if (r < 0)
        crn_access_update_free(&update);
    else
        *ret_update = update;
    return r;
}

void crn_access_update_free(crn_access_update **update)
{
    if (!*update)
        return;
    crn_access_clients_done(&(*update)->clients);
    free(*update);
    *update = NULL;
}

crn_access_changed crn_access_change(crn_access *access, crn_access_update **update)
{
    crn_access_changed changed = {.clients = (*update)->clients.count};
    pthread_mutex_lock(&access->lock);
    crn_access_clients before = access->clients;
    access->clients = (*update)->clients;
    (*update)->clients = before;
    for (int i = 0; i < WATCHES_MAX; i++) {
        const crn_access_watch *watch = &access->watches[i];
        if (watch->connections)
            changed.ended += watch->cut_refused(watch->connections, access, watch->use);
    }
    pthread_mutex_unlock(&access->lock);
    atomic_store(&access->client_count, changed.clients);
    /* Only this thread replaces the list, so it may still read the new one. */
    changed.lost = count_lost(&before, &access->clients);
    tell_changed(access, &changed);
    crn_access_update_free(update);
    return changed;
}

bool crn_access_watch_add(crn_access *access, const crn_access_watch *watch)
{
    bool added = false;
    pthread_mutex_lock(&access->lock);
    for (int i = 0; i < WATCHES_MAX && !added; i++) {
        added = !access->watches[i].connections;
        if (added)
            access->watches[i] = *watch;
    }
    pthread_mutex_unlock(&access->lock);
    return added;
}

void crn_access_watch_remove(crn_access *access, const void *connections)
{
    pthread_mutex_lock(&access->lock);
    for (int i = 0; i < WATCHES_MAX; i++)
        if (access->watches[i].connections == connections)
            access->watches[i] = (crn_access_watch){.connections = NULL};
    pthread_mutex_unlock(&access->lock);
}

bool crn_access_permits(const crn_access *access, crn_access_use use, const char *key)
{
    const crn_access_client *client = crn_access_clients_find(&access->clients, key);
    return client && client->file.uses & 1u << use;
}

/* Called with the lock held and before the decision, so that a later change of keys finds the
 * connection. */
static void tell_watches(crn_access *access, crn_access_use use, const crn_access_peer *peer)
{
    for (int i = 0; i < WATCHES_MAX; i++) {
        const crn_access_watch *watch = &access->watches[i];
        if (watch->connections && watch->use == use)
            watch->proved(watch->connections, peer->connection, peer->key);
    }
}

void crn_access_print_kept(const crn_access *access, FILE *out)
{
    static const char *const joints[] = {"/", "_"};
    char path[PATH_BYTES + CRN_KEY_NAME_MAX + sizeof CRN_KEY_CLIENTS + sizeof CRN_KEY_SUFFIX];
    for (int32_t i = 0; i < access->clients.count; i++) {
        bool there = false;
        for (size_t j = 0; j < sizeof joints / sizeof joints[0]; j++) {
            snprintf(path, sizeof path, "%s/%s%s%s%s", access->folder, CRN_KEY_CLIENTS, joints[j],
                     access->clients.client[i].name, CRN_KEY_SUFFIX);
            there |= faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        }
        if (!there)
            fprintf(out,
                    "%s/%s/%s%s is gone, but its client keeps its access until a reload succeeds: "
                    "mend the faults above and reload\n",
                    access->folder, CRN_KEY_CLIENTS, access->clients.client[i].name,
                    CRN_KEY_SUFFIX);
    }
}

void crn_access_close(crn_access **access)
{
    crn_access *closing = *access;
    if (!closing)
        return;
    crn_access_clients_done(&closing->clients);
    pthread_mutex_destroy(&closing->lock);
    explicit_bzero(closing->secret, sizeof closing->secret);
    free(closing);
    *access = NULL;
}

bool crn_access_seals(const crn_access *access, const char *address)
{
    return strncmp(address, "tcp://", 6) == 0 ||
           (access->ipc && strncmp(address, "ipc://", 6) == 0);
}

const char *crn_access_secret(const crn_access *access)
{
    return access->secret;
}

const char *crn_access_domain(crn_access_use use, bool sealed)
{
    return domains[use][sealed];
}

/* False: no domain of ours. */
static bool find_domain(const char *domain, crn_access_use *ret_use, bool *ret_sealed)
{
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        for (int sealed = 0; sealed < 2; sealed++)
            if (strcmp(domain, domains[use][sealed]) == 0) {
                *ret_use = (crn_access_use)use;
                *ret_sealed = sealed;
                return true;
            }
    return false;
}

/* Call with the lock held. */
static void log_refusal(crn_access *access, crn_access_use use, crn_access_refusal reason,
                        const crn_access_peer *peer, const char *name)
{
    const char *address = peer->address[0] ? peer->address : "this machine";
    const char *again = crn_key_is_credential(access->folder) ? "restart" : "reload";
    crn_log_gate *gate = &access->gate[reason];
    int64_t now_ns = crn_now_ns();
    if (reason == CRN_ACCESS_UNKNOWN_KEY)
        crn_log_gated(
            gate, now_ns, CRN_LOG_WARNING,
            "access: a connection from %s to %s was refused: no file in %s/%s had its key %s when "
            "they were read: put its .pub there, or make it a new pair (cernita-keys --client), "
            "and %s the daemon",
            address, crn_access_use_names[use], access->folder, CRN_KEY_CLIENTS, peer->key, again);
    else if (reason == CRN_ACCESS_NOT_FOR_SOCKET)
        crn_log_gated(gate, now_ns, CRN_LOG_WARNING,
                      "access: a connection of %s from %s to %s was refused: add %s to `for:` in "
                      "%s/%s/%s%s, and %s the daemon",
                      name, address, crn_access_use_names[use], crn_access_use_names[use],
                      access->folder, CRN_KEY_CLIENTS, name, CRN_KEY_SUFFIX, again);
    else
        crn_log_gated(gate, now_ns, CRN_LOG_WARNING,
                      "access: a connection from %s to %s without keys was refused", address,
                      crn_access_use_names[use]);
}

bool crn_access_admit(crn_access *access, const crn_access_peer *peer,
                      char ret_name[CRN_KEY_NAME_MAX + 1])
{
    crn_access_use use;
    bool sealed;
    ret_name[0] = '\0';
    if (!find_domain(peer->domain, &use, &sealed))
        return false;
    if (!sealed && !peer->curve)
        return true;
    crn_access_refusal reason = CRN_ACCESS_REFUSALS;
    pthread_mutex_lock(&access->lock);
    if (peer->curve && peer->connection)
        tell_watches(access, use, peer);
    const crn_access_client *client =
        peer->curve ? crn_access_clients_find(&access->clients, peer->key) : NULL;
    if (!peer->curve)
        reason = CRN_ACCESS_PLAIN;
    else if (!client)
        reason = CRN_ACCESS_UNKNOWN_KEY;
    else if (!(client->file.uses & 1u << use))
        reason = CRN_ACCESS_NOT_FOR_SOCKET;
    if (client)
        memcpy(ret_name, client->name, sizeof client->name);
    if (reason != CRN_ACCESS_REFUSALS) {
        crn_access_count(&access->counters[use], reason);
        log_refusal(access, use, reason, peer, ret_name);
    }
    pthread_mutex_unlock(&access->lock);
    return reason == CRN_ACCESS_REFUSALS;
}

bool crn_access_serve(crn_access *access, void *zmq, bool served)
{
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        void *before = served ? NULL : zmq;
        if (atomic_compare_exchange_strong(&access->served[i], &before, served ? zmq : NULL))
            return true;
    }
    return false;
}

bool crn_access_is_served(const crn_access *access, const void *zmq)
{
    for (int i = 0; i < CONTEXTS_MAX; i++)
        if (atomic_load(&access->served[i]) == zmq)
            return true;
    return false;
}

crn_access_counters *crn_access_counters_of(crn_access *access, crn_access_use use)
{
    return access ? &access->counters[use] : NULL;
}

uint64_t crn_access_counted(const crn_access_counters *counters, crn_access_refusal reason)
{
    return counters ? atomic_load_explicit(&counters->refused[reason], memory_order_relaxed) : 0;
}

void crn_access_count(crn_access_counters *counters, crn_access_refusal reason)
{
    if (counters)
        atomic_fetch_add_explicit(&counters->refused[reason], 1, memory_order_relaxed);
}

void crn_access_get_stats(const crn_access *access, crn_access_stats *ret_stats)
{
    *ret_stats = (crn_access_stats){.enabled = access != NULL};
    if (!access)
        return;
    ret_stats->clients =
        (uint64_t)atomic_load_explicit(&access->client_count, memory_order_relaxed);
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++)
            ret_stats->refused[use][reason] =
                atomic_load_explicit(&access->counters[use].refused[reason], memory_order_relaxed);
}
