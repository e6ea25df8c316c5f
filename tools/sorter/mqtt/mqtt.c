#include "tools/sorter/mqtt/mqtt.h"

#include <errno.h>
#include <inttypes.h>
#include <mosquitto.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/buffer/text.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

#define KEEPALIVE_S     5
#define RETRY_MAX_S     10
#define TOTALS_EVERY_NS CRN_NS_PER_S
#define STOP_WITHIN_NS  CRN_NS_PER_S
#define WAITING_MAX     1000 /* messages that libmosquitto has not written */
#define TOPIC_BYTES     (CRN_TEXT_BYTES + 16)
#define PAYLOAD_BYTES   1024
#define PASSWORD_BYTES  256

struct crn_mqtt {
    struct mosquitto *mosquitto;
    char decision_topic[TOPIC_BYTES], state_topic[TOPIC_BYTES], totals_topic[TOPIC_BYTES];
    char position_topic[CRN_TEXT_BYTES], confirm_topic[CRN_TEXT_BYTES]; /* empty: none */
    crn_mqtt_use *use;
    void *context;
    char broker[CRN_TEXT_BYTES], run[32];
    _Atomic uint64_t connected, connects, written; /* by libmosquitto's thread */
    uint64_t sent, dropped;
    uint64_t forgotten; /* of `sent`, what an earlier connection did not write */
    uint64_t told_connects;
    crn_line_state told_state;
    int64_t totals_ns;
    crn_log_gate drops, faults;
    sem_t left; /* posted with each disconnect */
};

bool crn_mqtt_is_built(void)
{
    return true;
}

/* --- callbacks, of libmosquitto's thread -------------------------------------------------------
 */

static void note_connect(struct mosquitto *mosquitto, void *context, int code)
{
    crn_mqtt *mqtt = context;
    (void)mosquitto;
    if (code) {
        crn_log(CRN_LOG_ERROR, "outputs.mqtt: %s refuses this program: %s", mqtt->broker,
                mosquitto_connack_string(code));
        return;
    }
    crn_log(CRN_LOG_INFO, "outputs.mqtt: connected to %s", mqtt->broker);
    if (mqtt->position_topic[0])
        mosquitto_subscribe(mosquitto, NULL, mqtt->position_topic, 0);
    if (mqtt->confirm_topic[0])
        mosquitto_subscribe(mosquitto, NULL, mqtt->confirm_topic, 0);
    atomic_store(&mqtt->connected, 1);
    atomic_fetch_add(&mqtt->connects, 1);
}

static void note_disconnect(struct mosquitto *mosquitto, void *context, int code)
{
    crn_mqtt *mqtt = context;
    (void)mosquitto;
    if (atomic_exchange(&mqtt->connected, 0) && code)
        crn_log(CRN_LOG_ERROR, "outputs.mqtt: the connection to %s is lost: %s", mqtt->broker,
                mosquitto_strerror(code));
    sem_post(&mqtt->left);
}

/* `subscribed` may have wildcards; empty: nothing is subscribed to. */
static bool is_of(const char *topic, const char *subscribed)
{
    bool matches = false;
    return subscribed[0] &&
           mosquitto_topic_matches_sub(subscribed, topic, &matches) == MOSQ_ERR_SUCCESS && matches;
}

/* A retained message tells of the past; one of another topic was not asked for. */
static void take_message(struct mosquitto *mosquitto, void *context,
                         const struct mosquitto_message *message)
{
    crn_mqtt *mqtt = context;
    (void)mosquitto;
    bool is_confirmation = is_of(message->topic, mqtt->confirm_topic);
    if (!message->retain && (is_confirmation || is_of(message->topic, mqtt->position_topic)))
        mqtt->use(mqtt->context, is_confirmation, message->payload, (size_t)message->payloadlen);
}

static void note_written(struct mosquitto *mosquitto, void *context, int message)
{
    crn_mqtt *mqtt = context;
    (void)mosquitto;
    (void)message;
    atomic_fetch_add(&mqtt->written, 1);
}

/* What keeps it from connecting, such as a certificate. */
static void note_fault(struct mosquitto *mosquitto, void *context, int level, const char *text)
{
    crn_mqtt *mqtt = context;
    (void)mosquitto;
    if (level & (MOSQ_LOG_ERR | MOSQ_LOG_WARNING))
        crn_log_gated(&mqtt->faults, crn_now_ns(), CRN_LOG_ERROR, "outputs.mqtt: %s: %s%s",
                      mqtt->broker, text,
                      strstr(text, "certificate verify failed")
                          ? "; outputs.mqtt.ca_file must have the certificate that signed the "
                            "broker's, and that must name the broker's address"
                          : "");
}

/* --- open and close ----------------------------------------------------------------------------
 */

