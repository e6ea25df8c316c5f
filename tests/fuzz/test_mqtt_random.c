/*
 * A hostile broker: random and mutated packets to the sorter's MQTT output. None does harm, none
 * holds up whoever sends decisions, and an honest broker has them afterwards. CRN_CASES is the
 * number of packets, CRN_SEED the seed.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/sorter/mqtt/mqtt.h"
#include "tools/sorter/plc/internal.h"

#define PACKET_BYTES 128
#define PROBE_ID     0x4321
#define PATIENCE_MS  5
#define TOPIC        "plant/sorter"
#define RING_BYTES   4096

/* Packets of MQTT 3.1.1, as a broker sends them. */
static const unsigned char connack[] = {0x20, 2, 0, 0};
static const unsigned char probe[] = {0x32, 5, 0, 1, 'a', PROBE_ID >> 8, PROBE_ID & 0xff};
static const unsigned char probe_answer[] = {0x40, 2, PROBE_ID >> 8, PROBE_ID & 0xff};

static int listener, port;
static crn_mqtt *mqtt;
static crn_decider_stats stats;
static const crn_texts outlets = {.count = 2, .item = {"first", "waste"}};
static crn_plc plc;                         /* only what takes messages */
static atomic_uint messages, confirmations; /* the latter are of the former */

/* As the sorter has it: positions of the belt, and confirmations. */
static void take_message(void *context, bool is_confirmation, const char *payload, size_t length)
{
    (void)context;
    atomic_fetch_add(&messages, 1);
    atomic_fetch_add(&confirmations, is_confirmation);
    crn_plc_take_message(&plc, is_confirmation, payload, length, crn_now_ns(), crn_realtime_ns());
}

static void forget_messages(void)
{
    while (crn_byte_ring_poll(&plc.messages))
        crn_byte_ring_pop(&plc.messages);
}

