/* The words of a rule's text. */
#ifndef CRN_TOOLS_COMMON_RULES_TOKENS_H
#define CRN_TOOLS_COMMON_RULES_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/common/rules/truth.h"

typedef enum crn_token_kind {
    CRN_TOKEN_END,
    CRN_TOKEN_WORD,
    CRN_TOKEN_QUOTED,
    CRN_TOKEN_NUMBER,
    CRN_TOKEN_COMPARISON,
    CRN_TOKEN_MARK, /* ( ) , or . */
    CRN_TOKEN_BAD,
} crn_token_kind;

typedef struct crn_token {
    crn_token_kind kind;
    size_t at, length; /* in the rule's text; of a QUOTED with its quotes */
    double number;
    crn_comparison comparison;
    const char *fault; /* of a BAD: what is wrong, and the cure */
} crn_token;

/* Reads the token that begins at or after `at`. */
crn_token crn_token_read(const char *text, size_t length, size_t at);

/* True for a WORD or MARK of that text. */
bool crn_token_is(const char *text, const crn_token *token, const char *word);

/* "<", "<=", … by crn_comparison. */
extern const char *const crn_comparison_names[CRN_COMPARISONS];

#endif
