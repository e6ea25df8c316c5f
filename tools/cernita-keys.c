/* cernita-keys: makes the keys of a line (access.keys) and of its clients; prints no secret. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/param.h"
#include "stages/base/process/standard.h"
#include "src/formats/keys/clients.h"
#include "tools/common/options.h"

#define PATH_BYTES (CRN_TEXT_BYTES + 128)

typedef struct keys_plan {
    const char *folder, *client, *out;
    uint32_t uses;
    bool list, uses_given;
} keys_plan;

static void read_client(const crn_tool *tool, const crn_option *option, const char *text,
                        void *settings)
{
    keys_plan *p = settings;
    (void)option;
    if (!crn_key_name_is_valid(text))
        crn_usage_error(tool,
                        "--client '%s': up to %d letters, digits, - _ . expected, the "
                        "first a letter, a digit or _",
                        text, CRN_KEY_NAME_MAX);
    p->client = text;
}

static void read_uses(const crn_tool *tool, const crn_option *option, const char *text,
                      void *settings)
{
    keys_plan *p = settings;
    crn_error error;
    (void)option;
    p->uses_given = true;
    if (crn_key_parse_uses(text, &p->uses, &error) < 0)
        crn_usage_error(tool, "--for: %s", error.text);
}

static const crn_option options[] = {
    {.name = "client",
     .value = "NAME",
     .help = "make the keys of a client: letters, digits, - _ .",
     .read = read_client},
    {.name = "for",
     .value = "SOCKETS",
     .help = "what it may use: ingest, grader, viewers, or several with commas (all)",
     .read = read_uses},
    CRN_OPTION_AT("out", "FILE", keys_plan, out,
                  .help = "where its secret key goes (NAME.key); move it to the client's machine"),
    CRN_OPTION_AT("list", NULL, keys_plan, list,
                  .help = "print the line's public key and its clients"),
    {0},
};

static const crn_tool tool = {
    "cernita-keys",
    "DIR",
    "Makes the folder that access.keys of a line's file names, with the line's keys, or adds a\n"
    "client to it. Nothing is overwritten, and no secret is printed. Run it as the daemon's\n"
    "user, who must own the folder.",
    options,
    1,
    1};

typedef struct key_pair {
    char public[CRN_KEY_BYTES], secret[CRN_KEY_BYTES];
} key_pair;

static void read_options(int argc, char **argv, keys_plan *p)
{
    crn_options_read(&tool, argc, argv, p);
    p->folder = argv[optind];
    if (strlen(p->folder) >= CRN_TEXT_BYTES)
        crn_usage_error(&tool, "the name of the folder is too long");
    if (!p->client && (p->out || p->uses_given))
        crn_usage_error(&tool, "--%s needs --client", p->out ? "out" : "for");
    if (p->list && p->client)
        crn_usage_error(&tool, "--list and --client: one of them expected");
}

/* Creates a file that does not exist yet, with exactly this mode, and writes it to the disk. */
static int create_file(const char *path, mode_t mode, const char *text, crn_error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 && errno == EEXIST)
        return crn_error_set(error, -EEXIST,
                             "%s exists and is not overwritten: remove it if nobody uses it any "
                             "more, or give another name",
                             path);
    if (fd < 0)
        return crn_error_set(error, -errno, "%s: cannot be made: %s", path, strerror(errno));
    size_t size = strlen(text);
    int r = fchmod(fd, mode) < 0 || write(fd, text, size) != (ssize_t)size || fsync(fd) < 0
                ? -(errno ? errno : EIO)
                : 0;
    close(fd);
    if (r < 0) {
        unlink(path);
        return crn_error_set(error, r, "%s: cannot be written: %s", path, strerror(-r));
    }
    return 0;
}

static int make_pair(key_pair *ret_pair, crn_error *error)
{
    int r = crn_key_supported(error);
    if (r == 0 && zmq_curve_keypair(ret_pair->public, ret_pair->secret) < 0)
        r = crn_error_set(error, -errno, "no keys could be made: %s", zmq_strerror(errno));
    return r;
}