/* The file's first line. */
static int read_password(const char *path, char ret_password[PASSWORD_BYTES], crn_error *error)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(ret_password, PASSWORD_BYTES, file);
    int fault = file ? -EINVAL : -errno;
    if (file)
        fclose(file);
    if (!read)
        return crn_error_set(error, fault, "outputs.mqtt.password_file: %s: %s", path,
                             file ? "it is empty" : strerror(-fault));
    ret_password[strcspn(ret_password, "\r\n")] = '\0';
    return 0;
}

static int set_access(crn_mqtt *mqtt, const crn_mqtt_plan *plan, crn_error *error)
{
    char password[PASSWORD_BYTES] = "";
    int r = plan->password_file[0] ? read_password(plan->password_file, password, error) : 0;
    if (r < 0)
        return r;
    if (plan->user[0] && mosquitto_username_pw_set(mqtt->mosquitto, plan->user, password) != 0)
        return crn_error_set(error, -EINVAL, "outputs.mqtt.user: not accepted");
    if (plan->ca_file[0] &&
        mosquitto_tls_set(mqtt->mosquitto, plan->ca_file, NULL, NULL, NULL, NULL) != 0)
        return crn_error_set(error, -EINVAL,
                             "outputs.mqtt.ca_file: %s cannot be read as certificates in PEM",
                             plan->ca_file);
    return 0;
}

/* The state's JSON. */
static int write_state(const crn_mqtt *mqtt, const char *state, char text[PAYLOAD_BYTES])
{
    return snprintf(text, PAYLOAD_BYTES,
                    "{\"state\":\"%s\",\"run\":\"%s\",\"version\":\"" CRN_VERSION "\"}", state,
                    mqtt->run);
}

static int start(crn_mqtt *mqtt, crn_error *error)
{
    char host[CRN_TEXT_BYTES], text[PAYLOAD_BYTES];
    snprintf(host, sizeof host, "%s", mqtt->broker);
    char *port = strrchr(host, ':');
    *port++ = '\0';
    mosquitto_connect_callback_set(mqtt->mosquitto, note_connect);
    mosquitto_disconnect_callback_set(mqtt->mosquitto, note_disconnect);
    mosquitto_publish_callback_set(mqtt->mosquitto, note_written);
    mosquitto_message_callback_set(mqtt->mosquitto, take_message);
    mosquitto_log_callback_set(mqtt->mosquitto, note_fault);
    mosquitto_reconnect_delay_set(mqtt->mosquitto, 1, RETRY_MAX_S, true);
    int length = write_state(mqtt, "offline", text);
    int r = mosquitto_will_set(mqtt->mosquitto, mqtt->state_topic, length, text, 1, true);
    if (r == MOSQ_ERR_SUCCESS)
        r = mosquitto_loop_start(mqtt->mosquitto);
    if (r == MOSQ_ERR_SUCCESS) /* a broker that is not there is tried again */
        mosquitto_connect_async(mqtt->mosquitto, host, atoi(port), KEEPALIVE_S);
    return r == MOSQ_ERR_SUCCESS
               ? 0
               : crn_error_set(error, -EINVAL, "outputs.mqtt: %s", mosquitto_strerror(r));
}

int crn_mqtt_open(const crn_mqtt_plan *plan, crn_mqtt **ret_mqtt, crn_error *error)
{
    char id[64];
    crn_mqtt *mqtt = calloc(1, sizeof *mqtt);
    if (!mqtt)
        return crn_error_set(error, -ENOMEM, "outputs.mqtt: no memory");
    snprintf(mqtt->decision_topic, TOPIC_BYTES, "%s/decision", plan->topic);
    snprintf(mqtt->state_topic, TOPIC_BYTES, "%s/state", plan->topic);
    snprintf(mqtt->totals_topic, TOPIC_BYTES, "%s/totals", plan->topic);
    snprintf(mqtt->position_topic, CRN_TEXT_BYTES, "%s", plan->position_topic);
    snprintf(mqtt->confirm_topic, CRN_TEXT_BYTES, "%s", plan->confirm_topic);
    mqtt->use = plan->use;
    mqtt->context = plan->context;
    snprintf(mqtt->broker, sizeof mqtt->broker, "%s", plan->broker);
    snprintf(mqtt->run, sizeof mqtt->run, "%s", plan->run);
    snprintf(id, sizeof id, "cernita-sorter-%s", plan->run);
    sem_init(&mqtt->left, 0, 0);
    mosquitto_lib_init();
    mqtt->mosquitto = mosquitto_new(id, true, mqtt);
    int r = mqtt->mosquitto ? set_access(mqtt, plan, error)
                            : crn_error_set(error, -ENOMEM, "outputs.mqtt: no memory");
    if (r == 0)
        r = start(mqtt, error);
    if (r < 0)
        crn_mqtt_close(&mqtt);
    else
        *ret_mqtt = mqtt;
    return r;
}

