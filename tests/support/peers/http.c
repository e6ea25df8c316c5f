#include "tests/support/peers/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"

#define PATIENCE_S 60

int http_connect(const char *address)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    assert_non_null(colon);
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
    assert_int_equal(inet_pton(AF_INET, host, &at.sin_addr), 1);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(connection >= 0);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(connection, (struct sockaddr *)&at, sizeof at), 0);
    return connection;
}

bool http_send(int connection, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = send(connection, text, left, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        text += sent;
        left -= (size_t)sent;
    }
    return true;
}

/* Reads more into a text; false at its end, or if the connection was reset. */
static bool read_more(int connection, char *text, size_t *used, size_t capacity)
{
    ssize_t got = recv(connection, text + *used, capacity - 1 - *used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("the server did not answer in %d s", PATIENCE_S);
    if (got <= 0)
        return false;
    *used += (size_t)got;
    text[*used] = '\0';
    return true;
}

char *http_read_bytes(int connection, size_t *ret_size)
{
    size_t capacity = 1 << 16, used = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    text[0] = '\0';
    while (read_more(connection, text, &used, capacity)) {
        if (used + 1 == capacity) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
    }
    *ret_size = used;
    return text;
}

char *http_read_all(int connection)
{
    size_t size;
    return http_read_bytes(connection, &size);
}

bool http_read_until(int connection, const char *wanted, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    while (!strstr(text, wanted)) {
        if (used + 1 == capacity) { /* keep the latter half */
            memmove(text, text + used / 2, used - used / 2 + 1);
            used -= used / 2;
        }
        if (!read_more(connection, text, &used, capacity))
            return false;
    }
    return true;
}

void http_read_head(int connection, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    while (!strstr(text, "\r\n\r\n")) {
        assert_true(used + 1 < capacity);
        /* A byte at a time: what follows is the caller's. */
        if (!read_more(connection, text, &used, used + 2))
            fail_msg("the server ended the connection after '%s'", text);
    }
}

int http_code(const char *response)
{
    int code = 0;
    return sscanf(response, "HTTP/1.%*1d %3d", &code) == 1 ? code : 0;
}

char *http_get(const char *address, const char *path, int *ret_code)
{
    char request[256];
    int connection = http_connect(address);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
             path, address);
    assert_true(http_send(connection, request));
    char *response = http_read_all(connection);
    close(connection);
    *ret_code = http_code(response);
    char *body = strstr(response, "\r\n\r\n");
    assert_non_null(body);
    memmove(response, body + 4, strlen(body + 4) + 1);
    return response;
}

double http_sample(const char *exposition, const char *sample)
{
    size_t length = strlen(sample);
    for (const char *line = exposition; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, sample, length) == 0 && line[length] == ' ')
            return strtod(line + length, NULL);
    }
    fail_msg("no sample %s in:\n%s", sample, exposition);
    return 0;
}
