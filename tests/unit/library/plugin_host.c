/* A program without OpenMP that loads cernita as a plug-in, computes with threads, and unloads it,
 * again and again. Its argument is the library's path; exit status 0: all went well. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stages/cernita.h"

enum { SIDE = 1024, THREADS = 3, ROUNDS = 20 };

typedef struct functions {
    int (*open)(const crn_context_settings *, crn_context **);
    void (*done)(crn_context **);
    int (*morphology)(crn_context *, const crn_morphology_params *, const crn_image *, crn_image *);
} functions;

static bool compute(const functions *f, float *picture, float *result)
{
    crn_context *context;
    if (f->open(&(crn_context_settings){.threads = THREADS}, &context) != 0)
        return false;
    crn_image in = crn_image_dense(picture, CRN_F32, CRN_CHW, 1, SIDE, SIDE), out = in;
    crn_morphology_params element = {CRN_OPEN, {CRN_ELEMENT_DISK, 9, 9, NULL, NULL}};
    out.data = result;
    int r = f->morphology(context, &element, &in, &out);
    f->done(&context);
    return r == 0;
}

static bool load_and_unload(const char *path, float *picture, float *result)
{
    functions f;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *(void **)&f.open = dlsym(library, "crn_context_open");
    *(void **)&f.done = dlsym(library, "crn_context_free");
    *(void **)&f.morphology = dlsym(library, "crn_morphology");
    bool good = f.open && f.done && f.morphology && compute(&f, picture, result);
    return dlclose(library) == 0 && good;
}

int main(int argc, char **argv)
{
    float *picture = calloc((size_t)SIDE * SIDE, sizeof *picture);
    float *result = calloc((size_t)SIDE * SIDE, sizeof *result);
    bool good = argc == 2 && picture && result;
    for (int i = 0; good && i < ROUNDS; i++) {
        good = load_and_unload(argv[1], picture, result);
        /* Threads that spin after the region go to sleep; unloaded code then kills the process. */
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    free(picture);
    free(result);
    return !good;
}
