#include "stages/chain/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/range.h"
#include "stages/base/clock.h"
#include "stages/context.h"
#include "stages/openmp/values.h"

/* A contour has at least two points, so the point limit bounds the number of contours. */
static uint32_t contour_capacity(const crn_config *config)
{
    return (uint32_t)(config->limits.points / 2 + 1);
}

size_t crn_chain_bytes(const crn_config *config)
{
    return (size_t)config->limits.points * sizeof(crn_point) +
           contour_capacity(config) * sizeof(crn_contour);
}

size_t crn_chain_view_bytes(const crn_config *config)
{
    size_t defect = sizeof(crn_defect) + crn_config_textures(config) * sizeof(crn_texture);
    return (size_t)config->limits.defects * defect +
           (size_t)config->limits.points * 2 * sizeof(float);
}

int crn_chain_create_in(const crn_config *config, const crn_ops *ops, crn_context *context,
                        crn_chain **ret_chain)
{
    crn_chain *chain = calloc(1, sizeof *chain);
    if (!chain)
        return -ENOMEM;
    chain->config = config;
    chain->ops = ops;
    chain->context = context;
    chain->shares_context = true;
    chain->contours.point_capacity = (uint32_t)config->limits.points;
    chain->contours.contour_capacity = contour_capacity(config);
    chain->contours.points = malloc(chain->contours.point_capacity * sizeof(crn_point));
    chain->contours.contours = malloc(chain->contours.contour_capacity * sizeof(crn_contour));
    if (!chain->contours.points || !chain->contours.contours) {
        crn_chain_free(&chain);
        return -ENOMEM;
    }
    *ret_chain = chain;
    return 0;
}

int crn_chain_create(const crn_config *config, const crn_ops *ops, crn_chain **ret_chain)
{
    crn_context *context = NULL;
    int r = crn_context_create((int32_t)config->run.threads, &context);
    if (r == 0)
        r = crn_chain_create_in(config, ops, context, ret_chain);
    if (r < 0)
        crn_context_free(&context);
    else
        (*ret_chain)->shares_context = false;
    return r;
}

int crn_chain_create_beside(const crn_config *config, const crn_chain *of, crn_chain **ret_chain)
{
    crn_chain *chain = calloc(1, sizeof *chain);
    if (!chain)
        return -ENOMEM;
    chain->config = config;
    chain->ops = of->ops;
    chain->shares_context = chain->shares_contours = true;
    chain->context = of->context;
    chain->contours = of->contours;
    *ret_chain = chain;
    return 0;
}

void crn_chain_free(crn_chain **chain)
{
    if (!chain || !*chain)
        return;
    crn_chain *it = *chain;
    crn_chain_opened_free(&it->opened);
    if (!it->shares_context)
        crn_context_free(&it->context);
    if (!it->shares_contours) {
        free(it->contours.points);
        free(it->contours.contours);
    }
    free(it);
    *chain = NULL;
}

void crn_recent_add(crn_recent *recent, int64_t ns)
{
    recent->ns[recent->count++ % CRN_RECENT] = ns;
    recent->left_out = recent->stopped = 0;
}

void crn_recent_skip(crn_recent *recent)
{
    if (++recent->left_out < CRN_RECENT)
        return;
    recent->count = recent->left_out = 0;
    recent->stopped = 1; /* the view that tries it again suffices */
}

void crn_recent_stop(crn_recent *recent, int64_t took_ns)
{
    bool alone = recent->count < CRN_RECENT_FEW && recent->stopped == 0;
    if (!alone && took_ns > crn_recent_p99_ns(recent))
        crn_recent_add(recent, took_ns);
    recent->stopped = 1;
}

int64_t crn_recent_p99_ns(const crn_recent *recent)
{
    uint32_t count = recent->count < CRN_RECENT ? recent->count : CRN_RECENT;
    int64_t largest = 0, second = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t ns = recent->ns[i];
        if (ns > largest) {
            second = largest;
            largest = ns;
        } else if (ns > second) {
            second = ns;
        }
    }
    return count < CRN_RECENT_FEW ? largest : second;
}

/* True if the running view must stop: its deadline passed or its fruit was judged without it. */
static bool is_over(const void *owner)
{
    const crn_chain_input *input = owner;
    return (input->cancelled && atomic_load_explicit(input->cancelled, memory_order_relaxed)) ||
           crn_now_ns() >= input->deadline_ns;
}

