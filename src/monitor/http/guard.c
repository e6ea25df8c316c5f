#include "src/monitor/http/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/http/address.h"
#include "src/http/token.h"

const char *const crn_http_refusals[CRN_HTTP_REFUSALS] = {
    [CRN_HTTP_FOREIGN_PAGE] =
        "a page of another server asks for that, and only this server's own may; a proxy before it "
        "has to pass the header Host on as browsers send it\n",
    [CRN_HTTP_NO_TOKEN] =
        "only from the line's own machine: for others put a token into a file, name it in "
        "monitor.token_file of the line's file, and restart the line\n",
    [CRN_HTTP_WRONG_TOKEN] =
        "the token is missing or wrong: send that of the line's monitor.token_file in the header "
        "X-Cernita-Token\n",
};

/* Browsers add Origin to every POST: "null" where they do not tell it. */
static bool is_own_origin(const crn_http_caller *caller)
{
    const char *name = caller->origin;
    if (!name)
        return true;
    if (strncasecmp(name, "http://", 7) == 0)
        name += 7;
    else if (strncasecmp(name, "https://", 8) == 0)
        name += 8;
    else
        return false;
    return caller->host && strcasecmp(name, caller->host) == 0;
}

static bool is_own_site(const crn_http_caller *caller)
{
    return !caller->site || strcmp(caller->site, "same-origin") == 0 ||
           strcmp(caller->site, "none") == 0;
}

/* The IPv4 address, also where a socket of IPv6 has it mapped. */
static bool find_ipv4(const struct sockaddr *address, struct in_addr *ret_ipv4)
{
    if (address->sa_family == AF_INET) {
        *ret_ipv4 = ((const struct sockaddr_in *)(const void *)address)->sin_addr;
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(ipv6))
        return false;
    memcpy(ret_ipv4, &ipv6->s6_addr[12], sizeof *ret_ipv4);
    return true;
}

/* A proxy on this machine speaks for others: it says so in headers, or by what only it is called
 * by: a name of monitor.hosts, or an address that others reach. */
static bool is_local(const crn_config *config, const crn_http_caller *caller)
{
    return caller->address && crn_http_is_loopback(caller->address) && !caller->forwarded &&
           !crn_http_host_is_other_address(caller->host) &&
           crn_http_host_is_own(caller->host, config->monitor.http, NULL);
}

crn_http_refusal crn_http_guard(const crn_config *config, const char *token,
                                const crn_http_caller *caller)
{
    if (!is_own_origin(caller) || !is_own_site(caller))
        return CRN_HTTP_FOREIGN_PAGE;
    if (is_local(config, caller))
        return CRN_HTTP_ALLOWED;
    if (!token[0])
        return CRN_HTTP_NO_TOKEN;
    return crn_http_token_is(token, caller->token) ? CRN_HTTP_ALLOWED : CRN_HTTP_WRONG_TOKEN;
}

void crn_http_caller_name(const crn_config *config, const crn_http_caller *caller,
                          char ret_name[CRN_HTTP_CALLER_BYTES])
{
    struct in_addr ipv4;
    snprintf(ret_name, CRN_HTTP_CALLER_BYTES, is_local(config, caller) ? "local" : "?");
    if (is_local(config, caller) || !caller->address)
        return;
    if (find_ipv4(caller->address, &ipv4))
        inet_ntop(AF_INET, &ipv4, ret_name, CRN_HTTP_CALLER_BYTES);
    else if (caller->address->sa_family == AF_INET6)
        inet_ntop(AF_INET6,
                  &((const struct sockaddr_in6 *)(const void *)caller->address)->sin6_addr,
                  ret_name, CRN_HTTP_CALLER_BYTES);
}
