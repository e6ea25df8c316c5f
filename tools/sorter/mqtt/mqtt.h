/*
 * Decisions, the sorter's state and totals to an MQTT broker. libmosquitto's thread connects, and
 * connects again; nothing here waits for it. What the broker does not take is dropped and counted.
 * mqtt_none.c stands for it in a build without libmosquitto.
 */
#ifndef CRN_TOOLS_SORTER_MQTT_MQTT_H
#define CRN_TOOLS_SORTER_MQTT_MQTT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "tools/sorter/decide/decider.h"

typedef struct crn_mqtt crn_mqtt;

/* A message of one of the two topics. */
typedef void crn_mqtt_use(void *context, bool is_confirmation, const char *payload, size_t length);

/* All pointers stay the caller's. */
typedef struct crn_mqtt_plan {
    const char *broker;                         /* HOST:PORT */
    const char *topic;                          /* of which all others are below */
    const char *user, *password_file, *ca_file; /* empty: none */
    const char *run;
    const char *position_topic, *confirm_topic; /* to listen to; empty: none */
    crn_mqtt_use *use;                          /* called by libmosquitto's thread */
    void *context;
} crn_mqtt_plan;

typedef struct crn_mqtt_stats {
    uint64_t connected; /* 1: to the broker, now */
    uint64_t connects, sent, dropped;
} crn_mqtt_stats;

/* True if the program was built with libmosquitto. */
bool crn_mqtt_is_built(void);

/* Begins to connect. 0 or a negative errno with one line in *error. */
int crn_mqtt_open(const crn_mqtt_plan *plan, crn_mqtt **ret_mqtt, crn_error *error);

/* Says `stopped`, and disconnects. */
void crn_mqtt_close(crn_mqtt **mqtt);

/* Sends a decision, a JSON object of so many bytes. */
void crn_mqtt_send(crn_mqtt *mqtt, const char *json, size_t length);

/* Sends the state where it changed or the connection is new, and once a second the totals. Returns
 * when to come again. */
int64_t crn_mqtt_look(crn_mqtt *mqtt, crn_line_state state, const crn_decider_stats *stats,
                      const crn_texts *outlets, int64_t now_ns);

crn_mqtt_stats crn_mqtt_get_stats(const crn_mqtt *mqtt);

#endif
