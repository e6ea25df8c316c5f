/*
 * A disk that loses its power. What this program does to the files of a folder is noted, call by
 * call, while the calls themselves go to the kernel; disk_image() then makes the folder as a loss
 * of power after any of them may leave it.
 *
 * What is on the disk for certain: of a file, the bytes that were written before its last fsync();
 * of a folder, the names that were given before its last fsync(). All else may be there or not,
 * each write for itself and in parts of 512 bytes, while the size of its file may have grown over
 * it (zeros). Names change in order, as in a journal. Past the page cache (O_DIRECT) writes are on
 * the disk when they return, but the file's size may be that of before.
 *
 * Noted are the calls that the C library's names lead to; what stdio writes is noted at the next
 * fsync(), rename() or link of its file. Memory that is mapped is not.
 */
#ifndef CRN_TESTS_FAULTS_POWER_DISK_H
#define CRN_TESTS_FAULTS_POWER_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "tests/support/random.h"

/* Begins to note what happens in this folder, which is empty and has an absolute path; names that
 * end in `ignored`, unless NULL, are left out. */
void disk_watch(const char *folder, const char *ignored);

/* Ends it; what was noted stays until the next disk_watch(). */
void disk_unwatch(void);

/* The program was told, or tells others, that all up to `value` is kept. */
void disk_acknowledge(uint64_t value);

/* Calls that were noted. */
size_t disk_calls(void);

/* What became of what is not on the disk for certain. */
typedef enum disk_loss {
    DISK_KEEPS_ALL, /* as when the process alone is killed */
    DISK_LOSES_ALL,
    DISK_DRAWS, /* drawn for each write */
    DISK_LOSSES
} disk_loss;

/* Makes `into`, an empty folder, as the power failed after so many calls. Returns what was last
 * acknowledged by then, 0 without. */
uint64_t disk_image(size_t calls, disk_loss loss, crn_random *random, const char *into);

#endif
