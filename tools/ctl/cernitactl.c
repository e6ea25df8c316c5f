/* cernitactl: asks a running daemon at its control socket. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/service/control_socket.h"
#include "stages/base/file/new_file.h"
#include "stages/base/process/arguments.h"
#include "stages/base/process/standard.h"
#include "stages/base/utf8.h"
#include "src/client/find_socket.h"
#include "tools/ctl/changes.h"

#define RUN_FOLDER    "/run/cernita"
#define SORTER_FOLDER "/run/cernita-sorter"

enum {
    EXIT_REFUSED = 1,
    EXIT_USAGE = 2,
};

static const char usage[] =
    "usage: cernitactl [--line NAME | --socket PATH] status [--json]\n"
    "       cernitactl [--line NAME | --socket PATH] reload\n"
    "       cernitactl [--line NAME | --socket PATH] recipes\n"
    "       cernitactl [--line NAME | --socket PATH] recipe NAME | --none\n"
    "       cernitactl [--line NAME | --socket PATH] lot\n"
    "                  [ID [--grower G] [--variety V] | --end]\n"
    "       cernitactl [--line NAME | --socket PATH] alarms\n"
    "                  [--acknowledge N | --acknowledge all [--newest N] |\n"
    "                   --shelve N --minutes M]\n"
    "       cernitactl [--line NAME | --socket PATH] trace FILE\n"
    "       cernitactl [--line NAME | --socket PATH | --dir DIR] changes [--verify | --from WHEN]\n"
    "       cernitactl [--line NAME | --socket PATH | --dir DIR] settings HASH\n"
    "       cernitactl --sorter [--line NAME] status | reload\n"
    "\n"
    "Asks a running cernitad, at the socket that control.path of its file names. Where one line "
    "of\n"
    "the machine has its socket below " RUN_FOLDER ", that one is asked.\n"
    "\n"
    "  status               how it does, and by which settings fruits are judged\n"
    "  reload               read its file again; all faults are listed, and then nothing changes\n"
    "  recipes              the recipes of its file; * marks what is in force\n"
    "  recipe NAME          switch to a recipe; --none: to the file's own settings\n"
    "  lot                  the lot in force\n"
    "  lot ID               the next fruit begins a lot of that name, which each verdict carries\n"
    "  alarms               the alarms that are open or shelved, and 20 others, the newest first\n"
    "  trace FILE           write the last fruits as a trace for ui.perfetto.dev\n"
    "  changes              who changed what: starts, reloads, recipes, lots; a line of the log "
    "that "
    "was\n"
    "                       altered is named\n"
    "  settings HASH        the settings' text, by the hash that verdicts have\n"
    "\n"
    "  -l, --line NAME      of several lines this one: " RUN_FOLDER
    "/NAME/control, as cernitad@NAME has\n"
    "  -s, --socket PATH    a socket elsewhere\n"
    "      --sorter         ask the line's cernita-sorter instead: " SORTER_FOLDER "/NAME/control\n"
    "      --json           status as JSON\n"
    "      --grower G       whose fruit the lot is\n"
    "      --variety V      what fruit it is\n"
    "      --end            end the lot: fruits from now on have none\n"
    "      --acknowledge N  confirm the alarm of that number; all: all of them, also those that\n"
    "                       came after they were listed\n"
    "      --newest N       of all none after that number, which the list begins with\n"
    "      --shelve N       put alarms of that condition and lane aside\n"
    "      --minutes M      for so long, 1 to 480; 0: no longer\n"
    "      --dir DIR        the line's state folder (or a copy of its changes.jsonl): without a "
    "daemon\n"
    "      --verify         of changes only whether all are there as written, and the settings' "
    "texts\n"
    "      --from WHEN      of changes those from a number on, or a time in UTC: 2026-11-28T06:00\n"
    "  -h, --help           this text\n"
    "      --version        the version\n"
    "\n"
    "exit status: 0 done, 1 refused, no daemon there, or a log that was altered, 2 wrong usage\n";

static const char short_options[] = "l:s:h";
/* clang-format off */
static const struct option long_options[] = {
    {"line", required_argument, NULL, 'l'},
    {"socket", required_argument, NULL, 's'},
    {"sorter", no_argument, NULL, 'o'},
    {"json", no_argument, NULL, 'j'},
    {"none", no_argument, NULL, 'n'},
    {"grower", required_argument, NULL, 'g'},
    {"variety", required_argument, NULL, 'y'},
    {"end", no_argument, NULL, 'e'},
    {"acknowledge", required_argument, NULL, 'a'},
    {"newest", required_argument, NULL, 'w'},
    {"shelve", required_argument, NULL, 'p'},
    {"minutes", required_argument, NULL, 'm'},
    {"dir", required_argument, NULL, 'd'},
    {"verify", no_argument, NULL, 'r'},
    {"from", required_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {NULL, 0, NULL, 0},
};
/* clang-format on */

typedef struct ctl_options {
    const char *line, *socket, *command, *operand; /* NULL: none */
    const char *acknowledge, *newest, *shelve, *minutes, *dir, *from;
    const char *grower, *variety; /* NULL: not given */
    bool json, none, end, sorter, verify;
} ctl_options;

/* --- the daemon --- */

/* Connects to the daemon that the options name. Returns the descriptor, or a negative errno. */
static int connect_to_daemon(const ctl_options *given, crn_error *error)
{
    crn_socket_address address;
    if (given->socket && !crn_socket_address_set(&address, given->socket))
        return crn_error_set(error, -ENAMETOOLONG, "%s: a path of at most %zu bytes expected",
                             given->socket, sizeof address.sun_path - 1);
    const char *folder = given->sorter ? SORTER_FOLDER : RUN_FOLDER;
    int r = given->socket ? 0 : crn_socket_find(folder, given->line, &address, error);
    return r < 0 ? r : crn_socket_connect(&address, error);
}

/* The answer's lines after the first, in `answer`. Returns 0, 1 refused, or a negative errno. */
static int ask(const ctl_options *given, const char *request,
               char answer[CRN_CONTROL_ANSWER_BYTES + 1])
{
    crn_error error = {""};
    int descriptor = connect_to_daemon(given, &error);
    if (descriptor < 0) {
        fprintf(stderr, "cernitactl: %s\n", error.text);
        return descriptor;
    }
    ssize_t size = send(descriptor, request, strlen(request), MSG_NOSIGNAL);
    if (size >= 0)
        size = recv(descriptor, answer, CRN_CONTROL_ANSWER_BYTES, 0);
    int fault = size < 0 ? errno : 0;
    close(descriptor);
    if (size <= 0) {
        fprintf(stderr, "cernitactl: no answer: %s; try again, or see the daemon's log\n",
                fault ? strerror(fault) : "the daemon closed the connection");
        return -EIO;
    }
    answer[size] = '\0';
    bool ok = strncmp(answer, "ok\n", 3) == 0;
    const char *lines = strchr(answer, '\n');
    lines = lines ? lines + 1 : "";
    memmove(answer, lines, strlen(lines) + 1);
    return ok ? 0 : 1;
}

/* --- a trace --- */

/* Connects to HOST:PORT. */
static int connect_to_http(const char *address)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    if (!colon || (size_t)(colon - address) >= sizeof host)
        return -1;
    bool bracketed = address[0] == '[';
    snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2 * bracketed,
             address + bracketed);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct timeval patience = {.tv_sec = CRN_SOCKET_PATIENCE_S};
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return -1;
    int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) < 0) {
        close(descriptor);
        descriptor = -1;
    }
    freeaddrinfo(found);
    if (descriptor >= 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return descriptor;
}

