#include "src/preflight/preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/ingest/access/access.h"
#include "src/preflight/internal.h"
#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/writer.h"
#include "src/recorder/recorder.h"
#include "stages/base/file/folder.h"

/* Prints one line, with what does not print as \xNN: the text behind `where: key`. */
__attribute__((format(printf, 4, 0))) static void
print(FILE *out, const char *where, const char *key, const char *format, va_list list)
{
    crn_error error;
    char text[sizeof error.text];
    vsnprintf(text, sizeof text, format, list);
    crn_error_set(&error, 0, "%s: %s: %s", where, key, text);
    fprintf(out, "%s\n", error.text);
}

void crn_preflight_fail(crn_preflight_check *check, const char *key, const char *format, ...)
{
    check->failed = true;
    if (!check->faults)
        return;
    va_list list;
    va_start(list, format);
    print(check->faults, check->config->file, key, format, list);
    va_end(list);
}

void crn_preflight_note(const crn_preflight_check *check, const char *key, const char *format, ...)
{
    if (!check->notes)
        return;
    va_list list;
    va_start(list, format);
    print(check->notes, "note", key, format, list);
    va_end(list);
}

void crn_preflight_in_use(crn_preflight_check *check, const char *key, const char *what,
                          long holder)
{
    char process[40] = "";
    if (holder > 0)
        snprintf(process, sizeof process, " (process %ld)", holder);
    size_t used = strlen(check->in_use);
    snprintf(check->in_use + used, sizeof check->in_use - used, "%s%s %s%s", used ? ", " : "", key,
             what, process);
}

/* True of --check for a folder that cernitad@NAME.service makes when it starts, and that is not
 * there yet; a note then says so. */
bool crn_preflight_is_left_to_unit(const crn_preflight_check *check, const char *key,
                                   const char *folder)
{
    static const char *const roots[] = {"/run/cernita/", "/var/lib/cernita/",
                                        "/run/credentials/cernitad@"};
    bool made = false;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t length = strlen(roots[i]);
        made |= strncmp(folder, roots[i], length) == 0 && folder[length] &&
                !strchr(folder + length, '/');
    }
    if (!check->notes || !made || access(folder, F_OK) == 0 || errno != ENOENT)
        return false;
    crn_preflight_note(check, key, "%s is not there yet: the unit makes it when it starts the line",
                       folder);
    return true;
}

static void check_access(crn_preflight_check *check)
{
    const crn_config *config = check->config;
    int32_t clients = 0;
    char *faults = NULL;
    size_t size = 0;
    if (crn_access_check_exposed(config, check->faults) < 0)
        check->failed = true;
    if (!config->access.keys[0] ||
        crn_preflight_is_left_to_unit(check, "access.keys", config->access.keys))
        return;
    FILE *lines = open_memstream(&faults, &size);
    int r = lines ? crn_access_check(config->access.keys, lines, &clients) : -ENOMEM;
    if (lines)
        fclose(lines);
    for (char *line = faults, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1)
        crn_preflight_fail(check, "access.keys", "%.*s", (int)(end - line), line);
    free(faults);
    if (r == 0 && clients == 0)
        crn_preflight_note(
            check, "access.keys",
            "%s/%s has no client's key, so nobody can connect; cernita-keys %s --client NAME "
            "makes one",
            config->access.keys, CRN_KEY_CLIENTS, config->access.keys);
}

static void check_log(crn_preflight_check *check)
{
    const char *dir = check->config->publish.log.dir;
    crn_error error;
    crn_verdict_log_files files;
    struct statvfs disk;
    bool of_unit = check->config->publish.log.of_unit && check->notes;
    if (of_unit)
        crn_preflight_note(check, "publish.log.dir",
                           "the service logs verdicts in %s, for %" PRId64
                           " days; \"\" in the file: it logs none",
                           dir, check->config->publish.log.keep_days);
    if (!dir[0] || of_unit || crn_preflight_is_left_to_unit(check, "publish.log.dir", dir))
        return;
    if (crn_verdict_writer_check(dir, &error) < 0) {
        crn_preflight_fail(check, "publish.log.dir", "%s", error.text);
        return;
    }
    if (statvfs(dir, &disk) < 0 || crn_verdict_log_list(dir, &files, &error) < 0)
        return;
    uint64_t there = (uint64_t)disk.f_bavail * disk.f_frsize + files.bytes;
    uint64_t wanted = (uint64_t)check->config->publish.log.keep_mib << 20;
    crn_verdict_log_files_done(&files);
    there -= there < CRN_VERDICT_LOG_SPARE_BYTES ? there : CRN_VERDICT_LOG_SPARE_BYTES;
    if (there < wanted)
        crn_preflight_note(check, "publish.log.dir",
                           "%s has room for a log of %" PRIu64
                           " MiB, less than publish.log.keep_mib; what does "
                           "not fit is not logged",
                           dir, there >> 20);
}

