#include "src/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int crn_http_token_read(const char *path, char ret_token[CRN_HTTP_TOKEN_BYTES], crn_error *error)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char text[CRN_HTTP_TOKEN_BYTES + 2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    int r = size < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    if (r < 0)
        return crn_error_set(error, r, "%s: cannot be read: %s", path, strerror(-r));
    text[strcspn(text, "\r\n")] = '\0';
    size_t length = strlen(text);
    if (strspn(text, allowed) != length || length < CRN_HTTP_TOKEN_BYTES_MIN ||
        length >= CRN_HTTP_TOKEN_BYTES)
        return crn_error_set(error, -EINVAL, "%s: needs a line of %d to %d letters and digits",
                             path, CRN_HTTP_TOKEN_BYTES_MIN, CRN_HTTP_TOKEN_BYTES - 1);
    snprintf(ret_token, CRN_HTTP_TOKEN_BYTES, "%.*s", CRN_HTTP_TOKEN_BYTES - 1, text);
    return 0;
}

bool crn_http_token_is(const char *token, const char *given)
{
    size_t length = strlen(token);
    if (!given)
        return false;
    unsigned char differs = strlen(given) != length;
    for (size_t i = 0; i < length && given[i]; i++)
        differs |= (unsigned char)(token[i] ^ given[i]);
    return !differs;
}
