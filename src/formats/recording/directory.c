#include "src/formats/recording/directory.h"

#include <string.h>

#define STRIP_OFFSETS 273
#define COUNT_BYTES   8
#define LINK_BYTES    8

/* An entry as it lies in the file, little-endian as this machine. */
typedef struct __attribute__((packed)) directory_entry {
    uint16_t tag, type;
    uint64_t count, value;
} directory_entry;

_Static_assert(sizeof(directory_entry) == CRN_DIRECTORY_ENTRY_BYTES, "of a BigTIFF");

size_t crn_directory_size(const unsigned char count[COUNT_BYTES])
{
    uint64_t entries;
    memcpy(&entries, count, sizeof entries);
    return entries > CRN_DIRECTORY_ENTRIES
               ? 0
               : COUNT_BYTES + (size_t)entries * CRN_DIRECTORY_ENTRY_BYTES + LINK_BYTES;
}

uint64_t crn_directory_link(const unsigned char *bytes, size_t size)
{
    uint64_t link;
    memcpy(&link, bytes + size - LINK_BYTES, sizeof link);
    return link;
}

/* Sets to 0 what pages differ in, if the pixels are one strip at that offset. */
static bool normalize(unsigned char *bytes, size_t size, uint64_t pixels)
{
    memset(bytes + size - LINK_BYTES, 0, LINK_BYTES);
    for (size_t at = COUNT_BYTES; at + LINK_BYTES < size; at += CRN_DIRECTORY_ENTRY_BYTES) {
        directory_entry entry;
        memcpy(&entry, bytes + at, sizeof entry);
        if (entry.tag != STRIP_OFFSETS)
            continue;
        if (entry.count != 1 || entry.value != pixels)
            return false;
        entry.value = 0;
        memcpy(bytes + at, &entry, sizeof entry);
        return true;
    }
    return false;
}

void crn_directory_keep(crn_directory *kept, const unsigned char *bytes, size_t size,
                        uint64_t pixels)
{
    memcpy(kept->bytes, bytes, size);
    kept->size = normalize(kept->bytes, size, pixels) ? size : 0;
}

bool crn_directory_is_alike(const crn_directory *kept, const unsigned char *bytes, uint64_t pixels)
{
    unsigned char own[CRN_DIRECTORY_MAX];
    memcpy(own, bytes, kept->size);
    return normalize(own, kept->size, pixels) && memcmp(own, kept->bytes, kept->size) == 0;
}
