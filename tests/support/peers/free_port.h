/* Ports for daemons whose configuration must name them before they start. */
#ifndef CRN_TESTS_SUPPORT_FREE_PORT_H
#define CRN_TESTS_SUPPORT_FREE_PORT_H

#include <stdbool.h>

/* The first of `count` ports of this machine's loopback that nobody has; -1 where it has no IPv6.
 * Those that the kernel gives to connections are not among them, nor those of other test programs:
 * each begins elsewhere and goes on from there. */
int crn_test_free_ports(bool ipv6, int count);

#endif
