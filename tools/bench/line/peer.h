/*
 * The processes that the line benchmark measures: cernitad, and two that show the least that any
 * consumer needs: of messages, and of slots.
 */
#ifndef CRN_TOOLS_BENCH_LINE_PEER_H
#define CRN_TOOLS_BENCH_LINE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stages/config/config.h"

/* Peers at the same time, at most. */
#define CRN_PEERS_MAX 8

typedef enum crn_peer_kind {
    CRN_PEER_DAEMON,
    CRN_PEER_RECEIVER, /* only receives each view and copies it, by ipc */
    CRN_PEER_FLOOR     /* only runs the chain on each view, in slots */
} crn_peer_kind;

typedef struct crn_peer {
    pid_t pid;
    char folder[64]; /* of its sockets and configuration */
    char in[112], out[112], viewers[112];
    char slots[112];    /* path at which it gives out slots; "": views are sent to `in` */
    bool headers_go_in; /* of views in slots: to `in`, else by the slots' connection */
    bool slots_on_gpu;  /* they are in the memory of a GPU */
    bool by_iceoryx;    /* views are published there */
} crn_peer;

/* How views reach the daemon. */
typedef enum crn_peer_path {
    CRN_PEER_TCP,
    CRN_PEER_IPC,
    CRN_PEER_SLOTS,
    CRN_PEER_SLOTS_ZMQ, /* with the header through ZeroMQ */
    CRN_PEER_ICEORYX,   /* only to CRN_PEER_FLOOR */
    CRN_PEER_VMM,       /* in slots on a GPU, only to CRN_PEER_DAEMON */
    CRN_PEER_PATHS
} crn_peer_path;

extern const char *const crn_peer_path_names[CRN_PEER_PATHS]; /* "tcp", "ipc", "slots", "slots+zmq",
                                                          "iceoryx", "vmm" */

/*
 * On SIGINT, SIGTERM or SIGHUP the peers that run are stopped as by crn_peer_stop before the signal
 * ends this process. To be called before other threads exist; signals that are ignored stay so.
 */
void crn_peer_stop_on_signal(void);

/* Starts it, daemon and floor with these settings but sockets of their own. 0 or negative errno. */
int crn_peer_start(crn_peer *peer, crn_peer_kind kind, const crn_config *config,
                   crn_peer_path path);

/* Starts another of these programs, which has the peer's folder and ends with it. Its fields are
 * the peer's but for `pid`; whoever has other sockets sets them. 0 or negative errno. */
int crn_peer_start_beside(const crn_peer *peer, const char *program, const char *const arguments[],
                          crn_peer *ret_beside);
void crn_peer_stop_beside(crn_peer *beside);

/* A port of this machine that nobody has now. 0 or negative errno. */
int crn_peer_find_port(uint16_t *ret_port);

/* True if it ended by itself, such as after a failed start. */
bool crn_peer_has_ended(const crn_peer *peer);

/* Sends SIGTERM, waits, removes its folder. */
void crn_peer_stop(crn_peer *peer);

/* What the receiver does, and the least that any consumer does: receives one view and copies its
 * maps, at most so many bytes. 1: it was its fruit's last one; 0: another one; -1: interrupted. */
#define CRN_BENCH_VIEW_BYTES ((size_t)16 << 20)
int crn_bench_copy_view(void *in, unsigned char *buffer, uint64_t *ret_fruit);

/* CPU time of all its threads so far, and of its first one, cernitad's line. */
int64_t crn_peer_cpu_ns(const crn_peer *peer);
int64_t crn_peer_line_ns(const crn_peer *peer);

/* The same by threads' names without their numbers ("worker"); the first one's is "line". */
typedef struct crn_peer_threads {
    uint32_t count;
    struct {
        char name[16];
        int64_t ns;
    } of[24]; /* what has no room is in none of them */
} crn_peer_threads;
void crn_peer_list_threads(const crn_peer *peer, crn_peer_threads *ret_threads);

/* Resident memory now. */
int64_t crn_peer_resident_bytes(const crn_peer *peer);

#endif
