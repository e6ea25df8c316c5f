/* The address of monitor.http, HOST:PORT: a listening socket, and which names clients may call this
 * server by. */
#ifndef CRN_SRC_HTTP_ADDRESS_H
#define CRN_SRC_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "stages/config/config.h"
#include "stages/base/error.h"

CRN_C_BEGIN

/* Room for an address as bound, "[…]:65535". */
#define CRN_HTTP_ADDRESS_BYTES (CRN_TEXT_BYTES + 16)

/*
 * Opens a listening socket, non-blocking. HOST is an IPv4 address, an IPv6 address in brackets, a
 * name, or * for all of both; PORT 0 lets the system choose. Returns 0 with *ret_socket and the
 * address with its actual port in ret_bound, or a negative errno with one line in *error that names
 * the address and a hint.
 */
int crn_http_listen(const char *address, int *ret_socket, char ret_bound[CRN_HTTP_ADDRESS_BYTES],
                    crn_error *error);

/* The same, and where the port is in use the first of the following ones that is not, as far as
 * CRN_HTTP_PORTS_TRIED. */
#define CRN_HTTP_PORTS_TRIED 16
int crn_http_listen_near(const char *address, int *ret_socket,
                         char ret_bound[CRN_HTTP_ADDRESS_BYTES], crn_error *error);

/*
 * True if a request's Host header (NULL: it has none) may name this server: as an address, as
 * localhost, by the machine's own name, as monitor.http does, or as one of monitor.hosts (NULL:
 * none). Any other name may be that of a foreign page whose name server was made to answer with
 * this machine's address (DNS rebinding).
 */
bool crn_http_host_is_own(const char *host, const char *address, const crn_texts *hosts);

/* True if the address, of IPv4 or IPv6, is one of the loopback interface; IPv4 also as IPv6 maps
 * it.
 */
bool crn_http_is_loopback(const struct sockaddr *address);

/* True if a request's Host header is an address, and not of the loopback interface: who calls this
 * server so from this machine does it for somebody else. */
bool crn_http_host_is_other_address(const char *host);

/* crn_http_listen() for a socket that is closed again: whether the address could be had. */
int crn_http_try(const char *address, crn_error *error);

CRN_C_END

#endif
