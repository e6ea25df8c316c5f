/*
 * The flight recorder: the last fruits, their verdicts and where the time of their views went, kept
 * in memory for whoever asks after the fact. The line's thread packs them into a queue, the HTTP
 * thread keeps them, so that neither waits for the other; without that thread there is no flight
 * recorder.
 *
 * A verdict here is always in MessagePack, whatever the sockets use. One of more than
 * CRN_FLIGHT_WHOLE_BYTES (if it was given in JSON only: in JSON) is kept without its list of
 * defects.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_FLIGHT_H
#define CRN_SRC_MONITOR_FRUITS_FLIGHT_H

#include "src/fruit/fruit.h"
#include "src/publish/result_store.h"
#include "src/publish/verdict.h"

CRN_C_BEGIN

/* Memory for the last fruits: some thousands of a usual line. */
#define CRN_FLIGHT_BYTES (UINT64_C(16) << 20)

/* Queue between the two threads, which the HTTP thread empties once a second. */
#define CRN_FLIGHT_QUEUE_BYTES (UINT64_C(4) << 20)

/* Largest verdict that is kept with its defects. */
#define CRN_FLIGHT_WHOLE_BYTES 65536

typedef struct crn_flight crn_flight;

/* One view of a fruit; times on CLOCK_MONOTONIC, 0: never. */
typedef struct crn_flight_view {
    uint16_t number;
    uint32_t height_px, width_px;
    crn_view_state state;
    crn_judgement judgement; /* of a view judged */
    int64_t received_ns;
    int64_t begun_ns; /* submitted, if it was not judged */
    int64_t ended_ns; /* judged, or given up */
} crn_flight_view;

/* A fruit after its verdict. */
typedef struct crn_flight_fruit {
    uint32_t lane;
    uint64_t epoch, fruit;
    crn_verdict_kind kind;
    uint16_t judged, expected;                  /* views; expected 0: unknown */
    int64_t opened_ns, closed_ns, published_ns; /* on CLOCK_MONOTONIC */
    int64_t budget_ns;                          /* latency.budget_ms of its settings */
    int32_t steps;                              /* of its chain */
    crn_step_kind step[CRN_STAGES_MAX];
    uint32_t view_count;
    const crn_flight_view *views; /* those received */
    size_t size;
    const unsigned char *record; /* a record of the verdict log (src/formats/verdict_log/format.h),
                                    which is `size` bytes */
} crn_flight_fruit;

/* `config` is the caller's and must outlive the flight recorder. Returns 0 or -ENOMEM. */
int crn_flight_create(const crn_config *config, crn_flight **ret_flight);

/* Call it after both threads have ended; NULL is allowed. */
void crn_flight_free(crn_flight **flight);

/*
 * For the line's thread: queues the verdict that was given last; fruit and store are still as they
 * were then. Copies its bytes, or packs them if it was given in JSON only, or is too large to be
 * kept with its defects. Allocates nothing once the encoder's buffer has grown. One that the queue
 * has no room for is counted.
 */
void crn_flight_offer(crn_flight *flight, const crn_fruit *fruit, const crn_published *published,
                      const crn_result_store *store);

/* Fruits that were left out: the queue was full, or memory was short. From any thread. */
uint64_t crn_flight_dropped(const crn_flight *flight);

/* For the HTTP thread: takes what the line's thread queued; the oldest verdicts are dropped. */
void crn_flight_take(crn_flight *flight);

/* For the HTTP thread: the verdicts kept are numbered from `first` to `end` - 1; numbers are never
 * used again. */
typedef struct crn_flight_range {
    uint64_t first, end;
} crn_flight_range;

crn_flight_range crn_flight_kept(const crn_flight *flight);

/* A fruit in that range, valid until the next crn_flight_take(). */
const crn_flight_fruit *crn_flight_at(const crn_flight *flight, uint64_t number);

CRN_C_END

#endif