/* Copies the body of the answer to a file; false if that is not all of it. */
static bool copy_body(int descriptor, FILE *file)
{
    FILE *from = fdopen(descriptor, "r");
    char line[1024], bytes[65536], last = 0;
    size_t got;
    if (!from) {
        close(descriptor);
        return false;
    }
    bool good = fgets(line, sizeof line, from) && strncmp(line, "HTTP/1.", 7) == 0 &&
                strncmp(line + 8, " 200", 4) == 0;
    while (good && fgets(line, sizeof line, from) && strcmp(line, "\r\n") != 0)
        continue;
    while (good && (got = fread(bytes, 1, sizeof bytes, from)) > 0) {
        good = fwrite(bytes, 1, got, file) == got;
        last = bytes[got - 1];
    }
    good = good && !ferror(from) && last == '}';
    fclose(from);
    return good;
}

/* `url` is http://HOST:PORT/PATH. Returns the exit status. */
static int download(const char *url, const char *path)
{
    char address[300], request[700];
    bool is_url = strncmp(url, "http://", strlen("http://")) == 0;
    const char *host = url + (is_url ? strlen("http://") : 0);
    snprintf(address, sizeof address, "%.*s", (int)strcspn(host, "/\n"), host);
    int length =
        snprintf(request, sizeof request, "GET %.*s HTTP/1.0\r\nHost: %s\r\n\r\n",
                 (int)strcspn(host + strlen(address), "\n"), host + strlen(address), address);
    if (!is_url || length >= (int)sizeof request) {
        fprintf(stderr,
                "cernitactl: %s: no trace: what answers at --socket is not cernitad: it gave no "
                "address\n",
                path);
        return EXIT_REFUSED;
    }
    int descriptor = connect_to_http(address);
    if (descriptor < 0 || send(descriptor, request, (size_t)length, MSG_NOSIGNAL) != length) {
        fprintf(stderr, "cernitactl: http://%s cannot be reached: %s\n", address, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return EXIT_REFUSED;
    }
    crn_new_file file = {0};
    crn_error error = {""};
    int r = crn_new_file_open_stream(path, &file, &error);
    if (r < 0)
        close(descriptor);
    else if (!copy_body(descriptor, file.stream))
        r = crn_error_set(&error, -EIO, "http://%s: the trace did not come whole", address);
    if (r == 0)
        r = crn_new_file_finish(&file, &error);
    if (r < 0)
        fprintf(stderr, "cernitactl: %s\n", error.text);
    crn_new_file_drop(&file);
    return r < 0 ? EXIT_REFUSED : EXIT_SUCCESS;
}

/* --- the command line --- */

/* Whether the command reads files of the state folder, which the daemon names. */
static bool reads_state(const ctl_options *given)
{
    return strcmp(given->command, "changes") == 0 || strcmp(given->command, "settings") == 0;
}

/* Whether the command takes what was given with it. */
static bool is_usage(const ctl_options *given)
{
    const char *command = given->command, *operand = given->operand;
    bool recipe = strcmp(command, "recipe") == 0, alarms = strcmp(command, "alarms") == 0,
         lot = strcmp(command, "lot") == 0, changes = strcmp(command, "changes") == 0;
    bool known = false;
    if (recipe)
        known = given->none ? !operand : operand && operand[0];
    else if (lot)
        known = operand ? operand[0] && !given->end : true;
    else if (strcmp(command, "trace") == 0 || strcmp(command, "settings") == 0)
        known = operand && operand[0];
    else if (alarms || changes || strcmp(command, "status") == 0 ||
             strcmp(command, "reload") == 0 || strcmp(command, "recipes") == 0)
        known = !operand;
    known &= !given->none || recipe;
    known &= !given->end || lot;
    known &= !(given->grower || given->variety) || (lot && operand);
    known &= !given->json || strcmp(command, "status") == 0;
    known &= alarms || !(given->acknowledge || given->shelve || given->minutes);
    known &= !given->acknowledge || !given->shelve;
    known &= !given->newest || (given->acknowledge && strcmp(given->acknowledge, "all") == 0);
    known &= !given->shelve == !given->minutes;
    known &= changes || !(given->verify || given->from);
    known &= !given->verify || !given->from;
    known &= reads_state(given) || !given->dir;
    known &= !reads_state(given) || !given->sorter;
    return known;
}

/* Writes the request of a command; false if it is too long. */
static bool make_request(const ctl_options *given, char request[CRN_CONTROL_REQUEST_BYTES + 1])
{
    const size_t capacity = CRN_CONTROL_REQUEST_BYTES + 1;
    int length;
    if (given->acknowledge)
        length = snprintf(request, capacity, "alarms acknowledge %s%s%s", given->acknowledge,
                          given->newest ? " " : "", given->newest ? given->newest : "");
    else if (given->shelve)
        length = snprintf(request, capacity, "alarms shelve %s %s", given->shelve, given->minutes);
    else if (strcmp(given->command, "recipe") == 0 && given->operand)
        length = snprintf(request, capacity, "recipe %s", given->operand);
    else if (given->end)
        length = snprintf(request, capacity, "lot --end");
    else if (strcmp(given->command, "lot") == 0 && given->operand)
        length =
            snprintf(request, capacity, "lot %s%s%s%s%s", given->operand,
                     given->grower ? " --grower " : "", given->grower ? given->grower : "",
                     given->variety ? " --variety " : "", given->variety ? given->variety : "");
    else if (reads_state(given))
        length = snprintf(request, capacity, "changes"); /* it tells the folder */
    else
        length = snprintf(request, capacity, "%s%s", given->command, given->json ? " json" : "");
    return length <= CRN_CONTROL_REQUEST_BYTES;
}

/* Takes an option. Returns as parse(). */
static int take_option(int option, ctl_options *given)
{
    const struct {
        int option;
        const char **text;
    } texts[] = {{'l', &given->line},        {'s', &given->socket},  {'g', &given->grower},
                 {'y', &given->variety},     {'w', &given->newest},  {'p', &given->shelve},
                 {'a', &given->acknowledge}, {'m', &given->minutes}, {'d', &given->dir},
                 {'f', &given->from}};
    const struct {
        int option;
        bool *flag;
    } flags[] = {{'o', &given->sorter},
                 {'j', &given->json},
                 {'n', &given->none},
                 {'e', &given->end},
                 {'r', &given->verify}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            *texts[i].text = optarg;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].option == option)
            *flags[i].flag = true;
    if (option == 'h')
        fputs(usage, stdout);
    if (option == 'v')
        puts("cernitactl " CRN_VERSION);
    return option == 'h' || option == 'v' ? 1 + EXIT_SUCCESS : 0;
}

