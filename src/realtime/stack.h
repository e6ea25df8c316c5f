/* Stacks, of which a thread's first calls would else fault in a page each. */
#ifndef CRN_SRC_REALTIME_STACK_H
#define CRN_SRC_REALTIME_STACK_H

/* Makes CRN_STACK_BYTES of the calling thread's stack resident. */
void crn_stack_touch(void);

/* More than any thread of the line was seen to use. */
#define CRN_STACK_BYTES (256 * 1024)

#endif
