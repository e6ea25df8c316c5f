#include "tools/workbench/fruits/index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t crn_fruit_class_bit(const crn_fruit_index *index, const char *name)
{
    for (int32_t i = 0; i < index->classes.count; i++)
        if (strcmp(index->classes.name[i], name) == 0)
            return UINT64_C(1) << i;
    return 0;
}

int crn_fruit_table_open(crn_fruit_table *ret_table, crn_error *error)
{
    struct stat status = {0};
    *ret_table = (crn_fruit_table){0};
    int fd = open(CRN_FRUIT_INDEX_NAME, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && fstat(fd, &status) == 0
                   ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                   : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return crn_error_set(error, -ENOENT, "the recordings are not read yet: POST /recordings");
    const crn_fruit_index *head = at;
    const char *bytes = (const char *)at + sizeof *head;
    ret_table->head = head;
    ret_table->bytes = (size_t)status.st_size;
    ret_table->fruits = (const void *)bytes;
    bytes += head->fruit_count * sizeof *ret_table->fruits;
    ret_table->by_time = (const void *)bytes;
    bytes += head->fruit_count * sizeof *ret_table->by_time;
    ret_table->views = (const void *)bytes;
    bytes += head->view_count * sizeof *ret_table->views;
    ret_table->recordings = (const void *)bytes;
    bytes += head->recording_count * sizeof *ret_table->recordings;
    ret_table->lots = (const void *)bytes;
    ret_table->paths = bytes + head->lot_count * sizeof *ret_table->lots;
    ret_table->notes = ret_table->paths + head->path_bytes;
    return 0;
}

void crn_fruit_table_close(crn_fruit_table *table)
{
    if (table->head)
        munmap((void *)(uintptr_t)table->head, table->bytes);
    *table = (crn_fruit_table){0};
}

int crn_fruit_table_get(const crn_fruit_table *table, int64_t number,
                        const crn_recorded_fruit **ret_fruit, crn_error *error)
{
    if (number < 0 || (uint64_t)number >= table->head->fruit_count)
        return crn_error_set(error, -ENOENT, "there is no fruit %lld: there are %llu",
                             (long long)number, (unsigned long long)table->head->fruit_count);
    *ret_fruit = &table->fruits[number];
    return 0;
}
