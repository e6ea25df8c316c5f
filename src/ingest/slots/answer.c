#include "src/ingest/slots/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stages/backend.h"

/* By crn_slots_kind. */
static const char *const kind_names[] = {
    [CRN_SLOTS_MEMFD] = "memfd", [CRN_SLOTS_VMM] = "vmm", [CRN_SLOTS_CUDA_IPC] = "cuda_ipc"};

void crn_slots_refuse(crn_slots_answer *answer, int fault, const char *format, ...)
{
    va_list list;
    *answer = (crn_slots_answer){.status = (uint32_t)fault};
    va_start(list, format);
    vsnprintf(answer->text, sizeof answer->text, format, list);
    va_end(list);
}

uint64_t crn_slots_slot_bytes_max(const crn_config *config)
{
    return crn_slots_round_up(((uint64_t)config->limits.view_mib << 20) + CRN_SLOTS_ALIGNMENT,
                              CRN_SLOTS_PAGE_BYTES);
}

static const char *name_of(uint16_t kind)
{
    return kind >= CRN_SLOTS_MEMFD && kind <= CRN_SLOTS_CUDA_IPC ? kind_names[kind] : "unknown";
}

static bool is_given(const crn_config *config, uint16_t kind)
{
    return (kind == CRN_SLOTS_MEMFD || kind == CRN_SLOTS_VMM) &&
           crn_config_gives_slots(config, kind_names[kind]);
}

/* Index of the GPU of that UUID, or -1. */
static int32_t find_gpu(const crn_slots_gpus *gpus, const unsigned char uuid[16])
{
    for (int32_t i = 0; i < gpus->count; i++)
        if (memcmp(gpus->of[i].uuid, uuid, sizeof gpus->of[i].uuid) == 0)
            return i;
    return -1;
}

/* False with a refusal if the hello's device is not one for its kind. */
static bool check_device(const crn_config *config, const crn_slots_gpus *gpus,
                         const crn_slots_hello *hello, crn_slots_decision *decision)
{
    crn_slots_answer *answer = &decision->answer;
    if (hello->kind == CRN_SLOTS_MEMFD) {
        bool is_zero = memcmp(hello->device, (unsigned char[sizeof hello->device]){0},
                              sizeof hello->device) == 0;
        if (!is_zero)
            crn_slots_refuse(answer, EINVAL, "device is not 0, as it must be for host memory");
        return is_zero;
    }
    decision->gpu = find_gpu(gpus, hello->device);
    if (gpus->count == 0)
        crn_slots_refuse(answer, ENODEV, "kind vmm: this line uses no GPU (run.backend: %s)",
                         crn_backend_names[config->run.backend]);
    else if (decision->gpu < 0)
        crn_slots_refuse(answer, ENODEV,
                         "kind vmm: the line does not use the GPU of this UUID (run.devices)");
    else if (atomic_load(&gpus->of[decision->gpu].is_lost))
        crn_slots_refuse(answer, ENODEV, "kind vmm: device %" PRId32 " was lost; restart cernitad",
                         gpus->of[decision->gpu].number);
    return answer->status == 0;
}

void crn_slots_decide(const crn_config *config, const crn_slots_gpus *gpus, const void *bytes,
                      size_t size, crn_slots_decision *ret_decision)
{
    crn_slots_hello hello;
    crn_slots_decision decision = {.answer.status = 0};
    crn_slots_answer *answer = &decision.answer;
    uint64_t max = crn_slots_slot_bytes_max(config);
    if (!crn_slots_parse_hello(bytes, size, &hello))
        crn_slots_refuse(answer, EPROTO, "not a hello of %d bytes that begins with CRNS",
                         CRN_SLOTS_HELLO_BYTES);
    else if (hello.version != CRN_SLOTS_VERSION)
        crn_slots_refuse(answer, EPROTONOSUPPORT,
                         "version %u of the protocol: this line knows version %d",
                         (unsigned)hello.version, CRN_SLOTS_VERSION);
    else if (!is_given(config, hello.kind))
        crn_slots_refuse(answer, EOPNOTSUPP, "kind %u (%s) is not in ingest.slots.kinds",
                         (unsigned)hello.kind, name_of(hello.kind));
    else if (!check_device(config, gpus, &hello, &decision))
        decision.kind = 0;
    else if (hello.slot_bytes == 0)
        crn_slots_refuse(answer, EINVAL, "slot_bytes is 0: give the size of the largest view");
    else if (hello.slot_bytes > max)
        crn_slots_refuse(answer, EMSGSIZE,
                         "slots of %" PRIu64 " bytes: limits.view_mib (%" PRId64
                         ") allows %" PRIu64,
                         hello.slot_bytes, config->limits.view_mib, max);
    if (answer->status == 0) {
        uint32_t most = (uint32_t)config->ingest.slots.slots;
        decision.kind = hello.kind;
        answer->slots = hello.slots && hello.slots < most ? hello.slots : most;
        answer->slot_bytes = crn_slots_round_up(hello.slot_bytes, CRN_SLOTS_PAGE_BYTES);
    }
    *ret_decision = decision;
}
