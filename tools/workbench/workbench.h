/* The program's state, and what its parts know of each other. One thread. */
#ifndef CRN_TOOLS_WORKBENCH_WORKBENCH_H
#define CRN_TOOLS_WORKBENCH_WORKBENCH_H

#include <microhttpd.h>

#include "src/http/address.h"
#include "src/http/token.h"
#include "tools/workbench/fruits/index.h"
#include "tools/workbench/jobs.h"
#include "tools/workbench/store.h"

typedef struct crn_request crn_request;

typedef struct crn_workbench {
    const char *listen;                   /* as on the command line */
    char address[CRN_HTTP_ADDRESS_BYTES]; /* as bound */
    char token[CRN_HTTP_TOKEN_BYTES];     /* that clients must know; "": none */
    struct MHD_Daemon *daemon;
    crn_store store;
    crn_jobs jobs;             /* operators, chains: one at a time, so that times are true */
    crn_jobs quick;            /* what a page waits for meanwhile: checks, values, files */
    crn_fruit_sources sources; /* of recorded fruits, the command line's; given.c owns the texts */
    char *catalogue;           /* JSON; owned */
    size_t catalogue_bytes;
    crn_encoder *encoder;
    crn_request *waiting;   /* suspended until their job has ended */
    int uploads;            /* under way */
    uint64_t sending_bytes; /* of jobs' output, by answers under way */
    bool resumed; /* a connection, since libmicrohttpd ran last: it does not wake up by itself */
    bool ending;
} crn_workbench;

#endif
