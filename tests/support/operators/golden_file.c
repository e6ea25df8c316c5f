#include "tests/support/operators/golden_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/images.h"

const uint8_t *golden_bytes(golden_file *file, size_t count)
{
    assert_true(count <= file->left);
    const uint8_t *bytes = file->next;
    file->next += count;
    file->left -= count;
    return bytes;
}

void golden_read(golden_file *file, void *ret_bytes, size_t count)
{
    memcpy(ret_bytes, golden_bytes(file, count), count);
}

void *golden_copy(golden_file *file, size_t count)
{
    void *copy = malloc(count + 1);
    assert_non_null(copy);
    golden_read(file, copy, count);
    return copy;
}

crn_image golden_image(golden_file *file, crn_type type, crn_layout layout, int32_t planes,
                       int32_t height, int32_t width)
{
    crn_image image = crn_image_dense(NULL, type, layout, planes, height, width);
    image.data = golden_copy(file, crn_image_elements(&image) * crn_type_bytes(type));
    return image;
}

crn_image golden_result(const crn_image *like)
{
    crn_image result = *like;
    size_t bytes = crn_image_elements(like) * crn_type_bytes(like->type);
    result.data = malloc(bytes);
    assert_non_null(result.data);
    memset(result.data, 0x5a, bytes);
    return result;
}

/* Loads the whole file; the caller frees it. */
static uint8_t *load(const char *path, size_t *ret_bytes)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    *ret_bytes = (size_t)status.st_size;
    uint8_t *bytes = malloc(*ret_bytes + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *ret_bytes, file), *ret_bytes);
    fclose(file);
    return bytes;
}

static void try_all(const golden_cases *cases, crn_backend kind, int32_t threads)
{
    const char *why = NULL;
    golden_backend backend = {.ops = crn_backend_ops(kind, &why)};
    assert_non_null(backend.ops);
    assert_int_equal(crn_context_create(threads, &backend.context), 0);
    snprintf(backend.name, sizeof backend.name, "%s, %d threads", backend.ops->name, threads);

    golden_file file;
    uint8_t *bytes = load(cases->path, &file.left);
    file.next = bytes;
    uint32_t count;
    assert_memory_equal(golden_bytes(&file, 4), cases->magic, 4);
    golden_read(&file, &count, sizeof count);
    assert_true(count > cases->least);
    for (uint32_t i = 0; i < count; i++)
        cases->try_case(&file, &backend, i);
    assert_int_equal(file.left, 0);
    free(bytes);
    crn_context_free(&backend.context);
}

void golden_try_serial(const golden_cases *cases)
{
    try_all(cases, CRN_BACKEND_SERIAL, 1);
}

void golden_try_openmp(const golden_cases *cases)
{
    try_all(cases, CRN_BACKEND_OPENMP, 1);
    try_all(cases, CRN_BACKEND_OPENMP, 3);
}
