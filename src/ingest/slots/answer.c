#include "src/ingest/slots/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void crn_slots_decide(const crn_config *config, const void *bytes, size_t size,
                      crn_slots_answer *ret_answer)
{
    crn_slots_hello hello;
    uint64_t max = crn_slots_slot_bytes_max(config);
    if (!crn_slots_parse_hello(bytes, size, &hello))
        crn_slots_refuse(ret_answer, EPROTO, "not a hello of %d bytes that begins with CRNS",
                         CRN_SLOTS_HELLO_BYTES);
    else if (hello.version != CRN_SLOTS_VERSION)
        crn_slots_refuse(ret_answer, EPROTONOSUPPORT,
                         "version %u of the protocol: this line knows version %d",
                         (unsigned)hello.version, CRN_SLOTS_VERSION);
    else if (hello.kind != CRN_SLOTS_MEMFD)
        crn_slots_refuse(
            ret_answer, EOPNOTSUPP,
            "kind %u (%s): this line has memfd (1), in host memory (ingest.slots.kinds)",
            (unsigned)hello.kind, name_of(hello.kind));
    else if (memcmp(hello.device, (unsigned char[sizeof hello.device]){0}, sizeof hello.device) !=
             0)
        crn_slots_refuse(ret_answer, EINVAL, "device is not 0, as it must be for host memory");
    else if (hello.slot_bytes == 0)
        crn_slots_refuse(ret_answer, EINVAL, "slot_bytes is 0: give the size of the largest view");
    else if (hello.slot_bytes > max)
        crn_slots_refuse(ret_answer, EMSGSIZE,
                         "slots of %" PRIu64 " bytes: limits.view_mib (%" PRId64
                         ") allows %" PRIu64,
                         hello.slot_bytes, config->limits.view_mib, max);
    else
        *ret_answer = (crn_slots_answer){
            .slots = hello.slots && hello.slots < (uint32_t)config->ingest.slots.slots
                         ? hello.slots
                         : (uint32_t)config->ingest.slots.slots,
            .slot_bytes = crn_slots_round_up(hello.slot_bytes, CRN_SLOTS_PAGE_BYTES)};
}
