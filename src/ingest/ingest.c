#include "src/ingest/ingest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/ingest/socket/senders.h"
#include "src/ingest/wire_rules.h"

#define BYTES_PER_MIB (INT64_C(1) << 20)
/* Limit of messages that one call reads; a valid message needs 3 parts. */
#define BAD_PER_CALL_MAX   64
#define PARTS_PER_CALL_MAX 1024
/* Events read per call, so that a storm of them cannot block the caller. */
#define EVENTS_PER_CALL_MAX 256
enum peer_gate { GATE_CONNECTED, GATE_DISCONNECTED, GATE_FAILED_HANDSHAKE, PEER_GATES };

struct crn_ingest {
    crn_endpoint *endpoint;
    void *socket; /* owned by the endpoint */
    crn_wire_rules rules;
    size_t parts; /* parts read so far of the current message; beyond CRN_WIRE_PARTS_MAX only
                     counted */
    zmq_msg_t part[CRN_WIRE_PARTS_MAX];
    zmq_msg_t surplus;  /* an excess part, read to be dropped */
    crn_slots *slots;   /* NULL: none */
    bool is_slots_turn; /* to be read from next */
    crn_ingest_quiet quiet;
    struct {
        crn_wire_part part[CRN_WIRE_PARTS_MAX];
        size_t parts;   /* may be more */
        bool is_packet; /* it came by the connection of a ring, else by the socket */
        uint32_t ring;  /* whose; CRN_SLOTS_ANY_RING */
        crn_ingest_path path;
        crn_view *in_slot;           /* the view, if it lies in a slot and the message is valid */
        bool intensity, got_no_slot; /* if it is valid */
    } message;                       /* the last one */
    bool guarded;                    /* what is read is reported to the limits of peers with keys */
    uint64_t read_cost;              /* of the message's parts so far */
    crn_ingest_refused *refused;     /* NULL: no callback */
    void *refused_context;
    crn_ingest_stats stats;
    crn_log_gate fault_gate[CRN_WIRE_FAULTS];
    crn_log_gate peer_gate[PEER_GATES];
};

const char *const crn_ingest_path_names[CRN_INGEST_PATHS] = {[CRN_INGEST_TCP] = "tcp",
                                                             [CRN_INGEST_IPC] = "ipc",
                                                             [CRN_INGEST_MEMFD] = "memfd",
                                                             [CRN_INGEST_VMM] = "vmm"};

/* Sets this socket's options beyond those of every endpoint. */
static int set_options(crn_ingest *ingest, const crn_config *config)
{
    crn_senders_limits limits = {
        .connections = config->limits.peers,
        .peer_bytes = (uint64_t)(config->limits.peer_mib * BYTES_PER_MIB),
        .view_bytes = ingest->rules.max_bytes,
        .waiting = config->ingest.high_water_mark,
        /* Which parts of a peer with keys are complete messages is not seen from outside. */
        .unread_count = config->guard != NULL,
        .guard = config->guard,
    };
    ingest->guarded = config->guard != NULL;
    return crn_senders_limit(ingest->endpoint, &limits);
}

int crn_ingest_open(void *zmq, const crn_config *config, crn_ingest **ret_ingest, crn_error *error)
{
    crn_ingest *ingest = calloc(1, sizeof *ingest);
    if (!ingest)
        return crn_error_set(error, -ENOMEM, "ingest: out of memory");
    for (int i = 0; i < CRN_WIRE_PARTS_MAX; i++)
        zmq_msg_init(&ingest->part[i]);
    zmq_msg_init(&ingest->surplus);
    ingest->rules = crn_ingest_wire_rules(config);

    int r = crn_endpoint_open(zmq, ZMQ_PULL, "ingest.bind", &ingest->endpoint, error);
    if (r < 0)
        goto fail;
    ingest->socket = crn_endpoint_socket(ingest->endpoint);
    r = set_options(ingest, config);
    if (r < 0) {
        crn_error_set(error, r, "ingest: cannot set up the socket: %s", zmq_strerror(-r));
        goto fail;
    }
    for (int32_t i = 0; i < config->ingest.bind.count; i++) {
        r = crn_endpoint_bind(ingest->endpoint, config->ingest.bind.item[i], error);
        if (r < 0)
            goto fail;
    }
    *ret_ingest = ingest;
    return 0;

fail:
    crn_ingest_close(&ingest);
    return r;
}

