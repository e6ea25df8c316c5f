/* Addresses that other machines can reach. */
#include <errno.h>
#include <string.h>

#include "src/ingest/access/access.h"

bool crn_access_is_exposed(const char *address)
{
    static const char *const own[] = {"[::1]", "lo", "localhost", "[::ffff:127.0.0.1]", NULL};
    if (strncmp(address, "tcp://", 6) != 0)
        return false;
    const char *host = address + 6;
    /* libzmq binds what follows a `;`, here too, where it means nothing. */
    if (strchr(host, ';'))
        return true;
    const char *colon = strrchr(host, ':');
    size_t length = colon ? (size_t)(colon - host) : strlen(host);
    for (const char *const *o = own; *o; o++)
        if (strlen(*o) == length && strncmp(host, *o, length) == 0)
            return false;
    /* An interface may be named 127.x only by who means loopback. */
    return strncmp(host, "127.", 4) != 0;
}

static bool check(const crn_config *config, const char *key, const char *address, FILE *faults)
{
    if (!crn_access_is_exposed(address))
        return true;
    if (faults)
        fprintf(faults,
                "%s: %s: other machines can connect to %s, and anyone there could send views or "
                "read verdicts: set access.keys to a folder of keys (cernita-keys makes it), or "
                "write `access: {plain_tcp: true}` if only trusted machines reach this network\n",
                config->file ? config->file : "?", key, address);
    return false;
}

int crn_access_check_exposed(const crn_config *config, FILE *faults)
{
    bool good = true;
    if (config->access.keys[0] || config->access.plain_tcp)
        return 0;
    for (int32_t i = 0; i < config->ingest.bind.count; i++)
        good &= check(config, "ingest.bind", config->ingest.bind.item[i], faults);
    good &= check(config, "publish.grader.bind", config->publish.grader.bind, faults);
    good &= check(config, "publish.viewers.bind", config->publish.viewers.bind, faults);
    return good ? 0 : -EINVAL;
}
