/* Pinned memory of the simulated devices: fake_gpu.c puts these functions into its table. */
#ifndef CRN_TESTS_SUPPORT_FAKE_PINNED_H
#define CRN_TESTS_SUPPORT_FAKE_PINNED_H

#include <stddef.h>
#include <stdint.h>

void *crn_fake_gpu_pinned_create(size_t bytes);
void crn_fake_gpu_pinned_free(void *memory);
int crn_fake_gpu_pin(int32_t device, void *memory, size_t bytes);
void crn_fake_gpu_unpin(void *memory);

/* Lets the host access what crn_fake_gpu_hide() hides so (PROT_*). */
void crn_fake_gpu_allow(int access);

#endif
