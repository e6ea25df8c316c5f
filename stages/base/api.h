/**
 * @file
 * CRN_API stands before each function that the shared library exports: to everyone those that
 * tools/packaging/cernita.symbols lists, the others to the programs of the same release, under a
 * version of their own. All functions without it are hidden. CRN_C_BEGIN and CRN_C_END enclose the
 * declarations of headers that C++ programs include as well.
 */
#ifndef CRN_STAGES_BASE_API_H
#define CRN_STAGES_BASE_API_H

#define CRN_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define CRN_C_BEGIN extern "C" {
#define CRN_C_END   }
#else
#define CRN_C_BEGIN
#define CRN_C_END
#endif

#endif
