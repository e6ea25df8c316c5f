/* The list of operators: what each is called, what the values of its options may be, and what it
 * writes. Command lines and forms are made from it. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OPERATORS_H
#define CRN_TOOLS_COMMON_OPERATORS_OPERATORS_H

#include "stages/base/error.h"
#include "stages/picture/picture.h"
#include "tools/common/options.h"

/* What an operator does of its own, in this order; all but `work` may be NULL. Functions that
 * return an int return 0 or a negative errno with *error. */
typedef struct crn_operator_hooks {
    /* After the last option: exits 2 if they do not go together, or with OUT. */
    void (*check_options)(void *settings, const char *out);
    /* Reads what the options name. */
    int (*prepare)(void *settings, const char *in, crn_error *error);
    /* Refuses a picture, or too little memory for it, before it is read. */
    int (*check_picture)(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error);
    /* From IN's picture to the file OUT; a generator gets neither IN nor a picture. */
    int (*work)(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error);
} crn_operator_hooks;

/* One operator. Its settings, which the options fill, begin with a crn_apply. */
typedef struct crn_operator {
    const char *name;           /* as on the command line */
    const char *summary;        /* a clause, for the list of all */
    const char *about;          /* as crn_tool's */
    const crn_option *options;  /* its own; its command line has the common ones, too */
    const char *const *endings; /* of OUT, with the dot; NULL-terminated */
    bool generates;             /* it has no IN */
    size_t function;            /* offset in crn_ops */
    size_t settings_bytes;
    const void *initial; /* settings; NULL: all 0 */
    crn_operator_hooks hooks;
} crn_operator;

#define CRN_OPERATORS 6

extern const crn_operator *const crn_operators[CRN_OPERATORS];

/* NULL if there is none of that name. */
const crn_operator *crn_operator_find(const char *name);

/* Runs an operator from file to file. argv[0] is its name. Returns the exit status, or exits with
 * it. */
int crn_operator_run(const crn_operator *of, int argc, char **argv);

#endif
