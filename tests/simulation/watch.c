/* The program's own functions at which the simulation listens, and the time that a view's work
 * takes; wrapped by the linker, as libc.c. */
#include <errno.h>

#include "src/engine/engine.h"
#include "src/publish/publish.h"
#include "src/recorder/verdict_log.h"
#include "src/monitor/resources/resources.h"
#include "stages/base/clock.h"
#include "stages/chain/chain.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/world.h"
#include "tests/simulation/machine/wrap.h"

/* Passes of the line's loop between two looks at its counters. */
#define LOOK_EVERY 8

/* When views' work ended, by their slot's memory. */
#define ENDS 64
static struct {
    const void *maps;
    int64_t ended_ns;
} ends[ENDS];

static void note_end(const void *maps)
{
    int at = 0;
    for (int i = 0; i < ENDS; i++) {
        if (ends[i].maps == maps) {
            at = i;
            break;
        }
        if (ends[i].ended_ns < ends[at].ended_ns)
            at = i;
    }
    ends[at].maps = maps;
    ends[at].ended_ns = sim_now_ns();
}

static int64_t ended_at(const void *maps)
{
    for (int i = 0; i < ENDS; i++)
        if (ends[i].maps == maps)
            return ends[i].ended_ns;
    return 0;
}

static bool is_cancelled(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

/* A step of the chain looks at the clock and the flag every few milliseconds. */
CRN_SIM_WRAP(int, crn_chain_run, crn_chain *chain, const crn_chain_input *input,
             crn_defects *defects, crn_judgement *judgement)
{
    crn_random *random = sim_random();
    int64_t work_ns =
        crn_random_between(random, (int32_t)sim_w.work_us_min, (int32_t)sim_w.work_us_max) *
        CRN_NS_PER_US;
    if (sim_w.slow_once_in && crn_random_once_in(random, sim_w.slow_once_in))
        work_ns *= 20;
    bool fails = sim_w.fail_once_in && crn_random_once_in(random, sim_w.fail_once_in);
    int64_t begin_ns = sim_now_ns(), end_ns = begin_ns + work_ns;
    bool is_late = end_ns > input->deadline_ns;
    if (is_late)
        end_ns = (begin_ns > input->deadline_ns ? begin_ns : input->deadline_ns) +
                 crn_random_between(random, 0, 3000) * CRN_NS_PER_US;
    bool stopped = sim_wait(is_cancelled, (void *)(uintptr_t)input->cancelled, end_ns) || is_late;
    int r = stopped ? -ETIME
            : fails ? -EIO
                    : __real_crn_chain_run(chain, input, defects, judgement);
    int64_t took_ns = sim_now_ns() - begin_ns;
    if (r == 0) {
        judgement->run_ns += took_ns;
        judgement->cost_ns += took_ns;
    }
    note_end(input->maps.data);
    return r;
}

CRN_SIM_WRAP(crn_output *, crn_engine_collect, crn_engine *engine)
{
    crn_output *output = __real_crn_engine_collect(engine);
    if (output)
        sim_note_collected(output->view, output->status,
                           output->status == -ECANCELED ? 0 : ended_at(output->view->maps));
    return output;
}

CRN_SIM_WRAP(void, crn_publish_verdict, crn_publish *publish, const crn_fruit *fruit,
             const crn_result_store *store, int64_t now_ns)
{
    sim_note_verdict(fruit, now_ns);
    __real_crn_publish_verdict(publish, fruit, store, now_ns);
    sim_check_sequence(fruit, crn_publish_last(publish)->facts.sequence);
}

/* Called once in each pass of the line's loop, when no step is half done. */
CRN_SIM_WRAP(void, crn_publish_service, crn_publish *publish, const char *state, int64_t now_ns)
{
    static uint32_t passes;
    __real_crn_publish_service(publish, state, now_ns);
    if (passes++ % LOOK_EVERY == 0)
        sim_check_counts();
}

/* What the machine has left is not simulated. */
int __wrap_crn_resources_create(const crn_resources_settings *settings,
                                crn_resources_reader **ret_reader);
int __wrap_crn_resources_create(const crn_resources_settings *settings,
                                crn_resources_reader **ret_reader)
{
    (void)settings;
    *ret_reader = NULL;
    return 0;
}

int __wrap_crn_socket_calls_init(void);
int __wrap_crn_socket_calls_init(void)
{
    return 0;
}
