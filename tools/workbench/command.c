/* A job as a command line and as Python, to be copied. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workbench/requests.h"

/* --- for a shell ------------------------------------------------------------------------------ */

static void print_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./:=,+-@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

static void print_command(FILE *out, const crn_task *task, const crn_stored *in, const char *ending)
{
    fprintf(out, "cernita-apply %s", task->operator->name);
    for (int32_t i = 0; i < task->argument_count; i++)
        print_word(out, task->arguments[i]);
    if (in)
        print_word(out, in->original);
    fprintf(out, " out.%s", ending);
}

/* --- for Python ------------------------------------------------------------------------------- */

/* The value of an option, "" for a switch; NULL: it is not given. */
static const char *given(const crn_task *task, const char *option)
{
    size_t length = strlen(option);
    for (int32_t i = 0; i < task->argument_count; i++) {
        const char *argument = task->arguments[i];
        if (strncmp(argument, "--", 2) != 0 || strncmp(argument + 2, option, length) != 0)
            continue;
        if (argument[2 + length] == '=')
            return argument + 3 + length;
        if (!argument[2 + length])
            return i + 1 < task->argument_count && strncmp(task->arguments[i + 1], "--", 2) != 0
                       ? task->arguments[i + 1]
                       : "";
    }
    return NULL;
}

/* A text as Python writes it. */
static void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, strchr("\"\\", *text) ? "\\%c" : "%c", *text);
    fputc('"', out);
}

/* , argument="value" if the option is given. */
static void print_keyword(FILE *out, const crn_task *task, const char *option, const char *argument)
{
    const char *value = given(task, option);
    if (!value)
        return;
    fprintf(out, ", %s=", argument);
    print_text(out, value);
}

/* N, or (W, H) for WxH. */
static void print_size(FILE *out, const char *size)
{
    const char *x = strchr(size, 'x');
    if (x)
        fprintf(out, "(%.*s, %s)", (int)(x - size), size, x + 1);
    else
        fputs(size, out);
}

static void print_contours(FILE *out, const crn_task *task)
{
    const char *level = given(task, "level");
    fprintf(out, "result = cernita.find_contours_many(picture, %s", level ? level : "128");
    print_keyword(out, task, "connectivity", "fully_connected");
    print_keyword(out, task, "orientation", "positive_orientation");
    print_keyword(out, task, "border", "border");
}

static void print_morphology(FILE *out, const crn_task *task)
{
    const char *element = given(task, "element"), *size = given(task, "size");
    const char *operation = given(task, "operation");
    bool heights = given(task, "non-flat") != NULL;
    if (element && !size) {
        fputs("element = cernita.read_picture(", out);
        print_text(out, element);
        fputs(")\n", out);
    }
    fputs("result = cernita.morphology(picture, ", out);
    print_text(out, operation ? operation : "");
    if (size) {
        fputs(", ", out);
        print_text(out, element ? element : "");
        fputs(", ", out);
        print_size(out, size);
    } else {
        fprintf(out, ", element != 0%s", heights ? ", heights=element" : "");
    }
}

static void print_convolve(FILE *out, const crn_task *task)
{
    const char *kernel = given(task, "kernel"), *size = given(task, "size");
    fputs("kernel = cernita.named_kernel(", out);
    print_text(out, kernel ? kernel : "");
    fprintf(out, ", %s)\nresult = cernita.convolve(picture, kernel", size ? size : "3");
    print_keyword(out, task, "border", "border");
}

static void print_haar(FILE *out, const crn_task *task)
{
    const char *levels = given(task, "levels"), *threshold = given(task, "threshold");
    fprintf(out, "result = cernita.haar(picture, %s", levels ? levels : "1");
    if (threshold)
        fprintf(out, ", direction=\"denoise\", threshold=%s", threshold);
    else if (given(task, "inverse"))
        fputs(", direction=\"inverse\"", out);
}

static void print_ranklet(FILE *out, const crn_task *task, bool several)
{
    const char *windows = given(task, "windows");
    if (!windows) {
        fputs("sides = [int(np.log2(side)) for side in picture.shape[:2]]\n", out);
        if (given(task, "square"))
            fputs("sides = [min(sides)] * 2\n", out);
        fputs("windows = [(2 ** (sides[1] - i), 2 ** (sides[0] - i)) for i in range(min(sides))]\n",
              out);
    } else {
        fputs("windows = [", out);
        for (const char *at = windows; *at;) {
            size_t length = strcspn(at, ",");
            char one[64];
            snprintf(one, sizeof one, "%.*s", (int)length, at);
            print_size(out, one);
            at += length + (at[length] == ',');
            fputs(*at ? ", " : "", out);
        }
        fputs("]\n", out);
    }
    fputs(several
              ? "planes = [np.ascontiguousarray(plane) for plane in np.moveaxis(picture, 2, 0)]\n"
                "result = [cernita.ranklet(plane, window"
              : "result = [cernita.ranklet(picture, window",
          out);
}

static void print_diamond_square(FILE *out, const crn_task *task)
{
    const char *exponent = given(task, "exponent"), *seed = given(task, "seed");
    const char *roughness = given(task, "roughness"), *type = given(task, "type");
    fprintf(out, "result = cernita.diamond_square(%s, seed=%s", exponent ? exponent : "8",
            seed ? seed : "1");
    if (roughness)
        fprintf(out, ", roughness=%s", roughness);
    if (type && strcmp(type, "f32") == 0)
        fputs(", dtype=\"f4\"", out);
}

static void print_python(FILE *out, const crn_task *task, const crn_stored *in)
{
    const char *name = task->operator->name;
    const char *backend = given(task, "backend"), *threads = given(task, "threads");
    bool ranklet = strcmp(name, "ranklet") == 0, several = in && in->facts.planes > 1;
    bool plain = !in || in->facts.type == CRN_U8 || in->facts.type == CRN_F32 || ranklet ||
                 strcmp(name, "contours") == 0;
    if (ranklet)
        fputs("import numpy as np\n", out);
    fputs("import cernita\n\n", out);
    if (in) {
        fputs("picture = cernita.read_picture(", out);
        print_text(out, in->original);
        fputs(plain ? ")\n" : ").astype(\"f4\")\n", out);
    }
    if (strcmp(name, "contours") == 0)
        print_contours(out, task);
    else if (strcmp(name, "morphology") == 0)
        print_morphology(out, task);
    else if (strcmp(name, "convolve") == 0)
        print_convolve(out, task);
    else if (strcmp(name, "haar") == 0)
        print_haar(out, task);
    else if (ranklet)
        print_ranklet(out, task, several);
    else
        print_diamond_square(out, task);
    if (backend)
        fprintf(out, ", backend=\"%s\"", backend);
    if (threads)
        fprintf(out, ", threads=%s", threads);
    if (ranklet)
        fprintf(out, ")\n          %sfor window in windows]",
                several ? "for plane in planes " : "");
    else
        fputc(')', out);
    fputc('\n', out);
}

void crn_command_write(const crn_task *task, const crn_stored *in, const char *ending,
                       crn_encoder *encoder)
{
    char *command = NULL, *python = NULL;
    size_t size;
    FILE *out = open_memstream(&command, &size);
    if (out) {
        print_command(out, task, in, ending);
        fclose(out);
    }
    out = open_memstream(&python, &size);
    if (out) {
        print_python(out, task, in);
        fclose(out);
    }
    crn_encoder_pair_text(encoder, "command", command ? command : "");
    crn_encoder_pair_text(encoder, "python", python ? python : "");
    free(command);
    free(python);
}
