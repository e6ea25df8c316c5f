#include "tests/support/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t crn_random_seed(void)
{
    const char *text = getenv("CRN_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed =
        text ? strtoull(text, NULL, 0) : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    printf("CRN_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}

uint32_t crn_random_cases(uint32_t by_default)
{
    const char *text = getenv("CRN_CASES");
    return text ? (uint32_t)strtoul(text, NULL, 0) : by_default;
}

/* splitmix64: suitable for any seed, including consecutive ones. */
uint64_t crn_random_next(crn_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t crn_random_below(crn_random *random, uint32_t limit)
{
    return (uint32_t)((crn_random_next(random) >> 32) * limit >> 32);
}

int32_t crn_random_between(crn_random *random, int32_t min, int32_t max)
{
    return min + (int32_t)crn_random_below(random, (uint32_t)(max - min) + 1);
}

bool crn_random_once_in(crn_random *random, uint32_t times)
{
    return crn_random_below(random, times) == 0;
}

double crn_random_unit(crn_random *random)
{
    return (double)(crn_random_next(random) >> 11) * 0x1p-53;
}

size_t crn_random_spoil(crn_random *random, unsigned char *bytes, size_t size)
{
    int32_t changes = crn_random_between(random, 1, CRN_SPOILT_MORE);
    for (int32_t i = 0; i < changes && size > 0; i++) {
        /* Every other one near the start, where the headers are. */
        size_t range = crn_random_between(random, 0, 1) && size > 200 ? 200 : size;
        size_t at = crn_random_below(random, (uint32_t)range);
        switch (crn_random_between(random, 0, 5)) {
        case 0:
            bytes[at] ^= (unsigned char)(1 << crn_random_between(random, 0, 7));
            break;
        case 1:
            bytes[at] = (unsigned char)crn_random_next(random);
            break;
        case 2:
            bytes[at] = crn_random_between(random, 0, 1) ? 0xff : 0;
            break;
        case 3:
            size = crn_random_between(random, 0, 3) ? size : at;
            break;
        case 4:
            memmove(bytes + at, bytes + at + 1, size - at - 1);
            size--;
            break;
        default:
            memmove(bytes + at + 1, bytes + at, size - at);
            size++;
            break;
        }
    }
    return size;
}
