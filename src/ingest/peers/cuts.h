/* Why connections are cut or refused, in words. */
#ifndef CRN_SRC_INGEST_PEERS_CUTS_H
#define CRN_SRC_INGEST_PEERS_CUTS_H

/* Why a connection was cut, or rejected. */
typedef enum crn_peers_cut {
    CRN_CUT_PART,     /* a part is too large */
    CRN_CUT_PARTS,    /* a message has too many parts; at grader's and viewers' ports any message */
    CRN_CUT_BYTES,    /* a message is too large */
    CRN_CUT_TOTAL,    /* too many subscriptions, by one viewer or by all */
    CRN_CUT_GREETING, /* not ZMTP 3 */
    CRN_CUT_COMMAND,  /* a command is too large */
    CRN_CUT_SHARE,    /* incomplete messages of all connections are too large */
    CRN_CUT_CONNECTIONS, /* too many connections */
    CRN_CUT_BUSY,        /* the socket's thread cannot keep up with connects and disconnects */
    CRN_CUT_DESCRIPTORS, /* the process has no free descriptor */
    CRN_CUT_SILENT,      /* it answered no heartbeat; libzmq closed the connection */
    CRN_CUT_UNREAD,      /* it does not read what is sent to it */
    CRN_CUT_REVOKED,     /* its key lost the permission */
    CRN_CUTS,

    /* Strangers where keys are required: counted by crn_access_count, not among the cut ones. */
    CRN_REFUSED_PLAIN = CRN_CUTS, /* its greeting names another mechanism than CURVE */
    CRN_REFUSED_HANDSHAKE,        /* it left, or was closed, without a CURVE handshake */
    CRN_REFUSED_ATTEMPTS,         /* too many such connections before it */
    CRN_CUTS_AND_REFUSALS,
} crn_peers_cut;

extern const char *const crn_peers_cut_names[CRN_CUTS_AND_REFUSALS];

/* Cause and cure, a clause or two each. */
extern const char *const crn_peers_cut_hints[CRN_CUTS_AND_REFUSALS];

#define CRN_CUT_HINT_BYTES 256

/* The hint for the socket that `key` names: keys of a line's file, or for an option ("--from") the
 * options of the same names ("--peer-mib"). */
void crn_peers_cut_hint(crn_peers_cut reason, const char *key, char ret_hint[CRN_CUT_HINT_BYTES]);

/* Bytes of a peer's description. */
#define CRN_PEER_NAME_BYTES 96

/* Describes the peer at the other end for messages: address and port, or process and user. */
void crn_peer_describe(int descriptor, char ret_name[CRN_PEER_NAME_BYTES]);

#endif
