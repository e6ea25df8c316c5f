#include "src/http/uri.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

char crn_http_faulty_uri[1];

/* The byte at *at, decoded; moves past it. */
static unsigned next_byte(const char **at)
{
    const char *text = *at;
    unsigned byte;
    if (text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
        sscanf(text + 1, "%2x", &byte) == 1) {
        *at += 3;
        return byte;
    }
    *at += 1;
    return (unsigned char)text[0];
}

/* True if, decoded, the path of a request's address has a control byte, or its query a NUL byte. */
static bool is_faulty(const char *uri)
{
    bool query = false;
    for (const char *at = uri; *at;) {
        query |= *at == '?';
        unsigned byte = next_byte(&at);
        if (byte == 0 || (!query && (byte < 0x20 || byte == 0x7f)))
            return true;
    }
    return false;
}

int64_t crn_http_number(const char *text)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return -1;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return *end || errno ? -1 : number;
}

void *crn_http_note_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    (void)context;
    (void)connection;
    return is_faulty(uri) ? crn_http_faulty_uri : NULL;
}
