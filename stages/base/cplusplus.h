/* extern "C" guards for headers that C++ programs include as well. */
#ifndef CRN_STAGES_BASE_CPLUSPLUS_H
#define CRN_STAGES_BASE_CPLUSPLUS_H

#ifdef __cplusplus
#define CRN_C_BEGIN extern "C" {
#define CRN_C_END   }
#else
#define CRN_C_BEGIN
#define CRN_C_END
#endif

#endif