static void set_up_job(const crn_chain *chain, const crn_chain_input *input, crn_defects *defects,
                       crn_job *job)
{
    memset(job, 0, sizeof *job);
    job->ops = chain->ops;
    job->context = chain->context;
    job->classes = &chain->config->classes;
    job->received = job->maps = input->maps;
    job->intensity = input->intensity;
    job->contours = chain->contours;
    job->defects = defects;
    defects->defect_count = defects->point_count = defects->texture_count = 0;
    defects->truncated = false;
}

/* A step failed after `took_ns`. The durations of the steps before it are recorded anyway. */
static void note_failure(crn_recent *recent, int r, int64_t took_ns)
{
    if (r == -ETIME)
        crn_recent_stop(recent, took_ns);
}

/* Decides before the step starts whether to skip it. */
static bool must_skip(crn_chain *chain, int32_t step, const crn_chain_input *input, int64_t now_ns)
{
    crn_recent *recent = &chain->recent[step];
    if (!chain->config->chain[step].optional ||
        input->deadline_ns - now_ns >= crn_recent_p99_ns(recent))
        return false;
    crn_recent_skip(recent);
    return true;
}

static int run_enqueues(crn_chain *chain, const crn_chain_input *input, crn_job *job,
                        crn_judgement *judgement)
{
    const crn_config *config = chain->config;
    int64_t now_ns = crn_now_ns();
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_step *step = &config->chain[i];
        if (!step->stage->enqueue)
            continue;
        if (must_skip(chain, i, input, now_ns)) {
            judgement->skipped |= UINT32_C(1) << i;
            continue;
        }
        CRN_RANGE_BEGIN("%s", step->stage->name);
        int r = step->stage->enqueue(step->settings, job);
        CRN_RANGE_END();
        int64_t end_ns = crn_now_ns();
        judgement->stage_ns[i] = end_ns - now_ns;
        now_ns = end_ns;
        if (r < 0) {
            note_failure(&chain->recent[i], r, judgement->stage_ns[i]);
            return r;
        }
    }
    return 0;
}

static int run_finish(const crn_step *step, crn_job *job)
{
    if (!step->stage->finish)
        return 0;
    CRN_RANGE_BEGIN("%s, finish", step->stage->name);
    int r = step->stage->finish(step->settings, job);
    CRN_RANGE_END();
    return r;
}

/* `here`: the enqueue halves ran here too, so the step's full duration is known. */
static int run_finishes(crn_chain *chain, const crn_chain_input *input, bool here, crn_job *job,
                        crn_judgement *judgement)
{
    const crn_config *config = chain->config;
    int64_t now_ns = crn_now_ns();
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_step *step = &config->chain[i];
        if (judgement->skipped & UINT32_C(1) << i)
            continue;
        if (!step->stage->enqueue && must_skip(chain, i, input, now_ns)) {
            judgement->skipped |= UINT32_C(1) << i;
            continue;
        }
        int r = run_finish(step, job);
        int64_t end_ns = crn_now_ns();
        judgement->stage_finish_ns[i] = end_ns - now_ns;
        judgement->stage_ns[i] += end_ns - now_ns;
        now_ns = end_ns;
        if (r < 0) {
            if (here || !step->stage->enqueue)
                note_failure(&chain->recent[i], r, judgement->stage_ns[i]);
            return r;
        }
        if (here || !step->stage->enqueue)
            crn_recent_add(&chain->recent[i], judgement->stage_ns[i]);
    }
    return 0;
}

/* The time that went to optional steps. */
static int64_t optional_ns_of(const crn_config *config, const crn_judgement *judgement)
{
    int64_t sum_ns = 0;
    for (int32_t i = 0; i < config->steps; i++)
        if (config->chain[i].optional)
            sum_ns += judgement->stage_ns[i];
    return sum_ns;
}

int crn_chain_run(crn_chain *chain, const crn_chain_input *input, crn_defects *defects,
                  crn_judgement *ret_judgement)
{
    crn_job job;
    set_up_job(chain, input, defects, &job);
    crn_judgement judgement = {.result = CRN_RESULT_NONE};
    int64_t start_ns = crn_now_ns();
    judgement.queue_ns = start_ns - input->received_ns;
    crn_context_limit(chain->context, is_over, input);
    crn_context_watch(chain->context, input->watch);
    int r = run_enqueues(chain, input, &job, &judgement);
    crn_context_watch(chain->context, NULL);
    judgement.finish_ns = crn_now_ns() - start_ns;
    if (r == 0)
        r = run_finishes(chain, input, true, &job, &judgement);
    crn_context_limit(chain->context, NULL, NULL);
    if (r < 0)
        return r;
    judgement.run_ns = judgement.cost_ns = crn_now_ns() - start_ns;
    judgement.optional_ns = optional_ns_of(chain->config, &judgement);
    judgement.defect_count = defects->defect_count;
    judgement.truncated = defects->truncated;
    *ret_judgement = judgement;
    return 0;
}

