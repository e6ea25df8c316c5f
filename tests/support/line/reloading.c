#include "tests/support/line/reloading.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/ingest/access/access.h"
#include "tests/support/cmocka_prelude.h"

/* Peak p, counted from 1, has this height; a level between two heights tells them apart. */
static double height_of(int peak)
{
    return 0.1 * peak;
}

static float *make_maps(void)
{
    float *maps = calloc((size_t)CRN_RELOADING_HEIGHT * CRN_RELOADING_WIDTH * 2, sizeof *maps);
    assert_non_null(maps);
    for (int y = 0; y < CRN_RELOADING_HEIGHT; y++) {
        for (int x = 0; x < CRN_RELOADING_WIDTH; x++) {
            int peak = x / 12;
            double dx = x - 12 * peak - 5.5, dy = y - CRN_RELOADING_HEIGHT / 2;
            double value = height_of(peak + 1) * exp(-(dx * dx + dy * dy) / 4);
            maps[(y * CRN_RELOADING_WIDTH + x) * 2 + 1] = (float)value;
        }
    }
    /* Flat tops: the grid must not decide which peak reaches its height. */
    for (int peak = 0; peak < CRN_RELOADING_PEAKS; peak++)
        for (int i = 0; i < 4; i++)
            maps[((CRN_RELOADING_HEIGHT / 2 + i / 2) * CRN_RELOADING_WIDTH + 12 * peak + 5 +
                  i % 2) *
                     2 +
                 1] = (float)height_of(peak + 1);
    return maps;
}

/*
 * The YAML of a file at whose level so many peaks are seen, with times that a
 * busy machine keeps.
 */
static void make_text(int peaks, const char *more, char text[2048])
{
    snprintf(text, 2048,
             "classes: [{name: background}, {name: rot, level: %.2f}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 2, threads: 1}\n"
             "limits: {slots: 32, view_mib: 1}\n"
             "monitor: {http: ''}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "%s",
             height_of(CRN_RELOADING_PEAKS - peaks) + 0.05, more);
}

void reloading_write_text(const reloading_line *self, const char *text)
{
    char part[160];
    snprintf(part, sizeof part, "%s.part", self->path);
    FILE *file = fopen(part, "w");
    assert_non_null(file);
    line_print_sockets(self->line.folder, file);
    fprintf(file, "control: {path: '%s'}\n%s", self->socket, text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(part, self->path), 0);
}

void reloading_write(const reloading_line *self, int peaks, const char *more)
{
    char text[2048];
    make_text(peaks, more, text);
    reloading_write_text(self, text);
}

void reloading_start(reloading_line *self, int peaks, const char *more)
{
    char text[2048];
    const char *no_gpu;
    memset(self, 0, sizeof *self);
    make_text(peaks, more, text);
    line_configure(&self->line, text);
    snprintf(self->path, sizeof self->path, "%s/line.yaml", self->line.folder);
    snprintf(self->socket, sizeof self->socket, "%s/control", self->line.folder);
    /* Again, with the path of the socket, which needs the folder. */
    reloading_write_text(self, text);
    crn_config_done(&self->line.config);
    assert_int_equal(crn_config_load(self->path, stderr, &self->line.config), 0);
    self->line.config.file = self->path;
    assert_int_equal(crn_config_hash(&self->line.config, &self->line.config.hash, NULL), 0);
    self->file = self->line.config;
    crn_config_resolve(&self->line.config, 2);
    if (crn_access_open(self->file.access.keys, self->file.access.ipc, &self->line.config.guard,
                        &self->line.error) < 0)
        fail_msg("%s", self->line.error.text);
    line_run(&self->line, crn_gpu_get(&no_gpu));
    crn_control_settings settings = {.reload = {.line = self->line.line,
                                                .file = &self->file,
                                                .running = &self->line.config,
                                                .backend = -1}};
    if (crn_control_open(&settings, &self->control, &self->line.error) < 0)
        fail_msg("%s", self->line.error.text);
    self->maps = make_maps();
}

void reloading_stop(reloading_line *self)
{
    crn_access *guard = self->line.config.guard;
    crn_control_close(&self->control);
    line_stop(&self->line);
    crn_access_close(&guard);
    free(self->maps);
}

void reloading_hash(const reloading_line *self, const char *recipe, char ret_hash[20])
{
    crn_config file, config;
    assert_int_equal(crn_config_load(self->path, stderr, &file), 0);
    assert_int_equal(crn_config_use_recipe(&file, recipe, &config), 0);
    assert_int_equal(crn_config_hash(&config, &config.hash, NULL), 0);
    snprintf(ret_hash, 20, "%016" PRIx64, config.hash);
    crn_config_done(&file);
    crn_config_done(&config);
}

bool reloading_ask(const reloading_line *self, const char *request, char answer[4096])
{
    return reloading_ask_for(self, request, answer, 4096);
}

bool reloading_ask_for(const reloading_line *self, const char *request, char *answer, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CRN_FIXTURE_PATIENCE_MS / 1000};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", self->socket);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(descriptor, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    ssize_t size = recv(descriptor, answer, bytes - 1, 0);
    assert_true(size > 0);
    answer[size] = '\0';
    close(descriptor);
    bool ok = strncmp(answer, "ok\n", 3) == 0;
    char *lines = strchr(answer, '\n');
    assert_non_null(lines);
    memmove(answer, lines + 1, strlen(lines));
    return ok;
}

void reloading_send(reloading_line *self, uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header =
        line_header(&self->line, fruit, view, views, CRN_RELOADING_HEIGHT, CRN_RELOADING_WIDTH);
    line_send(&self->line, header, self->maps, NULL);
}

void reloading_wait_views(reloading_line *self, uint64_t views)
{
    char answer[4096], wanted[40];
    snprintf(wanted, sizeof wanted, "\"views\":%" PRIu64 ",", views);
    do {
        sched_yield();
        assert_true(reloading_ask(self, "status json", answer));
    } while (!strstr(answer, wanted));
}
