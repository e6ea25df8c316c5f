#include "tests/support/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DESCRIPTORS_MAX 16

char test_folder[64];

int test_folder_make(void **state)
{
    (void)state;
    strcpy(test_folder, "/tmp/cernita-test-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

int test_folder_remove(void **state)
{
    (void)state;
    return nftw(test_folder, remove_entry, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
}
