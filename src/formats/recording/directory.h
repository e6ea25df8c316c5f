/*
 * A page's directory, to know others by: those of the maps of a recording differ in where their
 * pixels and the next directory lie, and in nothing else. libtiff takes 20 us for each.
 */
#ifndef CRN_SRC_FORMATS_RECORDING_DIRECTORY_H
#define CRN_SRC_FORMATS_RECORDING_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRN_DIRECTORY_ENTRIES     16 /* a page of a recording has 11, the first one 12 */
#define CRN_DIRECTORY_ENTRY_BYTES 20
#define CRN_DIRECTORY_MAX         (8 + CRN_DIRECTORY_ENTRIES * CRN_DIRECTORY_ENTRY_BYTES + 8)

typedef struct crn_directory {
    unsigned char bytes[CRN_DIRECTORY_MAX]; /* count, entries, link to the next one */
    size_t size;                            /* of these; 0: none */
} crn_directory;

/* Bytes that a directory has by the count that begins it; 0: more than one of a page has. */
size_t crn_directory_size(const unsigned char count[8]);

/* Keeps the directory of a page, whose pixels are one strip at that offset of the file. One that
 * says this otherwise than recordings do is not kept. */
void crn_directory_keep(crn_directory *kept, const unsigned char *bytes, size_t size,
                        uint64_t pixels);

/* True if the bytes, `size` of the kept one, are its, with one strip at `pixels` instead. */
bool crn_directory_is_alike(const crn_directory *kept, const unsigned char *bytes, uint64_t pixels);

/* Offset of the next directory. */
uint64_t crn_directory_link(const unsigned char *bytes, size_t size);

#endif
