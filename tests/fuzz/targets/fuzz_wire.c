/*
 * libFuzzer entry point: a header part and the sizes of the others, from the fuzzer's bytes. Built
 * with clang only; see tests/fuzz/README.md.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/view/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The bytes are [number of parts][two bits: the other parts' sizes are 1 off][the header part]. The
 * other parts are never read, so their declared size need not be backed by memory.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const crn_wire_rules rules = {.max_bytes = 16 << 20, .channels = 12, .views = 16};
    if (size < 2)
        return 0;
    size_t count = data[0] % 5, lie = data[1];
    data += 2;
    size -= 2;
    crn_view_header header = {0}, said = {0};
    if (size >= CRN_WIRE_HEADER_BYTES)
        crn_wire_peek(data, &said);
    crn_wire_part parts[CRN_WIRE_PARTS_MAX] = {
        {data, size},
        {NULL, said.payload_bytes + (lie & 1)},
        {NULL, (size_t)said.height * said.width + (lie >> 1 & 1)},
    };
    if (crn_wire_check(parts, count, &rules, &header))
        return 0;
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(&header, bytes);
    unsigned __int128 total = (unsigned __int128)header.height * header.width * header.channels *
                                  crn_type_bytes(header.type) +
                              crn_wire_intensity_bytes(&header);
    if (memcmp(bytes, data, sizeof bytes) != 0 || lie & 1 || total > rules.max_bytes)
        abort();
    return 0;
}
