#include "tests/support/line/gate.h"

#include <semaphore.h>

static sem_t opened, reached;
static int result;

static int wait_at_the_gate(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    sem_post(&reached);
    while (sem_wait(&opened) < 0)
        continue;
    return result;
}

const crn_stage crn_gated = {
    .name = "held", .kind = CRN_STAGE_CONTOURS, .enqueue = wait_at_the_gate};

void crn_gate_close(int status)
{
    sem_init(&opened, 0, 0);
    sem_init(&reached, 0, 0);
    result = status;
}

void crn_gate_wait(void)
{
    while (sem_wait(&reached) < 0)
        continue;
}

void crn_gate_let_through(int views)
{
    for (int i = 0; i < views; i++)
        sem_post(&opened);
}
