#include "src/ingest/peers/cuts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

const char *const crn_peers_cut_names[CRN_CUTS_AND_REFUSALS] = {
    [CRN_CUT_PART] = "cut_part_size",      [CRN_CUT_PARTS] = "cut_parts",
    [CRN_CUT_BYTES] = "cut_bytes",         [CRN_CUT_TOTAL] = "cut_subscriptions",
    [CRN_CUT_GREETING] = "cut_greeting",   [CRN_CUT_COMMAND] = "cut_command_size",
    [CRN_CUT_SHARE] = "cut_unfinished",    [CRN_CUT_CONNECTIONS] = "cut_connections",
    [CRN_CUT_BUSY] = "cut_busy",           [CRN_CUT_DESCRIPTORS] = "cut_descriptors",
    [CRN_CUT_SILENT] = "cut_silent",       [CRN_CUT_UNREAD] = "cut_unread",
    [CRN_REFUSED_PLAIN] = "plain",         [CRN_CUT_REVOKED] = "cut_revoked",
    [CRN_REFUSED_HANDSHAKE] = "malformed", [CRN_REFUSED_ATTEMPTS] = "attempts",
};

const char *const crn_peers_cut_hints[CRN_CUTS_AND_REFUSALS] = {
    [CRN_CUT_PART] =
        "a part of its message is larger than twice limits.view_mib: raise the limit, or "
        "send smaller views",
    [CRN_CUT_PARTS] = "it sent a message of more parts than any view has, or a message to a port "
                      "that takes none: find the program and stop it",
    [CRN_CUT_BYTES] = "its message exceeds limits.peer_mib: a view is that large, or its parts "
                      "never end; stop the program, or raise the limit",
    [CRN_CUT_TOTAL] = "it changed its subscriptions too often or has too many: subscribe to the "
                      "lanes that are needed, or to `fruit/`",
    [CRN_CUT_GREETING] = "it does not speak ZMTP 3: use libzmq 4 or newer",
    [CRN_CUT_COMMAND] = "it sent a handshake or heartbeat of more than 1,024 bytes: find the "
                        "program and stop it, or take metadata (ZMQ_METADATA) off its socket",
    [CRN_CUT_SHARE] = "unfinished messages of all peers exceeded 4 x limits.peer_mib, and its "
                      "was the largest for longest: stop the program, or raise the limit",
    [CRN_CUT_CONNECTIONS] = "more connections than limits.peers: find the program that opens "
                            "them (ss -tnp, ss -xp), or raise the limit",
    [CRN_CUT_BUSY] = "connections with many subscriptions come and go faster than libzmq can take "
                     "them in: find the program that opens them and stop it",
    [CRN_CUT_DESCRIPTORS] = "the process has no descriptor left: raise its limit (LimitNOFILE=, "
                            "ulimit -n), or lower limits.peers",
    [CRN_CUT_SILENT] = "it answered no heartbeat for 5 s: its program is stopped or does not read, "
                       "or its machine or the network is down",
    [CRN_CUT_UNREAD] = "it read nothing for 5 s, or was furthest behind while half of "
                       "limits.viewers_mib waited for viewers: see why its program does not read, "
                       "subscribe to fewer lanes, or raise the limit",
    [CRN_CUT_REVOKED] = "a reload took its client's key away, or the permission for this socket: "
                        "stop the program, or put the key back and reload",
    [CRN_REFUSED_PLAIN] =
        "it connects without keys and access.keys requires them: give it a client's "
        "key and server.pub (cernita-keys makes them), or stop it",
    [CRN_REFUSED_HANDSHAKE] =
        "it did not complete the CURVE handshake: compare its server key with "
        "server.pub, or stop it",
    [CRN_REFUSED_ATTEMPTS] =
        "too many connections before it failed the CURVE handshake: find the "
        "program that opens them and stop it, or close the port to its address",
};

void crn_peers_cut_hint(crn_peers_cut reason, const char *key, char hint[CRN_CUT_HINT_BYTES])
{
    static const char section[] = "limits.";
    const char *at = crn_peers_cut_hints[reason];
    size_t used = 0;
    bool option = strncmp(key, "--", 2) == 0, in_name = false;
    while (*at && used < CRN_CUT_HINT_BYTES - 3) {
        if (option && strncmp(at, section, sizeof section - 1) == 0) {
            at += sizeof section - 1;
            hint[used++] = '-';
            hint[used++] = '-';
            in_name = true;
            continue;
        }
        in_name = in_name && (isalpha((unsigned char)*at) || *at == '_');
        hint[used++] = in_name && *at == '_' ? '-' : *at;
        at++;
    }
    hint[used] = '\0';
}

void crn_peer_describe(int descriptor, char name[CRN_PEER_NAME_BYTES])
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct ucred process;
    char text[INET6_ADDRSTRLEN] = "?";
    snprintf(name, CRN_PEER_NAME_BYTES, "a peer");
    if (getpeername(descriptor, (struct sockaddr *)&address, &size) < 0)
        return;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
    if (address.ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        snprintf(name, CRN_PEER_NAME_BYTES, "%s:%u", text, (unsigned)ntohs(v4->sin_port));
    } else if (address.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        snprintf(name, CRN_PEER_NAME_BYTES, "[%s]:%u", text, (unsigned)ntohs(v6->sin6_port));
    } else if (address.ss_family == AF_UNIX) {
        size = sizeof process;
        if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0)
            snprintf(name, CRN_PEER_NAME_BYTES, "process %ld of user %ld", (long)process.pid,
                     (long)process.uid);
    }
}
