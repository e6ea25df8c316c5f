#include "src/formats/keys/key_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/file/regular_file.h"
#include "stages/base/buffer/text.h"

/* No key file that cernita-keys makes has a tenth of this. */
#define FILE_BYTES_MAX 4096
#define KEY_LENGTH     (CRN_KEY_BYTES - 1)
#define BINARY_BYTES   32

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          ".-:+=^!/*?&<>()[]{}@%$#";

const char *const crn_access_use_names[CRN_ACCESS_USES] = {
    [CRN_ACCESS_INGEST] = "ingest",
    [CRN_ACCESS_GRADER] = "grader",
    [CRN_ACCESS_VIEWERS] = "viewers",
};

int crn_key_supported(crn_error *error)
{
    if (zmq_has("curve"))
        return 0;
    return crn_error_set(error, -EOPNOTSUPP,
                         "this libzmq has no CURVE: install one that was built with libsodium "
                         "(Debian's libzmq5), or do without keys");
}

bool crn_key_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return length > 0 && length <= CRN_KEY_NAME_MAX && name[0] != '.' && name[0] != '-';
}

int crn_key_parse_uses(const char *text, uint32_t *ret_uses, crn_error *error)
{
    uint32_t uses = 0;
    text += strspn(text, ", \t");
    while (*text) {
        size_t length = strcspn(text, ", \t");
        int use = 0;
        while (use < CRN_ACCESS_USES && (strlen(crn_access_use_names[use]) != length ||
                                         memcmp(text, crn_access_use_names[use], length) != 0))
            use++;
        if (use == CRN_ACCESS_USES)
            return crn_error_set(
                error, -EINVAL,
                "'%.*s' is not a socket of a line, ingest, grader or viewers expected",
                length > 40 ? 40 : (int)length, text);
        uses |= 1u << use;
        text += length;
        text += strspn(text, ", \t");
    }
    if (uses == 0)
        return crn_error_set(error, -EINVAL, "no socket, ingest, grader or viewers expected");
    *ret_uses = uses;
    return 0;
}

void crn_key_print_uses(uint32_t uses, char *text, size_t size)
{
    crn_text list = crn_text_in(text, size);
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        if (uses & 1u << use)
            crn_text_add(&list, "%s%s", list.used ? ", " : "", crn_access_use_names[use]);
}

bool crn_key_is_credential(const char *path)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    size_t length = folder ? strlen(folder) : 0;
    return length > 0 && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

/* Refuses files that other users could misuse: with a secret key they could pose as the line, and
 * by writing a client's public key they could admit themselves. */
static int check_mode(const char *path, crn_key_kind kind, int fd, crn_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    unsigned mode = (unsigned)status.st_mode & 07777;
    /* systemd from 254 on lets the service read its credentials by an access control list, whose
     * mask shows as the group's mode; the folder is for the service only. */
    unsigned secret = crn_key_is_credential(path) ? 037 : 077;
    if (kind == CRN_KEY_SECRET && mode & secret)
        return crn_error_set(
            error, -EPERM,
            "%s: a secret key that other users may read (mode %04o): chmod 600 %s, "
            "and make a new one if somebody may have read it",
            path, mode, path);
    if (kind == CRN_KEY_CLIENT && mode & 022)
        return crn_error_set(error, -EPERM,
                             "%s: other users may write to it (mode %04o), and so admit "
                             "themselves: chmod go-w %s, and compare the key in it",
                             path, mode, path);
    return 0;
}

static bool is_key(const char *line)
{
    uint8_t binary[BINARY_BYTES];
    bool is = strlen(line) == KEY_LENGTH && strspn(line, z85) == KEY_LENGTH &&
              zmq_z85_decode(binary, line);
    explicit_bzero(binary, sizeof binary);
    return is;
}

/* Reads one line, without its end and blanks around it. */
static int read_line(const char *path, int number, char *line, crn_key_file *file, crn_error *error)
{
    crn_error clause;
    if (is_key(line)) {
        if (file->key[0])
            return crn_error_set(error, -EINVAL, "%s:%d: a second key, one expected", path, number);
        memcpy(file->key, line, CRN_KEY_BYTES);
    } else if (strncmp(line, "for:", 4) == 0) {
        if (crn_key_parse_uses(line + 4, &file->uses, &clause) < 0)
            return crn_error_set(error, -EINVAL, "%s:%d: for: %s", path, number, clause.text);
    } else if (line[0] && line[0] != '#') {
        /* The line may be a damaged secret key: it is not shown. */
        return crn_error_set(error, -EINVAL,
                             "%s:%d: neither a key (40 characters of Z85), nor `for: …`, nor a "
                             "comment (`#…`); make the file again with cernita-keys",
                             path, number);
    }
    return 0;
}

static int read_lines(const char *path, char *text, crn_key_file *file, crn_error *error)
{
    int number = 1, r = 0;
    for (char *line = text, *next; line && r == 0; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line += strspn(line, " \t");
        size_t length = strlen(line);
        while (length > 0 && strchr(" \t\r", line[length - 1]))
            line[--length] = '\0';
        r = read_line(path, number, line, file, error);
    }
    if (r == 0 && !file->key[0])
        r = crn_error_set(error, -EINVAL,
                          "%s: no key in it, a line of 40 characters expected; make the file again "
                          "with cernita-keys",
                          path);
    return r;
}

int crn_key_read(const char *path, crn_key_kind kind, crn_key_file *ret_file, crn_error *error)
{
    char text[FILE_BYTES_MAX + 1];
    crn_key_file file = {.uses = CRN_ACCESS_ALL_USES};
    size_t length = 0;
    ssize_t got = 1;
    crn_error why;
    int fd = crn_regular_open(path, &why);
    if (fd == -EACCES)
        return crn_error_set(error, fd,
                             "%s: this user may not read it: start the program as its owner, or "
                             "chown it; a service of systemd gets it by LoadCredential=",
                             path);
    if (fd < 0)
        return crn_error_set(error, fd, "%s%s", why.text,
                             kind == CRN_KEY_CLIENT ? "; put the client's public key there, or "
                                                      "remove it to take its access away"
                                                    : "");
    int r = check_mode(path, kind, fd, error);
    while (r == 0 && got > 0 && length < FILE_BYTES_MAX) {
        got = read(fd, text + length, FILE_BYTES_MAX - length);
        if (got < 0)
            r = crn_error_set(error, -errno, "%s: cannot be read: %s", path, strerror(errno));
        else
            length += (size_t)got;
    }
    close(fd);
    text[length] = '\0';
    if (r == 0 && (length == FILE_BYTES_MAX || strlen(text) != length))
        r = crn_error_set(error, -EINVAL,
                          "%s: not a key file, a few lines of text expected; make it with "
                          "cernita-keys",
                          path);
    if (r == 0)
        r = read_lines(path, text, &file, error);
    if (r == 0)
        *ret_file = file;
    explicit_bzero(text, sizeof text);
    explicit_bzero(&file, sizeof file);
    return r;
}
