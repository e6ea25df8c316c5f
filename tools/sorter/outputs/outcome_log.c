#include "tools/sorter/outputs/outcome_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/outcomes/outcome.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

#define QUEUE_BYTES   (UINT64_C(4) << 20) /* some 15,000 outcomes */
#define SEGMENT_BYTES (UINT64_C(64) << 20)

struct crn_outcome_log {
    crn_verdict_log *log; /* NULL: its folder cannot be written */
    crn_encoder *encoder;
    crn_outcome outcome; /* what all have in common is set */
    uint64_t unpacked;
    uint64_t told_dropped;
    crn_log_gate dropped;
};

int crn_outcome_log_open(const crn_sorter_settings *settings, const char *run,
                         crn_outcome_log **ret_log, crn_error *error)
{
    crn_outcome_log *self = calloc(1, sizeof *self);
    if (!self || crn_encoder_create(CRN_FORMAT_MSGPACK, &self->encoder) < 0) {
        free(self);
        return crn_error_set(error, -ENOMEM, "outputs.log: no memory");
    }
    const crn_verdict_log_settings log = {
        .dir = settings->outputs.log.dir,
        .segment_bytes = SEGMENT_BYTES,
        .keep_bytes = (uint64_t)settings->outputs.log.keep_mib << 20,
        .keep_ns = settings->outputs.log.keep_days * 86400 * CRN_NS_PER_S,
    };
    crn_error fault;
    if (crn_verdict_log_open(&log, QUEUE_BYTES, &self->log, &fault) < 0)
        crn_log(CRN_LOG_ERROR,
                "outputs.log: %s; mend that and restart: outcomes are not logged, sorting goes on",
                fault.text);
    snprintf(self->outcome.sorter, sizeof self->outcome.sorter, "%s", run);
    *ret_log = self;
    return 0;
}

void crn_outcome_log_close(crn_outcome_log **log)
{
    crn_outcome_log *self = *log;
    if (!self)
        return;
    crn_verdict_log_close(&self->log);
    crn_encoder_free(&self->encoder);
    free(self);
    *log = NULL;
}

/* Logs what the queue had no room for, which the log's thread does not know. */
static void tell_dropped(crn_outcome_log *self)
{
    uint64_t dropped = crn_verdict_log_get_stats(self->log).dropped;
    if (dropped > self->told_dropped)
        crn_log_gated(&self->dropped, crn_now_ns(), CRN_LOG_WARNING,
                      "outputs.log: the disk is too slow: %" PRIu64
                      " outcomes not logged so far, sorting goes on",
                      dropped);
    self->told_dropped = dropped;
}

/* `r`: of packing it. */
static void offer(crn_outcome_log *self, uint64_t lane, int r, const unsigned char *bytes,
                  size_t size)
{
    if (!self->log || r < 0) {
        self->unpacked++;
        return;
    }
    crn_verdict_log_offer(self->log, (uint32_t)lane, bytes, size);
    tell_dropped(self);
}

void crn_outcome_log_add(crn_outcome_log *self, const crn_decision *decision, const char *outlet)
{
    crn_outcome *outcome = &self->outcome;
    const unsigned char *bytes = NULL;
    size_t size = 0;
    if (decision->reason == CRN_DECIDED_SILENCE)
        return;
    snprintf(outcome->run, sizeof outcome->run, "%s", decision->run);
    outcome->lane = decision->lane;
    outcome->sequence = decision->sequence;
    outcome->fruits = decision->lost ? decision->lost : 1;
    outcome->fruit = decision->fruit;
    outcome->decided_ns = crn_realtime_ns();
    snprintf(outcome->outlet, sizeof outcome->outlet, "%s", outlet);
    snprintf(outcome->reason, sizeof outcome->reason, "%s",
             crn_decision_reason_names[decision->reason]);
    outcome->rule = (uint64_t)(decision->rule + 1);
    int r = crn_outcome_pack(outcome, self->encoder, &bytes, &size);
    offer(self, decision->lane, r, bytes, size);
}

void crn_outcome_log_add_result(crn_outcome_log *self, const crn_firing_key *key,
                                crn_firing_result result)
{
    crn_firing_outcome firing = {.lane = key->lane, .sequence = key->sequence};
    const unsigned char *bytes = NULL;
    size_t size = 0;
    snprintf(firing.run, sizeof firing.run, "%s", key->run);
    snprintf(firing.result, sizeof firing.result, "%s", crn_firing_result_names[result]);
    int r = crn_firing_outcome_pack(&firing, self->encoder, &bytes, &size);
    offer(self, key->lane, r, bytes, size);
}

crn_verdict_log_stats crn_outcome_log_get_stats(const crn_outcome_log *self)
{
    crn_verdict_log_stats stats = {.failed = 0};
    if (self->log)
        stats = crn_verdict_log_get_stats(self->log);
    stats.failed += self->unpacked;
    return stats;
}