void crn_ingest_on_refused(crn_ingest *ingest, crn_ingest_refused *refused, void *context)
{
    ingest->refused = refused;
    ingest->refused_context = context;
}

void crn_ingest_use_slots(crn_ingest *ingest, crn_slots *slots)
{
    ingest->slots = slots;
    ingest->rules.slots = slots != NULL;
}

const char *crn_ingest_endpoint(const crn_ingest *ingest, int i)
{
    return crn_endpoint_bound(ingest->endpoint, i);
}

void crn_ingest_close(crn_ingest **ingest)
{
    crn_ingest *closing = *ingest;
    if (!closing)
        return;
    for (int i = 0; i < CRN_WIRE_PARTS_MAX; i++)
        zmq_msg_close(&closing->part[i]);
    zmq_msg_close(&closing->surplus);
    crn_endpoint_close(&closing->endpoint, 0);
    free(closing);
    *ingest = NULL;
}

/* Releases the parts' memory to libzmq. */
static void release_parts(crn_ingest *ingest)
{
    for (int i = 0; i < CRN_WIRE_PARTS_MAX; i++) {
        zmq_msg_close(&ingest->part[i]);
        zmq_msg_init(&ingest->part[i]);
    }
}

/* Tells the limits of peers with keys what was read of this part's sender. */
static void report_read(crn_ingest *ingest, const zmq_msg_t *part)
{
    if (ingest->guarded)
        crn_endpoint_read(ingest->endpoint, zmq_msg_get(part, ZMQ_SRCFD), ingest->read_cost);
    ingest->read_cost = 0;
}

/*
 * Reads the next message to its end, whatever it contains. A message of very many parts exhausts
 * the budget and is continued by the next call. Returns 1, 0 if there is nothing more to read now,
 * or a negative errno.
 */
static int read_message(crn_ingest *ingest, int *budget)
{
    while (*budget > 0) {
        zmq_msg_t *part =
            ingest->parts < CRN_WIRE_PARTS_MAX ? &ingest->part[ingest->parts] : &ingest->surplus;
        if (zmq_msg_recv(part, ingest->socket, ZMQ_DONTWAIT) < 0) {
            if (errno == EINTR)
                continue;
            return errno == EAGAIN ? 0 : -errno;
        }
        ingest->parts++;
        (*budget)--;
        ingest->read_cost += ingest->guarded ? crn_frames_part_cost(zmq_msg_size(part)) : 0;
        if (!zmq_msg_more(part)) {
            report_read(ingest, part);
            return 1;
        }
    }
    return 0;
}

/*
 * By the peer's name, which libzmq attaches to its messages: an IP address ("::1"), or for a Unix
 * socket "localhost:user:group:process", or none. The descriptor may be another peer's by now.
 */
static crn_ingest_path path_of(const zmq_msg_t *part)
{
    const char *peer = zmq_msg_gets(part, "Peer-Address");
    bool numeric = peer && (isxdigit((unsigned char)peer[0]) || peer[0] == ':');
    return numeric ? CRN_INGEST_TCP : CRN_INGEST_IPC;
}

