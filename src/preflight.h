/*
 * What the start will need, tested before it and without a trace: addresses and paths to bind, the
 * folder to record in, memory, descriptors, devices. The daemon does this at --check and at its
 * start, so that both say the same.
 */
#ifndef CRN_SRC_PREFLIGHT_H
#define CRN_SRC_PREFLIGHT_H

#include <stdio.h>

#include "gpu/gpu.h"
#include "src/config/config.h"

/*
 * Every fault is a line `file: key: what; cure` on `faults`, what is only worth knowing a line
 * `note: …` on `notes`; NULL: silence. `config` is resolved, its `file` set; `gpu` (NULL: none) is
 * what run.backend cuda and auto will use. 0, or -EINVAL where the start would fail.
 *
 * An endpoint that another program has, perhaps this line's running daemon, is a note: only the
 * start itself can take it.
 */
int crn_preflight(const crn_config *config, const crn_gpu *gpu, FILE *faults, FILE *notes);

#endif
