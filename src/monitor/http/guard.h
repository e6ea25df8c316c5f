/* Who may change something: requests other than GET and HEAD. No sockets of its own. */
#ifndef CRN_SRC_MONITOR_HTTP_GUARD_H
#define CRN_SRC_MONITOR_HTTP_GUARD_H

#include <stdbool.h>
#include <sys/socket.h>

#include "stages/config/config.h"

CRN_C_BEGIN

/* What a request says of where it comes from; NULL: nothing. */
typedef struct crn_http_caller {
    const struct sockaddr *address; /* of the connection's other end */
    const char *host;               /* header Host, which is one of this server's */
    const char *origin;             /* Origin */
    const char *site;               /* Sec-Fetch-Site */
    const char *token;              /* X-Cernita-Token */
    bool forwarded;                 /* X-Forwarded-For, X-Real-IP, Forwarded or Via: a proxy's */
} crn_http_caller;

typedef enum crn_http_refusal {
    CRN_HTTP_ALLOWED,
    CRN_HTTP_FOREIGN_PAGE, /* a page of another server asks */
    CRN_HTTP_NO_TOKEN,     /* only from this machine: the line has no token for others */
    CRN_HTTP_WRONG_TOKEN,  /* it is missing or wrong */
    CRN_HTTP_REFUSALS,
} crn_http_refusal;

/* Why, with the cure; a line. */
extern const char *const crn_http_refusals[CRN_HTTP_REFUSALS];

/*
 * Whether the caller may change something. A page of another server may not, wherever it is open:
 * also a browser on this machine would ask for it. Beyond that, who is on this machine may without
 * a token, and others with it; who comes through a proxy is another. `token` is that of
 * monitor.token_file, "" without one.
 */
crn_http_refusal crn_http_guard(const crn_config *config, const char *token,
                                const crn_http_caller *caller);

/* Who it is, for the alarm list and the log: "local", or its address. */
#define CRN_HTTP_CALLER_BYTES 48
void crn_http_caller_name(const crn_config *config, const crn_http_caller *caller,
                          char ret_name[CRN_HTTP_CALLER_BYTES]);

CRN_C_END

#endif
