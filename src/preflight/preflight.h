/*
 * Tests without side effects what the start will need: addresses and paths to bind, the folders of
 * recordings and the verdict log, memory, descriptors, devices, CPUs. The daemon runs it for
 * --check and at its start, so that both report the same.
 */
#ifndef CRN_SRC_PREFLIGHT_H
#define CRN_SRC_PREFLIGHT_H

#include <stdio.h>

#include "gpu/gpu.h"
#include "stages/config/config.h"

/*
 * Every error is a line `file: key: what; hint` on `faults`, every note a line `note: …` on
 * `notes`; NULL: no output. `config` is resolved, its `file` set; `gpu` (NULL: none) is what
 * run.backend cuda and auto will use. Returns 0, or -EINVAL if the start would fail.
 *
 * A folder that the systemd unit makes and that is not there yet is only a note of --check, that
 * is, where `notes` is not NULL. An endpoint in use by another program, perhaps this line's running
 * daemon, is only a note: the start itself will find out.
 */
int crn_preflight(const crn_config *config, const crn_gpu *gpu, FILE *faults, FILE *notes);

/* Before crn_preflight at the start: makes the folder of the verdict log that a unit keeps though
 * its file does not ask for one (publish.log.of_unit), and limits it to a quarter of the disk's
 * room. Where that fails a warning says so and there is no log: the line sorts without. */
void crn_preflight_unit_log(crn_config *config);

#endif
