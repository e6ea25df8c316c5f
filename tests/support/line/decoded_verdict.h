/* Verdicts as the tools decode them. A test fails where that cannot be. */
#ifndef CRN_TESTS_SUPPORT_LINE_DECODED_VERDICT_H
#define CRN_TESTS_SUPPORT_LINE_DECODED_VERDICT_H

#include "src/formats/verdict/decode.h"
#include "tests/support/line/line_fixture.h"

/* A verdict's MessagePack bytes, decoded; crn_decoded_free frees it. */
crn_decoded *verdict_decode(const void *bytes, size_t size);

/* The next verdict at the grader; the same. */
crn_decoded *line_receive_decoded(line_fixture *fixture);

#endif
