/* Shared by line.c and the line_*.c only. */
#ifndef CRN_SRC_LINE_INTERNAL_H
#define CRN_SRC_LINE_INTERNAL_H

#include <semaphore.h>
#include <stdatomic.h>

#include "src/engine/engine.h"
#include "src/fruit/fruit.h"
#include "src/ingest/access/zap.h"
#include "src/ingest/ingest.h"
#include "src/monitor/alarms/thread.h"
#include "src/monitor/conditions/thread.h"
#include "src/fruit/lane/lane.h"
#include "src/line/line.h"
#include "src/line/outputs.h"
#include "src/monitor/fruits/flight.h"
#include "src/monitor/http/server.h"
#include "src/monitor/fruits/kept_maps.h"
#include "src/monitor/meters.h"
#include "src/monitor/minutes/thread.h"
#include "src/monitor/log_messages/notice.h"
#include "src/monitor/fruits/live_photos.h"
#include "src/monitor/log_messages/report.h"
#include "src/monitor/snapshot.h"
#include "src/ingest/pool.h"
#include "src/ingest/slots/slots.h"
#include "src/publish/publish.h"
#include "src/recorder/recorder.h"
#include "src/publish/result_store.h"
#include "src/service/service.h"
#include "src/surface/surfaces.h"
#include "src/fruit/values/values.h"

/* The line as a service of systemd (service.c). */
typedef struct crn_line_service crn_line_service;
/* The settings by which fruits are judged, by crn_config_slot, and what another thread asks. */
typedef struct crn_line_settings {
    /* The line's thread's: */
    const crn_config *in_force;
    uint32_t in_use;                  /* bit per slot: in force, or some fruit or view has them */
    int32_t running[CRN_GENERATIONS]; /* views in the engine */
    int64_t since_ns;                 /* CLOCK_REALTIME: since when those in force are */
    crn_lot lot;

    /* The other thread's: */
    crn_config *own[CRN_GENERATIONS]; /* NULL: not in use, or the start's */
    uint32_t taken;                   /* bit per slot: in use, or not freed yet */
    uint32_t newest;                  /* generation */
    bool has_surfaces;                /* the line measures, or what it needs for it was offered */

    /* Of both: */
    atomic_uint retired; /* bit per slot: no longer in use, to be freed */
    atomic_int asked;    /* 0: nothing, or answered */
    int answer;          /* 0 or a negative errno */
    const crn_config *offered;
    const crn_lot *offered_lot;
    crn_surfaces *offered_surfaces; /* NULL: the line has them, or needs none */
    crn_line_status status;
    sem_t answered;
    atomic_bool ended; /* the line's thread answers no more */
    _Atomic uint64_t counts_taken_in, counts_refused;
    atomic_bool last_was_refused;
    atomic_int not_kept, lot_not_kept, changes_not_kept; /* as crn_settings_in_force */
    _Atomic int64_t changes_wait_since_ns;               /* 0: none waits */
} crn_line_settings;

struct crn_line {
    const crn_config *config; /* the start's, for what no reload changes */
    crn_line_settings settings;
    void *zmq;
    crn_zap *zap; /* NULL: no keys are required */
    crn_ingest *ingest;
    crn_pool *pool;
    crn_slots *slots; /* NULL: none (ingest.slots.path) */
    crn_lanes *lanes;
    crn_fruits *fruits;
    crn_engine *engine;
    crn_result_store *store;
    crn_surfaces *surfaces; /* NULL: nothing was measured so far */
    crn_publish *publish;
    crn_recorder *recorder; /* NULL: no recording */
    crn_values values;
    crn_meters meters;
    crn_resources_reader *resources;
    crn_snapshots *snapshots; /* NULL without monitor.http, as flight and http */
    crn_flight *flight;
    crn_kept_maps *kept_maps; /* NULL also without monitor.keep_slots, as photos */
    crn_live_photos *photos;
    crn_http *http;
    uint64_t snapshot_number; /* of the last one */
    int stop_descriptor;      /* readable: stop_wanted was set, or something was asked */
    atomic_bool stop_wanted;
    bool stopping;
    bool is_engine_woken, is_asked; /* what its descriptor, and the one above, said when polled */
    int64_t watch_ns, report_ns;    /* when to check the workers, and to report, next */
    int64_t stopped_ns; /* when the process was last found to have been stopped from outside; 0:
                           never */
    struct {
        CRN_LINE_COUNTS(CRN_COUNT_MEMBER)
    } counts;
    crn_quantiles latency; /* of fruits, from close to verdict */
    crn_notices notices;
    crn_line_service *service;
    crn_alarms *alarms;
    crn_minutes *minutes;
    crn_drift *drift;
    crn_conditions *conditions;
    crn_report report;
};

