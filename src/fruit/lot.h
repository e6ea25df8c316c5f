/*
 * The lot: the fruit of one delivery, named by whoever runs the line. Its fruits' verdicts carry
 * its id; grower and variety are told beside it where the state is shown.
 */
#ifndef CRN_SRC_FRUIT_LOT_H
#define CRN_SRC_FRUIT_LOT_H

#include <stdbool.h>
#include <stdint.h>

/* With the final 0; crn_decoded.lot holds an id whole. */
#define CRN_LOT_ID_BYTES   48
#define CRN_LOT_TEXT_BYTES 64

/* Texts are UTF-8 that prints. */
typedef struct crn_lot {
    char id[CRN_LOT_ID_BYTES]; /* "": none; then the others are empty, too */
    char grower[CRN_LOT_TEXT_BYTES], variety[CRN_LOT_TEXT_BYTES]; /* "": not said */
    bool is_lost;    /* none, because it is not certain which was in force before the start */
    int64_t since_s; /* CLOCK_REALTIME, when it, or the time without one, began; 0: not known */
} crn_lot;

#endif