/* Names the sender of a message of ZeroMQ: an address, or a process of this machine. */
static void write_peer(const zmq_msg_t *part, char *text, size_t size)
{
    const char *peer = zmq_msg_gets(part, "Peer-Address");
    const char *ids = peer ? strchr(peer, ':') : NULL;
    const char *client = zmq_msg_gets(part, "User-Id"); /* the name of its key */
    long user, process;
    /* calls.c adds the connection's number to the address of a client with a key. */
    if (client && client[0])
        snprintf(text, size, "%s at %.*s", client, peer ? (int)strcspn(peer, "#") : INT_MAX,
                 peer ? peer : "this machine");
    else if (path_of(part) == CRN_INGEST_TCP)
        snprintf(text, size, "%s", peer);
    else if (ids && sscanf(ids, ":%ld:%*d:%ld", &user, &process) == 2)
        snprintf(text, size, "process %ld of user %ld", process, user);
    else
        snprintf(text, size, "this machine");
}

static void log_refusal(crn_ingest *ingest, crn_wire_fault fault)
{
    if (!crn_log_gate_open(&ingest->fault_gate[fault], crn_now_ns()))
        return;
    size_t size[CRN_WIRE_PARTS_MAX] = {0};
    for (size_t i = 0; i < CRN_WIRE_PARTS_MAX && i < ingest->message.parts; i++)
        size[i] = ingest->message.part[i].size;
    char which[160] = "";
    if (fault != CRN_WIRE_MAGIC && size[0] == CRN_WIRE_HEADER_BYTES) {
        crn_view_header header;
        crn_wire_peek(ingest->message.part[0].bytes, &header);
        snprintf(which, sizeof which,
                 ", lane %" PRIu32 ", sequence %" PRIu64 ", %" PRIu32 " x %" PRIu32 " x %" PRIu32
                 " as H x W x C",
                 header.lane, header.sequence, header.height, header.width, header.channels);
    }
    char sender[160];
    if (ingest->message.is_packet)
        crn_slots_write_producer(ingest->slots, ingest->message.ring, sender, sizeof sender);
    else
        write_peer(&ingest->part[0], sender, sizeof sender);
    crn_log_through(&ingest->fault_gate[fault], CRN_LOG_WARNING,
                    "ingest: message refused (%s): %s; from %s%s, %zu parts of %zu, %zu, %zu bytes",
                    crn_wire_fault_names[fault], crn_wire_fault_hints[fault], sender, which,
                    ingest->message.parts, size[0], size[1], size[2]);
}

/* Gives a slot back that a refused message refers to, so that its producer does not lose it. */
static void return_slot(crn_ingest *ingest, const crn_view_header *header)
{
    const crn_wire_part *second = &ingest->message.part[1];
    crn_slots_reference reference;
    crn_view *view;
    if (crn_wire_is_in_slot(header) && ingest->message.parts == 2 &&
        crn_slots_parse_reference(second->bytes, second->size, &reference) &&
        crn_slots_take(ingest->slots, ingest->message.ring, NULL, &reference, &view) == CRN_WIRE_OK)
        crn_slots_release(ingest->slots, view);
}

/* Counts the message last read as refused and calls the callback. */
static void refuse(crn_ingest *ingest, crn_wire_fault fault)
{
    ingest->stats.faults[fault]++;
    log_refusal(ingest, fault);
    const crn_wire_part *first = &ingest->message.part[0];
    crn_view_header header;
    bool is_header = crn_wire_is_header(first->bytes, first->size);
    if (is_header)
        crn_wire_peek(first->bytes, &header);
    if (is_header && fault < CRN_WIRE_MESSAGE_FAULTS)
        return_slot(ingest, &header);
    if (ingest->refused)
        ingest->refused(ingest->refused_context, is_header ? &header : NULL, fault);
}

/* Makes a packet the message last read: a header, and what stands behind it. */
static void use_packet(crn_ingest *ingest, const crn_slots_packet *packet)
{
    size_t header = packet->size < CRN_WIRE_HEADER_BYTES ? packet->size : CRN_WIRE_HEADER_BYTES;
    ingest->message.is_packet = true;
    ingest->message.ring = packet->ring;
    ingest->message.part[0] = (crn_wire_part){packet->bytes, header};
    ingest->message.part[1] = (crn_wire_part){packet->bytes + header, packet->size - header};
    ingest->message.parts = packet->size > header ? 2 : 1;
}

