/* The chain of the entries of a log of changes, line by line. */
#ifndef CRN_SRC_FORMATS_CHANGES_CHAIN_H
#define CRN_SRC_FORMATS_CHANGES_CHAIN_H

#include <stdio.h>

#include <sodium/crypto_hash_sha256.h>

#include "src/formats/changes/entry.h"

CRN_C_BEGIN

typedef struct crn_change_chain {
    uint64_t lines;        /* so far */
    uint64_t cuts;         /* entries that a loss of power cut, and a later entry vouches for */
    crn_change_links last; /* the last whole entry; number 0: none yet */
    uint64_t fault_line;   /* the first line that does not fit, from 1; 0: all fit */
    char fault[256];       /* what is wrong with it */
    bool ends_in_cut;      /* the last line is cut, and no later entry vouches for it yet */
    bool lacks_line_end;   /* the last line, which is cut or whole */
    char cut[CRN_SHA256_TEXT_BYTES]; /* of it, with the line end that an entry after it adds */
    /* Lines since the last whole entry, which are none: */
    uint64_t run_line, run_lines; /* the first of them; how many; 0: none */
    crypto_hash_sha256_state run;
} crn_change_chain;

/* Called for each whole entry; `line` is without its end. */
typedef void crn_change_seen(void *context, const crn_change_links *links, const char *line,
                             size_t length);

/* Follows the chain to the end of the file, from its begin; `seen` may be NULL. Returns 0 where the
 * file could be read, whatever it holds, or a negative errno. */
int crn_change_chain_read(FILE *file, crn_change_seen *seen, void *context,
                          crn_change_chain *ret_chain);

CRN_C_END

#endif