/* --- messages ----------------------------------------------------------------------------------
 */

/* libmosquitto keeps what it cannot write, without end: so much, and no more. */
static void publish(crn_mqtt *mqtt, const char *topic, const char *payload, size_t length,
                    bool retained)
{
    bool waits = mqtt->sent - mqtt->forgotten - atomic_load(&mqtt->written) >= WAITING_MAX;
    if (!waits && atomic_load(&mqtt->connected) &&
        mosquitto_publish(mqtt->mosquitto, NULL, topic, (int)length, payload, 0, retained) ==
            MOSQ_ERR_SUCCESS) {
        mqtt->sent++;
        return;
    }
    mqtt->dropped++;
    if (topic == mqtt->decision_topic)
        crn_log_gated(&mqtt->drops, crn_now_ns(), CRN_LOG_ERROR,
                      "outputs.mqtt: %s does not take decisions: %" PRIu64 " messages dropped so "
                      "far",
                      mqtt->broker, mqtt->dropped);
}

void crn_mqtt_send(crn_mqtt *mqtt, const char *json, size_t length)
{
    publish(mqtt, mqtt->decision_topic, json, length, false);
}

static void send_state(crn_mqtt *mqtt, const char *state)
{
    char text[PAYLOAD_BYTES];
    int length = write_state(mqtt, state, text);
    publish(mqtt, mqtt->state_topic, text, (size_t)length, true);
}

static void send_totals(crn_mqtt *mqtt, const crn_decider_stats *stats, const crn_texts *outlets)
{
    char bytes[PAYLOAD_BYTES];
    crn_text text = crn_text_in(bytes, sizeof bytes);
    crn_text_add(&text, "{\"run\":\"%s\",\"lost\":%" PRIu64 ",\"unmeasured\":%" PRIu64, mqtt->run,
                 stats->lost, stats->reason[CRN_DECIDED_UNMEASURED]);
    crn_text_add(&text, ",\"outlets\":{");
    for (int32_t i = 0; i < outlets->count; i++)
        crn_text_add(&text, "%s\"%s\":%" PRIu64, i ? "," : "", outlets->item[i], stats->outlet[i]);
    crn_text_add(&text, "}}");
    publish(mqtt, mqtt->totals_topic, bytes, text.used, true);
}

int64_t crn_mqtt_look(crn_mqtt *mqtt, crn_line_state state, const crn_decider_stats *stats,
                      const crn_texts *outlets, int64_t now_ns)
{
    uint64_t connects = atomic_load(&mqtt->connects);
    if (!atomic_load(&mqtt->connected))
        return now_ns + TOTALS_EVERY_NS;
    if (connects != mqtt->told_connects) {
        uint64_t forgotten = mqtt->sent - atomic_load(&mqtt->written);
        mqtt->dropped += forgotten - mqtt->forgotten;
        mqtt->forgotten = forgotten;
        mqtt->totals_ns = 0;
    }
    if (connects != mqtt->told_connects || state != mqtt->told_state)
        send_state(mqtt, crn_line_state_names[state]);
    mqtt->told_connects = connects;
    mqtt->told_state = state;
    if (now_ns - mqtt->totals_ns >= TOTALS_EVERY_NS) {
        send_totals(mqtt, stats, outlets);
        mqtt->totals_ns = now_ns;
    }
    return mqtt->totals_ns + TOTALS_EVERY_NS;
}

/* libmosquitto's thread ends by itself once it has written what waits, unless the connection is
 * lost just then: it may connect again and forget that it was to end. */
static void end_thread(crn_mqtt *self)
{
    while (sem_trywait(&self->left) == 0)
        continue;
    bool is_connected = atomic_load(&self->connected);
    if (is_connected)
        send_state(self, "stopped");
    mosquitto_disconnect(self->mosquitto);
    if (is_connected)
        crn_sem_wait_until(&self->left, crn_now_ns() + STOP_WITHIN_NS);
    mosquitto_loop_stop(self->mosquitto, true);
}

void crn_mqtt_close(crn_mqtt **mqtt)
{
    crn_mqtt *self = *mqtt;
    if (!self)
        return;
    if (self->mosquitto) {
        end_thread(self);
        mosquitto_destroy(self->mosquitto);
    }
    mosquitto_lib_cleanup();
    sem_destroy(&self->left);
    free(self);
    *mqtt = NULL;
}

crn_mqtt_stats crn_mqtt_get_stats(const crn_mqtt *mqtt)
{
    return (crn_mqtt_stats){.connected = atomic_load(&mqtt->connected),
                            .connects = atomic_load(&mqtt->connects),
                            .sent = mqtt->sent,
                            .dropped = mqtt->dropped};
}