/* Index of the first contour of that plane or a later one. */
static uint32_t first_from(const crn_contours *contours, int32_t plane)
{
    uint32_t low = 0, high = contours->contour_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (contours->contours[middle].plane < plane)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void crn_device_result_find(crn_device_result *done, int32_t channels)
{
    done->first = first_from(done->contours, done->index * channels);
    done->count = first_from(done->contours, (done->index + 1) * channels) - done->first;
}

/* Selects the view's contours among those of its batch, with the capacities of a view on the
 * processor. False if some are missing or there are more than one view may have. */
static bool select_contours(const crn_chain_input *input, const crn_device_result *done,
                            crn_contours *contours)
{
    const crn_contours *all = done->contours;
    crn_contour *own = all->contours + done->first;
    /* Contours that did not fit are those after the last one stored. */
    if (all->truncated && done->first + done->count == all->contour_count)
        return false;
    uint64_t points = 0;
    for (uint32_t i = 0; i < done->count; i++)
        points += own[i].count;
    if (points > contours->point_capacity || done->count > contours->contour_capacity)
        return false;
    for (uint32_t i = 0; i < done->count; i++)
        own[i].plane -= done->index * input->maps.planes;
    contours->points = all->points;
    contours->contours = own;
    contours->point_count = (uint32_t)points;
    contours->contour_count = done->count;
    return true;
}

crn_values_seen crn_device_result_seen(const crn_device_result *done, crn_type type)
{
    if (!done->seen)
        return (crn_values_seen){0};
    crn_values_seen seen = done->seen[0];
    for (int32_t i = 1; i < CRN_VALUES_PARTS; i++)
        seen = crn_values_join(seen, done->seen[i], type);
    return seen;
}

/* The values as the device saw them. */
static void report_seen(const crn_device_result *done, const crn_chain_input *input)
{
    crn_values_watch *watch = input->watch;
    if (!watch || !done->seen)
        return;
    watch->seen = crn_device_result_seen(done, input->maps.type);
    watch->is_seen = true;
}

int crn_chain_finish(crn_chain *chain, const crn_chain_input *input, const crn_device_result *done,
                     crn_defects *defects, crn_judgement *ret_judgement)
{
    crn_job job;
    set_up_job(chain, input, defects, &job);
    job.device = done->where;
    if (!select_contours(input, done, &job.contours))
        return -EOVERFLOW;
    crn_judgement judgement = {.result = CRN_RESULT_NONE,
                               .queue_ns = done->begun_ns - input->received_ns,
                               .finish_ns = crn_now_ns() - done->begun_ns,
                               .skipped = done->skipped};
    memcpy(judgement.stage_ns, done->stage_ns, sizeof judgement.stage_ns);
    crn_context_limit(chain->context, is_over, input);
    int r = run_finishes(chain, input, false, &job, &judgement);
    crn_context_limit(chain->context, NULL, NULL);
    if (r < 0)
        return r;
    report_seen(done, input);
    /* Includes waiting: devices hold many views at once, and the time from submission to completion
     * is what one of them costs. */
    int64_t end_ns = crn_now_ns();
    judgement.run_ns = end_ns - done->begun_ns;
    judgement.cost_ns = end_ns - done->submitted_ns;
    judgement.optional_ns = optional_ns_of(chain->config, &judgement);
    judgement.defect_count = defects->defect_count;
    judgement.truncated = defects->truncated;
    *ret_judgement = judgement;
    return 0;
}

int crn_chain_finish_there(crn_chain *chain, const crn_chain_input *input,
                           const crn_contours *contours, crn_job_device *device,
                           crn_defects *defects)
{
    crn_job job;
    set_up_job(chain, input, defects, &job);
    job.contours = *contours;
    job.device = device;
    crn_judgement judgement = {.result = CRN_RESULT_NONE};
    return run_finishes(chain, input, false, &job, &judgement);
}

int crn_chain_measure(crn_chain *chain, const crn_chain_input *input, int64_t *ret_ns)
{
    crn_job job;
    crn_defects none = {.defect_count = 0};
    crn_judgement judgement = {.result = CRN_RESULT_NONE};
    set_up_job(chain, input, &none, &job);
    int64_t start_ns = crn_now_ns();
    int r = run_enqueues(chain, input, &job, &judgement);
    if (r == 0)
        *ret_ns = crn_now_ns() - start_ns;
    return r;
}
