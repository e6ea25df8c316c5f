/* Termination signals of programs that wait for other things at the same time. */
#ifndef CRN_TOOLS_COMMON_SIGNALS_H
#define CRN_TOOLS_COMMON_SIGNALS_H

/* Blocks SIGINT, SIGTERM and SIGHUP in this thread and in those that it starts from now on,
 * libzmq's among them. Returns a descriptor that is readable once one of them has come (signalfd),
 * or -1. */
int crn_signals_catch(void);

#endif
