/* A secret in a file, which clients have to know. */
#ifndef CRN_SRC_HTTP_TOKEN_H
#define CRN_SRC_HTTP_TOKEN_H

#include <stdbool.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

CRN_C_BEGIN

/* A line of so many letters and digits, and room for it. */
#define CRN_HTTP_TOKEN_BYTES_MIN 16
#define CRN_HTTP_TOKEN_BYTES     129

/* Reads the file's only line. Returns 0, or a negative errno with the path and a hint in *error. */
int crn_http_token_read(const char *path, char ret_token[CRN_HTTP_TOKEN_BYTES], crn_error *error);

/* True if `given` (NULL: nothing) is the token. Takes the same time wherever the texts differ, so
 * that it tells nothing of the token. */
bool crn_http_token_is(const char *token, const char *given);

CRN_C_END

#endif