/* Where the thread is stopped while it connects, libmosquitto's address of the broker is lost: once
 * in the life of a sorter. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libmosquitto";
}

static int set_up(void **state)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof any;
    (void)state;
    plc.outlets = outlets;
    assert_int_equal(crn_byte_ring_init(&plc.messages, RING_BYTES), 0);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&any, &size), 0);
    port = ntohs(any.sin_port);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(listener);
    crn_byte_ring_done(&plc.messages);
    return 0;
}

/* A client that connected again before it was closed is no longer there. */
static void turn_away_others(void)
{
    int client;
    while ((client = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(client);
}

static void open_output(void)
{
    char broker[32];
    crn_error error = {""};
    snprintf(broker, sizeof broker, "127.0.0.1:%d", port);
    const crn_mqtt_plan plan = {.broker = broker,
                                .topic = TOPIC,
                                .user = "",
                                .password_file = "",
                                .ca_file = "",
                                .run = "77",
                                .position_topic = "position",
                                .confirm_topic = "confirm/+",
                                .use = take_message};
    turn_away_others();
    assert_int_equal(crn_mqtt_open(&plan, &mqtt, &error), 0);
}

/* --- the broker ------------------------------------------------------------------------------- */

typedef struct broker {
    int client;
    unsigned char bytes[1 << 16]; /* that came and were not looked at */
    size_t used;
} broker;

/* Waits for more; false: the client is gone. */
static bool read_more(broker *self)
{
    if (self->used > sizeof self->bytes / 2)
        self->used = 0;
    ssize_t r = recv(self->client, self->bytes + self->used, sizeof self->bytes - self->used, 0);
    if (r > 0)
        self->used += (size_t)r;
    return r > 0;
}

/* Lets a client in, and reads its first packet. */
static void let_in(broker *self, const void *answer, size_t size)
{
    struct pollfd wanted = {.fd = listener, .events = POLLIN};
    self->used = 0;
    do {
        assert_true(poll(&wanted, 1, -1) >= 0);
        self->client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } while (self->client < 0 || !read_more(self));
    self->used = 0;
    (void)send(self->client, answer, size, MSG_NOSIGNAL);
}

/* Whether all that was sent has been read. If nothing comes, the client waits for the rest of a
 * packet that says it is longer than it was: that is sent once, and then it is left. */
static bool is_read(broker *self)
{
    static const unsigned char rest[1 << 12];
    bool completed = false;
    self->used = 0;
    if (send(self->client, probe, sizeof probe, MSG_NOSIGNAL) < 0)
        return false;
    while (!memmem(self->bytes, self->used, probe_answer, sizeof probe_answer)) {
        struct pollfd answer = {.fd = self->client, .events = POLLIN};
        if (poll(&answer, 1, PATIENCE_MS) > 0) {
            if (!read_more(self))
                return false;
        } else if (completed || send(self->client, rest, sizeof rest, MSG_NOSIGNAL) < 0) {
            return false;
        } else {
            completed = true;
        }
    }
    return true;
}

/* PUBLISH, with quality of service 0. Returns its size. */
static size_t write_message(unsigned char *bytes, const char *topic, const char *text,
                            size_t length)
{
    bytes[0] = 0x30;
    bytes[1] = (unsigned char)(2 + strlen(topic) + length);
    bytes[2] = 0;
    bytes[3] = (unsigned char)strlen(topic);
    memcpy(bytes + 4, topic, strlen(topic));
    memcpy(bytes + 4 + strlen(topic), text, length);
    return 2 + (size_t)bytes[1];
}

/* One with a text that is nearly a position or a confirmation. */
static size_t draw_message(crn_random *random, unsigned char *bytes)
{
    static const char *const words[] = {"0",
                                        "17",
                                        "-3",
                                        " ",
                                        "first",
                                        "waste",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "1795797209767553830",
                                        "%s",
                                        "\n"};
    const char *topic = crn_random_once_in(random, 2) ? "confirm/3" : "position";
    char text[PACKET_BYTES];
    int length = 0;
    for (uint32_t i = crn_random_below(random, 4); i > 0; i--)
        length += snprintf(text + length, sizeof text - (size_t)length, "%.20s%s",
                           words[crn_random_below(random, sizeof words / sizeof *words)],
                           crn_random_once_in(random, 4) ? "" : " ");
    if (length > 0 && crn_random_once_in(random, 2))
        length--; /* without the last space */
    return write_message(bytes, topic, text, (size_t)length);
}

static size_t draw_packet(crn_random *random, unsigned char *bytes)
{
    static const unsigned char good[][12] = {
        {4, 0x20, 2, 0, 0},                         /* CONNACK, again */
        {4, 0x40, 2, 0, 1},                         /* PUBACK of what nobody sent */
        {4, 0x50, 2, 0, 1},                         /* PUBREC */
        {4, 0x62, 2, 0, 1},                         /* PUBREL */
        {4, 0x70, 2, 0, 1},                         /* PUBCOMP */
        {5, 0x90, 3, 0, 1, 0},                      /* SUBACK */
        {4, 0xb0, 2, 0, 1},                         /* UNSUBACK */
        {2, 0xd0, 0},                               /* PINGRESP */
        {7, 0x30, 5, 0, 1, 'a', 'x', 'y'},          /* PUBLISH */
        {9, 0x34, 7, 0, 1, 'a', 0, 9, 'x', 'y'},    /* PUBLISH, quality 2 */
        {2, 0xe0, 0},                               /* DISCONNECT */
        {8, 0x31, 0x86, 0x00, 0, 2, 'a', 'b', 'x'}, /* a length in two bytes */
    };
    if (crn_random_once_in(random, 3)) {
        size_t size = draw_message(random, bytes);
        return crn_random_once_in(random, 8) ? crn_random_spoil(random, bytes, size) : size;
    }
    if (crn_random_once_in(random, 4)) {
        size_t size = 1 + crn_random_below(random, PACKET_BYTES - 1);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)crn_random_next(random);
        if (crn_random_once_in(random, 2) && size > 1)
            bytes[1] = (unsigned char)(size - 2); /* its length is right */
        return size;
    }
    const unsigned char *one = good[crn_random_below(random, sizeof good / sizeof *good)];
    memcpy(bytes, one + 1, one[0]);
    return crn_random_once_in(random, 2) ? crn_random_spoil(random, bytes, one[0]) : one[0];
}

static void send_something(crn_random *random, int64_t now_ns)
{
    static const char decision[] = "{\"lane\":3}";
    if (crn_random_once_in(random, 4))
        crn_mqtt_send(mqtt, decision, sizeof decision - 1);
    crn_mqtt_look(mqtt, crn_random_once_in(random, 2) ? CRN_LINE_HEARD : CRN_LINE_SILENT, &stats,
                  &outlets, now_ns);
}

/* Sends packets until the client leaves, at most so many. Returns how many it has read. */
static uint32_t be_hostile(crn_random *random, uint32_t most)
{
    broker self;
    unsigned char first[PACKET_BYTES + CRN_SPOILT_MORE], bytes[PACKET_BYTES + CRN_SPOILT_MORE];
    memcpy(first, connack, sizeof connack);
    size_t size = crn_random_once_in(random, 20) ? draw_packet(random, first) : sizeof connack;
    open_output();
    let_in(&self, first, size);
    uint32_t read = 0;
    bool stays = true;
    while (stays && read < most) {
        size = draw_packet(random, bytes);
        stays = send(self.client, bytes, size, MSG_NOSIGNAL) > 0;
        send_something(random, read);
        stays = stays && is_read(&self);
        read++;
    }
    shutdown(self.client, SHUT_RDWR);
    close(self.client);
    crn_mqtt_close(&mqtt);
    forget_messages();
    return read;
}

static bool is_heard(broker *self, const char *wanted)
{
    while (!memmem(self->bytes, self->used, wanted, strlen(wanted)))
        if (!read_more(self))
            return false;
    return true;
}

static void no_packet_does_harm(void **state)
{
    (void)state;
    if (!crn_mqtt_is_built())
        skip();
    crn_random random = {crn_random_seed()};
    crn_log_set_level(CRN_LOG_ERROR);
    uint32_t cases = crn_random_cases(500);
    for (uint32_t i = 0; i < cases;)
        i += be_hostile(&random, cases - i);
    assert_true(atomic_load(&messages) > 0);
    broker honest;
    open_output();
    let_in(&honest, connack, sizeof connack);
    while (!crn_mqtt_get_stats(mqtt).connected)
        poll(NULL, 0, 1);
    crn_mqtt_look(mqtt, CRN_LINE_HEARD, &stats, &outlets, 0);
    assert_true(is_heard(&honest, "{\"state\":\"running\",\"run\":\"77\""));
    crn_mqtt_close(&mqtt);
    assert_true(is_heard(&honest, "\"stopped\""));
    close(honest.client);
}

/* Messages of other topics are not asked for; a zero byte ends no text. */
static void messages_are_told_apart_by_their_topics(void **state)
{
    (void)state;
    static const struct {
        const char *topic, *text;
        size_t length;
        unsigned messages, confirmations;
        size_t unreadable;
    } sent[] = {
        {"position", "17 1", 4, 1, 0, 0},   {"confirm/3", "3 waste", 7, 2, 1, 0},
        {"confirm", "3 waste", 7, 2, 1, 0}, {"positions", "17 1", 4, 2, 1, 0},
        {"position", "17 2\0", 5, 3, 1, 1}, {"confirm/4", "3 waste\0003", 9, 4, 2, 2},
    };
    broker self;
    if (!crn_mqtt_is_built())
        skip();
    open_output();
    let_in(&self, connack, sizeof connack);
    unsigned before = atomic_load(&messages), confirmed = atomic_load(&confirmations);
    uint64_t unreadable = atomic_load(&plc.unreadable);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        unsigned char bytes[PACKET_BYTES];
        size_t size = write_message(bytes, sent[i].topic, sent[i].text, sent[i].length);
        assert_int_equal(send(self.client, bytes, size, MSG_NOSIGNAL), size);
        self.used = 0;
        assert_int_equal(send(self.client, probe, sizeof probe, MSG_NOSIGNAL), sizeof probe);
        while (!memmem(self.bytes, self.used, probe_answer, sizeof probe_answer))
            assert_true(read_more(&self));
        assert_int_equal(atomic_load(&messages) - before, sent[i].messages);
        assert_int_equal(atomic_load(&confirmations) - confirmed, sent[i].confirmations);
        assert_int_equal(atomic_load(&plc.unreadable) - unreadable, sent[i].unreadable);
    }
    close(self.client);
    crn_mqtt_close(&mqtt);
    forget_messages();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_are_told_apart_by_their_topics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_packet_does_harm, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
