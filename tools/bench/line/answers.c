#include "tools/bench/line/answers.h"

#include <errno.h>
#include <string.h>

#include "src/formats/verdict/decode.h"
#include "stages/base/clock.h"

#define TOPIC "fruit/"

void *crn_bench_answers_connect(const crn_peer *peer, void *zmq)
{
    void *socket = zmq_socket(zmq, ZMQ_PULL);
    int zero = 0, unlimited = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    zmq_connect(socket, peer->out);
    return socket;
}

int crn_bench_answers_receive(void *socket, int flags, crn_bench_answer *ret_answer)
{
    zmq_msg_t topic;
    zmq_msg_init(&topic);
    int size = zmq_msg_recv(&topic, socket, flags);
    bool is_answer =
        size >= (int)strlen(TOPIC) && memcmp(zmq_msg_data(&topic), TOPIC, strlen(TOPIC)) == 0;
    zmq_msg_close(&topic);
    if (size < 0)
        return -EAGAIN;
    zmq_msg_init(&ret_answer->message);
    zmq_msg_recv(&ret_answer->message, socket, 0);
    ret_answer->arrived_ns = crn_now_ns();
    if (!is_answer)
        zmq_msg_close(&ret_answer->message);
    return is_answer;
}

static crn_bench_verdict describe(const crn_decoded *verdict)
{
    crn_bench_verdict about = {.fruit = verdict->fruit, .kind = verdict->kind};
    if (verdict->total_ms > verdict->budget_ms)
        about.past_ms = verdict->total_ms - verdict->budget_ms;
    for (uint32_t i = 0; i < verdict->view_count; i++)
        if (verdict->views[i].captured_ns > about.captured_ns)
            about.captured_ns = verdict->views[i].captured_ns;
    return about;
}

int crn_bench_answers_read(crn_bench_answer *answer, crn_bench_verdict *ret_verdict)
{
    zmq_msg_t *message = &answer->message;
    if (zmq_msg_size(message) == sizeof ret_verdict->fruit) {
        *ret_verdict = (crn_bench_verdict){.kind = CRN_VERDICT_COMPLETE};
        memcpy(&ret_verdict->fruit, zmq_msg_data(message), sizeof ret_verdict->fruit);
        return 0;
    }
    crn_messagepack_json packed;
    crn_error error;
    crn_decoded *verdict = NULL;
    int r =
        crn_messagepack_json_init(&packed, zmq_msg_data(message), zmq_msg_size(message), &error);
    if (r < 0)
        return r;
    r = crn_decode_head(&packed, &verdict, &error);
    if (r == 0)
        *ret_verdict = describe(verdict);
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
    return r;
}

double crn_bench_quantile(const double *sorted, uint64_t count, double share)
{
    if (count == 0)
        return 0;
    uint64_t index = (uint64_t)(share * (double)count);
    return sorted[index < count ? index : count - 1];
}
