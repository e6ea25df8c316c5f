/*
 * Linked into cernitad with --wrap for what gives memory, threads, streams and descriptors: the
 * request that CRN_STARVED_FILE names is refused. libzmq's and other libraries' requests are their
 * own: these end a process that gets no memory (zmq_assert).
 */
#include "tests/faults/memory/starve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each has the place of NAME, and __real_NAME is that. */
#define WRAP(type, name, parameters)                                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

static starved_daemon *shared;

__attribute__((constructor)) static void starve_memory(void)
{
    const char *path = getenv(CRN_STARVED_FILE);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    shared = memory == MAP_FAILED ? NULL : memory;
}

static bool is_refused(const void *caller)
{
    if (!shared || atomic_fetch_add(&shared->requests, 1) + 1 != atomic_load(&shared->fails_at))
        return false;
    atomic_store(&shared->caller, (uintptr_t)caller - (uintptr_t)starve_memory);
    atomic_store(&shared->failed, 1);
    return true;
}

#define REFUSE(code, result)                                                                       \
    if (is_refused(__builtin_return_address(0))) {                                                 \
        errno = code;                                                                              \
        return result;                                                                             \
    }

WRAP(void *, malloc, (size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_malloc(bytes);
}

WRAP(void *, calloc, (size_t count, size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_calloc(count, bytes);
}

WRAP(void *, realloc, (void *before, size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_realloc(before, bytes);
}

WRAP(void *, reallocarray, (void *before, size_t count, size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_reallocarray(before, count, bytes);
}

WRAP(void *, aligned_alloc, (size_t alignment, size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_aligned_alloc(alignment, bytes);
}

WRAP(char *, strdup, (const char *text))
{
    REFUSE(ENOMEM, NULL)
    return __real_strdup(text);
}

WRAP(char *, strndup, (const char *text, size_t bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_strndup(text, bytes);
}

WRAP(char *, realpath, (const char *path, char *resolved))
{
    REFUSE(ENOMEM, NULL)
    return __real_realpath(path, resolved);
}

WRAP(int, vasprintf, (char **text, const char *format, va_list arguments))
{
    REFUSE(ENOMEM, -1)
    return __real_vasprintf(text, format, arguments);
}

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
    REFUSE(ENOMEM, -1)
    va_list arguments;
    va_start(arguments, format);
    int r = __real_vasprintf(text, format, arguments);
    va_end(arguments);
    return r;
}

WRAP(FILE *, open_memstream, (char **text, size_t *bytes))
{
    REFUSE(ENOMEM, NULL)
    return __real_open_memstream(text, bytes);
}

WRAP(FILE *, fopen, (const char *path, const char *mode))
{
    REFUSE(ENOMEM, NULL)
    return __real_fopen(path, mode);
}

WRAP(FILE *, fdopen, (int descriptor, const char *mode))
{
    REFUSE(ENOMEM, NULL)
    return __real_fdopen(descriptor, mode);
}

WRAP(DIR *, opendir, (const char *path))
{
    REFUSE(EMFILE, NULL)
    return __real_opendir(path);
}

WRAP(DIR *, fdopendir, (int descriptor))
{
    REFUSE(ENOMEM, NULL)
    return __real_fdopendir(descriptor);
}

WRAP(void *, mmap, (void *at, size_t bytes, int rights, int flags, int descriptor, off_t offset))
{
    REFUSE(ENOMEM, MAP_FAILED)
    return __real_mmap(at, bytes, rights, flags, descriptor, offset);
}

WRAP(int, memfd_create, (const char *name, unsigned flags))
{
    REFUSE(EMFILE, -1)
    return __real_memfd_create(name, flags);
}

WRAP(int, eventfd, (unsigned value, int flags))
{
    REFUSE(EMFILE, -1)
    return __real_eventfd(value, flags);
}

WRAP(int, epoll_create1, (int flags))
{
    REFUSE(EMFILE, -1)
    return __real_epoll_create1(flags);
}

WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context))
{
    if (is_refused(__builtin_return_address(0)))
        return EAGAIN;
    return __real_pthread_create(thread, attributes, run, context);
}
