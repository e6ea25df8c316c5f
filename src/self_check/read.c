/* Files of /sys and /proc below the root. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/realtime/realtime.h"
#include "src/self_check/internal.h"
#include "stages/base/process/cpus.h"

#define PATH_BYTES 512

static FILE *open_file(const crn_self_check *check, const char *path)
{
    char whole[PATH_BYTES];
    int size = snprintf(whole, sizeof whole, "%s%s", check->root, path);
    return size < (int)sizeof whole ? fopen(whole, "re") : NULL;
}

/* Removes surrounding blanks in place. */
static void trim(char *text)
{
    size_t start = strspn(text, " \t\n"), length = strlen(text + start);
    memmove(text, text + start, length + 1);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
}

static bool read_path(const crn_self_check *check, const char *path,
                      char ret_text[CRN_SELF_CHECK_TEXT])
{
    FILE *file = open_file(check, path);
    if (!file)
        return false;
    bool there = fgets(ret_text, CRN_SELF_CHECK_TEXT, file);
    fclose(file);
    if (there)
        trim(ret_text);
    return there && ret_text[0]; /* an empty line tells nothing */
}

static bool to_number(const char *text, int64_t *ret_number)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || errno)
        return false;
    *ret_number = number;
    return true;
}

bool crn_self_check_read(const crn_self_check *check, char ret_text[CRN_SELF_CHECK_TEXT],
                         const char *format, ...)
{
    char path[PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return read_path(check, path, ret_text);
}

bool crn_self_check_read_number(const crn_self_check *check, int64_t *ret_number,
                                const char *format, ...)
{
    char path[PATH_BYTES], text[CRN_SELF_CHECK_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return read_path(check, path, text) && to_number(text, ret_number);
}

bool crn_self_check_read_cpus(const crn_self_check *check, cpu_set_t *ret_cpus, const char *format,
                              ...)
{
    char path[PATH_BYTES], text[CRN_SELF_CHECK_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return read_path(check, path, text) && crn_cpus_parse(text, ret_cpus) == 0;
}

bool crn_self_check_read_field(const crn_self_check *check, const char *path, const char *label,
                               char ret_text[CRN_SELF_CHECK_TEXT])
{
    char line[CRN_SELF_CHECK_TEXT];
    bool found = false;
    FILE *file = open_file(check, path);
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = strncmp(line, label, strlen(label)) == 0;
    fclose(file);
    if (!found)
        return false;
    strcpy(ret_text, line + strlen(label));
    trim(ret_text);
    return true;
}

bool crn_self_check_read_field_number(const crn_self_check *check, const char *path,
                                      const char *label, int64_t *ret_number)
{
    char text[CRN_SELF_CHECK_TEXT];
    return crn_self_check_read_field(check, path, label, text) && to_number(text, ret_number);
}

int64_t crn_self_check_percent(int64_t part, int64_t whole)
{
    int64_t hundredfold;
    if (__builtin_mul_overflow(part, 100, &hundredfold))
        hundredfold = part < 0 ? INT64_MIN : INT64_MAX;
    return hundredfold / whole;
}

cpu_set_t crn_self_check_cpus(const crn_self_check *check)
{
    static const crn_thread_role roles[] = {CRN_THREAD_LINE, CRN_THREAD_IO, CRN_THREAD_WORKER};
    cpu_set_t all, online;
    CPU_ZERO(&all);
    for (size_t i = 0; check->config && i < sizeof roles / sizeof *roles; i++) {
        cpu_set_t cpus = crn_realtime_cpus(check->config, roles[i], -1);
        CPU_OR(&all, &all, &cpus);
    }
    CPU_ZERO(&online);
    if (CPU_COUNT(&all) > 0 ||
        !crn_self_check_read_cpus(check, &online, "/sys/devices/system/cpu/online"))
        return all;
    return online;
}

bool crn_self_check_capable(const crn_self_check *check, int capability)
{
    char text[CRN_SELF_CHECK_TEXT];
    return crn_self_check_read_field(check, "/proc/self/status", "CapEff:", text) &&
           strtoull(text, NULL, 16) >> capability & 1;
}
