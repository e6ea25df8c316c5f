/*
 * The files that hold what a peer computed, case by case (tests/golden/make_*.py), and their tests.
 * Numbers are little-endian, as on every machine that this runs on: a case's bytes are its fields.
 */
#ifndef CRN_TESTS_SUPPORT_GOLDEN_FILE_H
#define CRN_TESTS_SUPPORT_GOLDEN_FILE_H

#include "stages/backend.h"

typedef struct golden_file {
    const uint8_t *next; /* what is to be read */
    size_t left;
} golden_file;

/* Who is tested: the operators of one backend, in a context with so many threads. */
typedef struct golden_backend {
    const crn_ops *ops;
    crn_context *context;
    char name[32]; /* of both */
} golden_backend;

typedef struct golden_cases {
    const char *path;
    char magic[5];  /* 4 bytes; after them u32, the number of cases, and the cases */
    uint32_t least; /* so many there must be */
    /* Reads the case with that number and tries it. */
    void (*try_case)(golden_file *file, const golden_backend *backend, uint32_t number);
} golden_cases;

/* Tries all cases: serial in one thread, or openmp in one and in three. Fails the running test when
 * the file does not end with the last case. */
void golden_try_serial(const golden_cases *cases);
void golden_try_openmp(const golden_cases *cases);

/* The next bytes; they fail the running test when the file ends before. */
const uint8_t *golden_bytes(golden_file *file, size_t count);
void golden_read(golden_file *file, void *ret_bytes, size_t count);

/* Aligned for any type; the caller frees it. */
void *golden_copy(golden_file *file, size_t count);

/* A dense image, over memory (its `data`) that the caller frees. */
crn_image golden_image(golden_file *file, crn_type type, crn_layout layout, int32_t planes,
                       int32_t height, int32_t width);

/* An image like that one in all but its elements, over memory that the caller frees: dense, in 0x5a
 * bytes. */
crn_image golden_result(const crn_image *like);

#endif