/* Returns 0 to go on; a positive value: exit with status value - 1. */
static int parse(int argc, char **argv, ctl_options *ret_options)
{
    ctl_options given = {0};
    crn_error error;
    int option;
    if (crn_arguments_check("cernitactl", argv, short_options, long_options, &error) < 0) {
        fprintf(stderr, "cernitactl: %s\n", error.text);
        return 1 + EXIT_USAGE;
    }
    while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        int r = take_option(option, &given);
        if (r > 0)
            return r;
    }
    if (optind < argc)
        given.command = argv[optind];
    if (optind + 1 < argc)
        given.operand = argv[optind + 1];
    if ((given.line != NULL) + (given.socket != NULL) + (given.dir != NULL) > 1) {
        fprintf(stderr, "cernitactl: --line, --socket and --dir exclude each other\n");
        return 1 + EXIT_USAGE;
    }
    if (given.from && !crn_ctl_from_is_valid(given.from)) {
        fprintf(
            stderr,
            "cernitactl: --from '%s': a number or YYYY-MM-DD[THH:MM[:SS]][Z], in UTC, expected\n",
            given.from);
        return 1 + EXIT_USAGE;
    }
    if (!given.command || optind + 2 < argc) {
        fprintf(stderr, "cernitactl: one command expected; see cernitactl --help\n");
        return 1 + EXIT_USAGE;
    }
    *ret_options = given;
    return 0;
}

