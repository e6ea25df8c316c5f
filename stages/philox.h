/**
 * @file
 * Philox4x32-10: a counter-based random number generator that maps a counter and a key to four
 * random words. Plain C that nvcc also compiles for device code.
 *
 * @see Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011
 */
#ifndef CRN_STAGES_PHILOX_H
#define CRN_STAGES_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define CRN_PHILOX_INLINE static __host__ __device__ inline
#else
#define CRN_PHILOX_INLINE static inline
#endif

#define CRN_PHILOX_ROUNDS  10
#define CRN_PHILOX_FACTOR0 0xD2511F53u /**< of word 0 */
#define CRN_PHILOX_FACTOR1 0xCD9E8D57u /**< of word 2 */
#define CRN_PHILOX_WEYL0   0x9E3779B9u /**< added to the key after each round */
#define CRN_PHILOX_WEYL1   0xBB67AE85u

/** Computes the four words of a counter and a key (low half first). */
CRN_PHILOX_INLINE void crn_philox(const uint32_t counter[4], uint64_t key, uint32_t ret_words[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < CRN_PHILOX_ROUNDS; round++) {
        uint64_t a = (uint64_t)CRN_PHILOX_FACTOR0 * x0, b = (uint64_t)CRN_PHILOX_FACTOR1 * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)a;
        k0 += CRN_PHILOX_WEYL0;
        k1 += CRN_PHILOX_WEYL1;
    }
    ret_words[0] = x0;
    ret_words[1] = x1;
    ret_words[2] = x2;
    ret_words[3] = x3;
}

#endif