static void check_recording(crn_preflight_check *check)
{
    const char *dir = check->config->record.dir;
    crn_error error;
    struct statvfs disk;
    if (!dir[0] || crn_preflight_is_left_to_unit(check, "record.dir", dir))
        return;
    if (crn_recorder_check(dir, &error) < 0) {
        crn_preflight_fail(check, "record.dir", "%s", error.text);
        return;
    }
    if (statvfs(dir, &disk) < 0)
        return;
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    uint64_t wanted =
        CRN_RECORDER_SPARE_BYTES + ((uint64_t)check->config->record.segment_mib << 20);
    if (free_bytes < wanted)
        crn_preflight_note(check, "record.dir",
                           "%s has %" PRIu64
                           " MiB free, less than one recording of record.segment_mib and the "
                           "%" PRIu64 " MiB that are left free",
                           dir, free_bytes >> 20, (uint64_t)CRN_RECORDER_SPARE_BYTES >> 20);
}

/* At --check alone: the start goes on, and says that the recipe is lost. */
static void check_state(crn_preflight_check *check)
{
    const char *dir = check->config->state.dir;
    crn_error error;
    bool of_unit = check->config->state.of_unit && check->notes;
    if (of_unit)
        crn_preflight_note(check, "state.dir",
                           "the service keeps recipe and lot in force, the alarm list, the "
                           "log of changes and the statistics of each minute in %s",
                           dir);
    if (check->notes && dir[0] && !of_unit &&
        !crn_preflight_is_left_to_unit(check, "state.dir", dir) &&
        crn_folder_check(dir, R_OK | W_OK | X_OK, "keep the recipe", &error) < 0)
        crn_preflight_fail(check, "state.dir", "%s", error.text);
}

static void check_levels(crn_preflight_check *check)
{
    char text[CRN_ODD_LEVELS_BYTES];
    if (crn_config_odd_levels(check->config, text))
        crn_preflight_note(check, "classes.level", "%s", text);
}

/* What measuring needs of senders and of the camera, none of which a file can tell. */
static void check_geometry(crn_preflight_check *check)
{
    const crn_geometry_settings *geometry = &check->config->geometry;
    if (!crn_config_measures(check->config))
        return;
    if (geometry->fruit.from == CRN_FRUIT_FROM_PHOTO)
        crn_preflight_note(check, "geometry.fruit",
                           "fruits are measured where views bring a photograph (intensity part) or "
                           "the fruit's pose; from: class needs none");
    else if (geometry->fruit.from == CRN_FRUIT_FROM_CLASS && geometry->estimate_roll)
        crn_preflight_note(check, "geometry.estimate_roll",
                           "needs views with a photograph (intensity part); without one roll_deg "
                           "is taken%s",
                           geometry->roll_deg == 0 ? ", and that is 0: unknown" : "");
    if (geometry->distance_mm == 0)
        crn_preflight_note(check, "geometry.distance_mm",
                           "0 is a camera far away: at 15 of the fruit's radii areas are then 6 to "
                           "8 %% too small, at 8 radii 11 to 15 %%");
}

int crn_preflight(const crn_config *config, const crn_gpu *gpu, FILE *faults, FILE *notes)
{
    crn_preflight_check check = {.config = config, .faults = faults, .notes = notes};
    for (int32_t i = 0; i < config->ingest.bind.count; i++)
        crn_preflight_endpoint(&check, "ingest.bind", config->ingest.bind.item[i]);
    crn_preflight_endpoint(&check, "publish.grader.bind", config->publish.grader.bind);
    crn_preflight_endpoint(&check, "publish.viewers.bind", config->publish.viewers.bind);
    check_access(&check);
    crn_preflight_http(&check);
    crn_preflight_control(&check);
    crn_preflight_slots(&check, gpu != NULL);
    check_log(&check);
    check_recording(&check);
    check_state(&check);
    crn_preflight_memory(&check);
    crn_preflight_descriptors(&check);
    crn_preflight_devices(&check, gpu);
    crn_preflight_threads(&check);
    crn_preflight_realtime(&check);
    check_levels(&check);
    check_geometry(&check);
    if (check.in_use[0] && notes) /* last: expected where the line runs already */
        crn_preflight_note(
            &check, "in use",
            "perhaps by this line's running daemon, and a second one cannot have it: %s",
            check.in_use);
    return check.failed ? -EINVAL : 0;
}
