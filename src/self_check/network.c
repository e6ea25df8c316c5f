/* Receive buffers. libzmq leaves them to the kernel, which lets them grow up to tcp_rmem's third
 * number; net.core.rmem_max limits only programs that ask for a size. */
#include <inttypes.h>
#include <string.h>

#include "src/self_check/internal.h"

#define COST                                                                                       \
    "a view larger than the buffer arrives in several rounds: its sender waits for the line's "    \
    "machine to answer between them, a round trip each"
#define CURE "sysctl net.ipv4.tcp_rmem='4096 131072 33554432'"

void crn_self_check_network(crn_self_check *check)
{
    static const char name[] = "receive buffers";
    char text[CRN_SELF_CHECK_TEXT];
    int64_t least, usual, most, rmem_max = 0;
    bool tcp = !check->config;
    crn_self_check_read_number(check, &rmem_max, "/proc/sys/net/core/rmem_max");
    if (!crn_self_check_read(check, text, "/proc/sys/net/ipv4/tcp_rmem") ||
        sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &least, &usual, &most) != 3) {
        crn_self_check_add(check, name, CRN_FINDING_UNKNOWN, NULL, NULL, "no net.ipv4.tcp_rmem");
        return;
    }
    for (int32_t i = 0; check->config && i < check->config->ingest.bind.count; i++)
        tcp |= strncmp(check->config->ingest.bind.item[i], "tcp:", 4) == 0;
    crn_self_check_add(check, name, most >= 4 << 20 || !tcp ? CRN_FINDING_OK : CRN_FINDING_NOTE,
                       COST, CURE, "tcp_rmem up to %" PRId64 " KiB, rmem_max %" PRId64 " KiB%s",
                       most >> 10, rmem_max >> 10, tcp ? "" : "; views come without TCP");
}
