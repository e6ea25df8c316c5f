/*
 * Golden files: results computed by a peer, case by case (tests/golden/make_*.py), and the tests
 * that read them. Numbers are little-endian, which matches all supported machines.
 */
#ifndef CRN_TESTS_SUPPORT_GOLDEN_FILE_H
#define CRN_TESTS_SUPPORT_GOLDEN_FILE_H

#include "stages/backend.h"

typedef struct golden_file {
    const uint8_t *next; /* read position */
    size_t left;
} golden_file;

/* What is tested: the operators of one backend, with a context of that many threads. */
typedef struct golden_backend {
    const crn_ops *ops;
    crn_context *context;
    char name[32]; /* of both, for messages */
} golden_backend;

typedef struct golden_cases {
    const char *path;
    char magic[5];  /* 4 bytes; a u32 number of cases follows, then the cases */
    uint32_t least; /* minimum number of cases */
    /* Reads and tests the case with that number. */
    void (*try_case)(golden_file *file, const golden_backend *backend, uint32_t number);
} golden_cases;

/* Tests all cases: serial with one thread, openmp with one and three. Fails the running test if
 * data remain after the last case. */
void golden_try_serial(const golden_cases *cases);
void golden_try_openmp(const golden_cases *cases);

/* The next bytes; fails the running test if the file is too short. */
const uint8_t *golden_bytes(golden_file *file, size_t count);
void golden_read(golden_file *file, void *ret_bytes, size_t count);

/* A copy aligned for any type; the caller frees it. */
void *golden_copy(golden_file *file, size_t count);

/* A dense image; the caller frees its `data`. */
crn_image golden_image(golden_file *file, crn_type type, crn_layout layout, int32_t planes,
                       int32_t height, int32_t width);

/* A dense image of the same type and size, filled with 0x5a bytes; the caller frees its `data`. */
crn_image golden_result(const crn_image *like);

#endif