/* The same of the parts that were read from the socket. */
static void use_parts(crn_ingest *ingest)
{
    ingest->message.is_packet = false;
    ingest->message.ring = CRN_SLOTS_ANY_RING;
    ingest->message.parts = ingest->parts;
    for (size_t i = 0; i < CRN_WIRE_PARTS_MAX && i < ingest->parts; i++)
        ingest->message.part[i] =
            (crn_wire_part){zmq_msg_data(&ingest->part[i]), zmq_msg_size(&ingest->part[i])};
    ingest->parts = 0; /* the next ones are another message's */
}

/* Reads the next packet of a producer, if there is one. */
static bool next_packet(crn_ingest *ingest)
{
    crn_slots_packet packet;
    bool is_quiet = ingest->quiet.slots && !crn_slots_pending(ingest->slots);
    if (is_quiet || !crn_slots_receive(ingest->slots, &packet))
        return false;
    use_packet(ingest, &packet);
    return true;
}

/* Reads the next message, of slots and socket in turn; packets read by one call are one turn, as
 * each look at an empty socket costs libzmq a system call. As read_message. */
static int next_message(crn_ingest *ingest, int *budget)
{
    for (int i = 0; i < 2; i++) {
        bool is_slots_turn = ingest->is_slots_turn;
        if (is_slots_turn && next_packet(ingest)) {
            ingest->is_slots_turn = crn_slots_pending(ingest->slots);
            return 1;
        }
        ingest->is_slots_turn = !is_slots_turn;
        if (is_slots_turn || ingest->quiet.socket)
            continue;
        if (ingest->parts == 0)
            release_parts(ingest);
        int r = read_message(ingest, budget);
        if (r > 0)
            use_parts(ingest);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Of a ring's packet by where the ring is; of ZeroMQ's message as in host memory. */
static crn_ingest_path path_of_slots(const crn_ingest *ingest)
{
    bool is_on_gpu = ingest->message.is_packet &&
                     crn_slots_kind_of(ingest->slots, ingest->message.ring) == CRN_SLOTS_VMM;
    return is_on_gpu ? CRN_INGEST_VMM : CRN_INGEST_MEMFD;
}

/* Checks the message last read, and takes the slot that it refers to. */
static crn_wire_fault check_message(crn_ingest *ingest, crn_view_header *ret_header)
{
    crn_wire_fault fault =
        crn_wire_check(ingest->message.part, ingest->message.parts, &ingest->rules, ret_header);
    if (fault)
        return fault;
    crn_slots_reference reference;
    const crn_wire_part *second = &ingest->message.part[1];
    bool in_slot = crn_wire_is_in_slot(ret_header);
    ingest->message.got_no_slot = crn_wire_got_no_slot(ret_header);
    ingest->message.intensity = crn_wire_intensity_bytes(ret_header) > 0;
    ingest->message.path =
        in_slot || ingest->message.got_no_slot ? path_of_slots(ingest) : path_of(&ingest->part[0]);
    if (in_slot && crn_slots_parse_reference(second->bytes, second->size, &reference))
        fault = crn_slots_take(ingest->slots, ingest->message.ring, ret_header, &reference,
                               &ingest->message.in_slot);
    if (ingest->message.in_slot && ingest->message.in_slot->gpu.maps)
        ingest->message.path = CRN_INGEST_VMM;
    /* From here on a view as any other. */
    ret_header->flags &= CRN_WIRE_FLAG_INTENSITY | CRN_WIRE_FLAG_POSE;
    return fault;
}

int crn_ingest_receive(crn_ingest *ingest, crn_view_header *ret_header)
{
    int budget = PARTS_PER_CALL_MAX;
    for (int bad = 0; bad < BAD_PER_CALL_MAX; bad++) {
        int r = next_message(ingest, &budget);
        if (r <= 0)
            return r;
        ingest->stats.messages++;
        ingest->message.in_slot = NULL;
        crn_view_header header;
        crn_wire_fault fault = check_message(ingest, &header);
        if (!fault) {
            *ret_header = header;
            return 1;
        }
        refuse(ingest, fault);
        if (!ingest->message.is_packet)
            release_parts(ingest);
    }
    return 0;
}

crn_view *crn_ingest_view_in_slot(const crn_ingest *ingest)
{
    return ingest->message.in_slot;
}

bool crn_ingest_got_no_slot(const crn_ingest *ingest)
{
    return ingest->message.got_no_slot;
}

crn_ingest_path crn_ingest_get_path(const crn_ingest *ingest)
{
    return ingest->message.path;
}

bool crn_ingest_pending(crn_ingest *ingest)
{
    bool of_socket = !ingest->quiet.socket && crn_endpoint_process(ingest->endpoint);
    return of_socket || crn_slots_pending(ingest->slots);
}

crn_values_seen crn_ingest_copy(crn_ingest *ingest, crn_values_copy_fn *copy, void *maps,
                                void *intensity)
{
    crn_values_seen seen =
        copy(maps, zmq_msg_data(&ingest->part[1]), zmq_msg_size(&ingest->part[1]));
    if (ingest->message.intensity && intensity)
        memcpy(intensity, zmq_msg_data(&ingest->part[2]), zmq_msg_size(&ingest->part[2]));
    release_parts(ingest);
    return seen;
}

int crn_ingest_descriptors(const crn_ingest *ingest, int descriptors[2])
{
    crn_endpoint_descriptors(ingest->endpoint, descriptors);
    return 2;
}

void crn_ingest_set_quiet(crn_ingest *ingest, crn_ingest_quiet quiet)
{
    ingest->quiet = quiet;
}

bool crn_ingest_service(crn_ingest *ingest)
{
    crn_ingest_stats *stats = &ingest->stats;
    static const struct {
        crn_log_level level;
        const char *text;
    } line[PEER_GATES] = {
        [GATE_CONNECTED] = {CRN_LOG_INFO, "a sender connected"},
        [GATE_DISCONNECTED] = {CRN_LOG_INFO, "a sender disconnected"},
        [GATE_FAILED_HANDSHAKE] =
            {CRN_LOG_WARNING,
             "a connection failed the ZeroMQ handshake: another program, or one with keys where "
             "none are required, or none where they are (access.keys)"},
    };
    crn_endpoint_event_kind kind;
    int events = 0;
    while (!ingest->quiet.events && events < EVENTS_PER_CALL_MAX &&
           crn_endpoint_event(ingest->endpoint, &kind)) {
        events++;
        enum peer_gate gate = kind == CRN_ENDPOINT_CONNECTED      ? GATE_CONNECTED
                              : kind == CRN_ENDPOINT_DISCONNECTED ? GATE_DISCONNECTED
                                                                  : GATE_FAILED_HANDSHAKE;
        stats->connected += gate == GATE_CONNECTED;
        stats->disconnected += gate == GATE_DISCONNECTED;
        stats->failed_handshakes += gate == GATE_FAILED_HANDSHAKE;
        if (kind == CRN_ENDPOINT_REFUSED_KEY)
            continue;
        crn_log_gated(
            &ingest->peer_gate[gate], crn_now_ns(), line[gate].level,
            "ingest: %s; %" PRIu64 " now connected", line[gate].text,
            stats->connected > stats->disconnected ? stats->connected - stats->disconnected : 0);
    }
    crn_endpoint_report(ingest->endpoint);
    crn_endpoint_get_cut(ingest->endpoint, &stats->peers);
    return events == EVENTS_PER_CALL_MAX;
}

const crn_ingest_stats *crn_ingest_get_stats(const crn_ingest *ingest)
{
    return &ingest->stats;
}
