/*
 * The CPU engine: workers that run the chain. Views go in and come out without locks; one thread
 * submits and collects.
 */
#ifndef CRN_ENGINE_H
#define CRN_ENGINE_H

#include "src/base/error.h"
#include "src/chain.h"

/* A view that the engine has done, or left alone. */
typedef struct crn_output {
    crn_view *view;
    int status; /* 0, -ECANCELED (its fruit was judged first), or why the chain failed */
    crn_judgement judgement; /* when status is 0 */
    crn_defects defects;     /* when status is 0; the engine's memory */
} crn_output;

typedef struct crn_engine crn_engine;

/* Starts the workers and returns when all are ready. `config` is resolved and outlives the engine.
 */
int crn_engine_open(const crn_config *config, crn_engine **ret_engine, crn_error *error);

/* Lets the workers end what they run, joins them, nulls; NULL is fine. Views inside are the
 * caller's again. */
void crn_engine_close(crn_engine **engine);

/* Hands a view over until collect gives it back. 0, or -EAGAIN when every worker has one to run and
 * one waiting. */
int crn_engine_submit(crn_engine *engine, crn_view *view);
bool crn_engine_has_room(const crn_engine *engine);

/* The next view that is done, NULL when none is. Its output is the caller's until
 * crn_engine_release. */
crn_output *crn_engine_collect(crn_engine *engine);
void crn_engine_release(crn_engine *engine, crn_output *output);

/* Readable when collect may find something; reset by crn_engine_rearm before collecting. */
int crn_engine_descriptor(const crn_engine *engine);
void crn_engine_rearm(crn_engine *engine);

/*
 * Whether every worker is there and none has been at one view for longer than limit_ns. A worker
 * that is not will not come back: the process must end. 0, or -EIO with the worker and its view in
 * *error.
 */
int crn_engine_check(const crn_engine *engine, int64_t now_ns, int64_t limit_ns, crn_error *error);

/* "openmp, 1 worker, 1 thread": what runs, for the log. */
const char *crn_engine_describe(const crn_engine *engine);

/* Bytes that the engine reserves, for the memory that --check tells. */
size_t crn_engine_bytes(const crn_config *config);

#endif
