/* cmocka, after the headers that it must follow. */
#ifndef CRN_TESTS_SUPPORT_CMOCKA_PRELUDE_H
#define CRN_TESTS_SUPPORT_CMOCKA_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
