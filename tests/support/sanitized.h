/* CRN_SANITIZED is defined under the address and thread sanitizers, which replace malloc and slow
 * everything down; CRN_SANITIZER_THREADS is the number of their own threads in a process. */
#ifndef CRN_TESTS_SUPPORT_SANITIZED_H
#define CRN_TESTS_SUPPORT_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CRN_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CRN_SANITIZED 1
#endif

#if defined(__SANITIZE_THREAD__)
#define CRN_SANITIZER_THREADS 1
#else
#define CRN_SANITIZER_THREADS 0
#endif

#endif