/* Writes both files, or none. */
static int write_pair(const char *secret_path, const char *public_path, const char *name,
                      const char *uses, crn_error *error)
{
    key_pair pair;
    char text[512];
    int r = make_pair(&pair, error);
    if (r < 0)
        return r;
    snprintf(text, sizeof text,
             "# cernita: secret key of %s; nobody but its program's user may read it\n%s\n", name,
             pair.secret);
    r = create_file(secret_path, 0600, text, error);
    explicit_bzero(text, sizeof text);
    explicit_bzero(pair.secret, sizeof pair.secret);
    if (r < 0)
        return r;
    snprintf(text, sizeof text, "# cernita: public key of %s\n%s%s%s%s\n", name,
             uses[0] ? "for: " : "", uses, uses[0] ? "\n" : "", pair.public);
    r = create_file(public_path, 0644, text, error);
    if (r < 0)
        unlink(secret_path);
    return r;
}

static int make_folder(const char *path, crn_error *error)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return crn_error_set(error, -errno, "%s: cannot be made: %s", path, strerror(errno));
    return 0;
}

static int make_server(const keys_plan *p, crn_error *error)
{
    char secret[PATH_BYTES], public[PATH_BYTES], clients[PATH_BYTES];
    snprintf(secret, sizeof secret, "%s/%s", p->folder, CRN_KEY_SERVER_SECRET);
    snprintf(public, sizeof public, "%s/%s", p->folder, CRN_KEY_SERVER_PUBLIC);
    snprintf(clients, sizeof clients, "%s/%s", p->folder, CRN_KEY_CLIENTS);
    int r = make_folder(p->folder, error);
    if (r == 0)
        r = make_folder(clients, error);
    if (r == 0)
        r = write_pair(secret, public, "the line", "", error);
    if (r == 0)
        printf("%s: secret, stays here\n%s: public, clients need a copy (--server-key)\n"
               "next: cernita-keys %s --client NAME --for ingest, and `access: {keys: \"%s\"}` in "
               "the line's file\n",
               secret, public, p->folder, p->folder);
    return r;
}

static int make_client(const keys_plan *p, crn_error *error)
{
    char secret[PATH_BYTES], public[PATH_BYTES], uses[64], own[PATH_BYTES];
    snprintf(own, sizeof own, "%s/%s", p->folder, CRN_KEY_SERVER_SECRET);
    if (access(own, F_OK) < 0)
        return crn_error_set(error, -errno, "%s: %s; make the line's keys first: cernita-keys %s",
                             own, strerror(errno), p->folder);
    snprintf(secret, sizeof secret, "%s%s", p->out ? p->out : p->client, p->out ? "" : ".key");
    snprintf(public, sizeof public, "%s/%s/%s%s", p->folder, CRN_KEY_CLIENTS, p->client,
             CRN_KEY_SUFFIX);
    crn_key_print_uses(p->uses, uses, sizeof uses);
    int r = write_pair(secret, public, p->client, uses, error);
    if (r == 0)
        printf("%s: secret, for the client's machine (--key); delete it here once it is there\n"
               "%s: public, for: %s; a running daemon knows it after a reload (one that has its "
               "keys by "
               "LoadCredential= after a restart)\n",
               secret, public, uses);
    return r;
}

static int list(const keys_plan *p, crn_error *error)
{
    crn_key_file server;
    crn_access_clients clients;
    char path[PATH_BYTES], uses[64];
    snprintf(path, sizeof path, "%s/%s", p->folder, CRN_KEY_SERVER_PUBLIC);
    int r = crn_key_read(path, CRN_KEY_PUBLIC, &server, error);
    if (r == 0)
        r = crn_access_clients_read(p->folder, NULL, &clients, error);
    if (r < 0)
        return r;
    printf("%-24s %s\n", "line", server.key);
    for (int32_t i = 0; i < clients.count; i++) {
        crn_key_print_uses(clients.client[i].file.uses, uses, sizeof uses);
        printf("%-24s %s  for: %s\n", clients.client[i].name, clients.client[i].file.key, uses);
    }
    crn_access_clients_done(&clients);
    return 0;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-keys");
    keys_plan p = {.uses = CRN_ACCESS_ALL_USES};
    crn_error error;
    read_options(argc, argv, &p);
    int r = p.list     ? list(&p, &error)
            : p.client ? make_client(&p, &error)
                       : make_server(&p, &error);
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
}