/* Handles a valid message: adds it to its fruit and copies it into a slot if there is one. Returns
 * the view, or NULL. */
crn_view *crn_line_accept(crn_line *line, const crn_view_header *header, int64_t now_ns);

/* Judges what was seen of a view's values (crn_view.seen), for its lane and its fruit. `sample`
 * NULL: it is taken now. */
void crn_line_check_values(crn_line *line, crn_view *view, const crn_values_sample *sample);

/* The view in that slot, of the pool or behind it of a producer's ring. */
static inline crn_view *crn_line_view_at(crn_line *line, uint32_t slot)
{
    return slot < crn_pool_count(line->pool) ? crn_pool_at(line->pool, slot)
                                             : crn_slots_at(line->slots, slot);
}

/* The rules for fruits of a line with these settings. */
static inline crn_fruit_rules crn_line_fruit_rules(const crn_line *line, const crn_config *config)
{
    crn_fruit_rules rules = crn_fruit_rules_of(config);
    rules.ring_slots = crn_pool_count(line->pool);
    return rules;
}

/* Sets a view's slot, which it was just given, on its way: nothing is to be done with it yet. */
void crn_line_begin_view(const crn_line *line, crn_view *view);

/* A slot of the pool for the view of that ticket: a free one, or that of the queued view of lowest
 * priority (crn_fruits_evict). NULL if none is free and no queued view ranks below this one. */
crn_view *crn_line_acquire(crn_line *line, crn_ticket ticket);

/* Decides on the slot of a view that has ended, or was given up. */
void crn_line_end_view(crn_line *line, crn_view *view);

/* True if a due fruit's verdict has to wait for its measures: it was set aside. Else it has those
 * that there are. */
bool crn_line_measure(crn_line *line, const crn_fruit *fruit, int64_t now_ns);

/* The fruit is judged: its measurement is not needed any more. Returns the views, a bit each, whose
 * results it still reads. */
uint64_t crn_line_leave_measurement(crn_line *line, const crn_fruit *fruit);

/* Goes on with fruits whose measurement is done. */
void crn_line_collect_measurements(crn_line *line);

/* Takes back the slots that the recorder has written. */
void crn_line_reclaim(crn_line *line);

/* Frees the slots and results of a judged fruit, and cancels its views that still run. */
void crn_line_release_fruit(crn_line *line, const crn_fruit *fruit, int64_t now_ns);

/* Passes all numbers to the thread that looks for conditions, and to the HTTP thread if there is
 * one. */
void crn_line_snapshot(crn_line *line, int64_t now_ns);

/* `conditions` must outlive it. Returns 0 or -ENOMEM. */
int crn_line_service_create(crn_conditions *conditions, crn_line_service **ret_service);
void crn_line_service_free(crn_line_service **service); /* NULL is allowed */
crn_pulse *crn_line_service_pulse(crn_line_service *service);

/* From here to the end the line's thread is watched, and views are accepted. */
void crn_line_service_begin(crn_line_service *service, const char *page);
void crn_line_service_end(crn_line_service *service);

int crn_line_settings_init(crn_line *line);
void crn_line_settings_done(crn_line *line);

/* For the line's thread: answers what another thread asked; says that it will never again; notices
 * settings that no fruit and no view has any more; reports those in force. */
void crn_line_answer(crn_line *line);
void crn_line_end_answers(crn_line *line);
void crn_line_retire(crn_line *line);
void crn_line_settings_report(const crn_line *line, crn_settings_in_force *ret_settings);

/* The state to report. */
crn_state crn_line_state(const crn_line *line);

#endif