/* Line by line, with what does not print as \xNN: whoever answers may not be the daemon. */
static void print_answer(const char *answer, FILE *out)
{
    char shown[4096];
    for (const char *line = answer, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        crn_utf8_show(line, (size_t)(end - line), shown, sizeof shown);
        fprintf(out, "%s\n", shown);
    }
}

/* Reads what the command asks for in the state folder. Returns the exit status. */
static int read_state(const ctl_options *given, const char *dir)
{
    const crn_ctl_changes changes = {dir, given->from, given->verify};
    return strcmp(given->command, "settings") == 0 ? crn_ctl_settings_print(dir, given->operand)
                                                   : crn_ctl_changes_print(&changes);
}

int main(int argc, char **argv)
{
    static char answer[CRN_CONTROL_ANSWER_BYTES + 1];
    char request[CRN_CONTROL_REQUEST_BYTES + 1];
    ctl_options given;
    crn_standard_streams("cernitactl");
    int r = parse(argc, argv, &given);
    if (r > 0)
        return r - 1;
    if (!is_usage(&given)) {
        fprintf(stderr,
                "cernitactl: '%s' is not a command, or has the wrong operands; see "
                "cernitactl --help\n",
                given.command);
        return EXIT_USAGE;
    }
    if (!make_request(&given, request)) {
        fprintf(stderr,
                "cernitactl: the operands are longer than a request may be, %d bytes: shorten "
                "them\n",
                CRN_CONTROL_REQUEST_BYTES);
        return EXIT_USAGE;
    }
    if (given.dir)
        return read_state(&given, given.dir);
    r = ask(&given, request, answer);
    if (r == 0 && reads_state(&given)) {
        answer[strcspn(answer, "\n")] = '\0';
        return read_state(&given, answer);
    }
    if (r < 0 && reads_state(&given))
        fprintf(stderr, "cernitactl: without a daemon name its state folder: --dir DIR "
                        "(state.dir of its file; of a service /var/lib/cernita/NAME)\n");
    if (r == 0 && strcmp(given.command, "trace") == 0)
        return download(answer, given.operand);
    if (r >= 0)
        print_answer(answer, r == 0 ? stdout : stderr);
    if (r == 1 && (strcmp(request, "reload") == 0 || strncmp(request, "recipe ", 7) == 0))
        fprintf(stderr,
                "cernitactl: refused; the %s goes on with the settings and keys that it had\n",
                given.sorter ? "sorter" : "line");
    return r == 0 ? EXIT_SUCCESS : EXIT_REFUSED;
}
