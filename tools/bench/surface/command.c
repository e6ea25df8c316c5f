/* cernita-bench surface: how exact areas, counts and lengths on a fruit's surface are. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/print.h"
#include "tools/bench/surface/surface.h"

#define SKIN_FILE "/usr/share/doc/opencv-doc/examples/data/apple.jpg"
#define DEG       (M_PI / 180)

typedef struct surface_settings {
    int32_t fruits;
    uint64_t seed;
    const char *rows, *skin;
    bool json, no_times;
} surface_settings;

static const crn_tool tool = {
    .name = "cernita-bench surface",
    .operands = "",
    .about =
        "How exact the surface of a fruit is: synthetic fruits whose truth is known, with true\n"
        "poses and with those found in photographs; then what a pose, a union and a fruit take.\n"
        "A cell is the figure, < or >, and what it has to be. OMP_NUM_THREADS limits the cores.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("fruits", "N", surface_settings, fruits, .min = 1, .max = 100000,
                          .help = "of each row (50)"),
            CRN_OPTION_AT("rows", "TEXT", surface_settings, rows,
                          .help = "only those whose name begins with it: pose, photo, line, real,\n"
                                  "unusable, 'photo: 4 views'"),
            CRN_OPTION_AT("skin", "FILE", surface_settings, skin,
                          .help = "photograph of the rows `real`, which are left out without it\n"
                                  "(that of Debian's opencv-doc: " SKIN_FILE ")"),
            CRN_OPTION_AT("seed", "S", surface_settings, seed, .max = (double)INT64_MAX,
                          .help = "of the fruits (31)"),
            CRN_OPTION_AT("no-times", NULL, surface_settings, no_times,
                          .help = "leave the times out"),
            CRN_BENCH_JSON(surface_settings),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

/* Figures of a row, in the order of the table. */
enum {
    AREA,
    AREA_P95,
    SMALL,
    NAIVE,
    GRID,
    COUNTS,
    LENGTH,
    DIAMETER,
    COVERAGE,
    CENTRE,
    AXES,
    ROLL,
    ROLL_P95,
    UNSURE,
    EXPECTED,
    FIGURES,
};

static const int digits[FIGURES] = {2, 1, 3, 0, 1, 1, 2, 2, 4, 2, 2, 2, 1, 1, 1};

typedef struct surface_printed {
    const char *name, *met;
    double value[FIGURES];
    const char *cell[FIGURES]; /* NULL: no figure */
    char text[FIGURES][24];
} surface_printed;

#define FIGURE(title, json_key, cell_width, at)                                                    \
    {.heading = (title),                                                                           \
     CRN_CELL(surface_printed, cell[at]),                                                          \
     .width = (cell_width),                                                                        \
     .missing = "-"},                                                                              \
    {                                                                                              \
        .key = (json_key), CRN_CELL(surface_printed, value[at]), .json_digits = 4                  \
    }

static const crn_bench_column columns[] = {
    {"fruits", "fruits", CRN_CELL(surface_printed, name), -44},
    FIGURE("area %", "area_percent", 9, AREA),
    FIGURE("p95", "area_p95_percent", 8, AREA_P95),
    FIGURE("small", "small_percent", 6, SMALL),
    FIGURE("naive", "naive_percent", 5, NAIVE),
    FIGURE("grid", "grid_percent", 5, GRID),
    FIGURE("counts %", "counts_percent", 8, COUNTS),
    FIGURE("length %", "length_percent", 8, LENGTH),
    FIGURE("diameter", "diameter_percent", 8, DIAMETER),
    FIGURE("coverage", "coverage_error", 11, COVERAGE),
    FIGURE("centre", "centre_px", 8, CENTRE),
    FIGURE("axes %", "axes_percent", 8, AXES),
    FIGURE("roll deg", "roll_deg", 8, ROLL),
    FIGURE("p95", "roll_p95_deg", 7, ROLL_P95),
    FIGURE("unsure", "unsure_percent", 6, UNSURE),
    FIGURE("expected", "expected_percent", 8, EXPECTED),
    {.key = "met", .kind = CRN_CELL_LITERAL, .offset = offsetof(surface_printed, met)},
    {0},
};

/* --- a row ---------------------------------------------------------------------------------- */

int crn_surface_bench_row(const crn_surface_row *row, const crn_known_skin *skin, int32_t fruits,
                          uint64_t seed, crn_fruit_errors *errors, crn_error *error)
{
    crn_surface_row dressed = *row;
    size_t pixels = row->kind.height ? (size_t)row->kind.height * (size_t)row->kind.width
                                     : (size_t)CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH;
    int r = 0;
    dressed.kind.look.skin = row->real ? skin : NULL;
#pragma omp parallel
    {
        crn_surface_bench bench;
        crn_error own;
        int failed = crn_surface_bench_open(&bench, pixels, &own);
#pragma omp for schedule(dynamic)
        for (int32_t i = 0; i < fruits; i++)
            if (failed == 0)
                failed =
                    crn_surface_bench_fruit(&bench, &dressed, seed, (uint64_t)i, &errors[i], &own);
        crn_surface_bench_close(&bench);
#pragma omp critical(crn_surface_failed)
        if (failed < 0) {
            r = failed;
            *error = own;
        }
    }
    return r;
}

/* Writes a figure and its target, 0 without one, and whether it is met. */
static void put(surface_printed *row, int at, double value, double target)
{
    row->value[at] = value;
    if (!isfinite(value))
        return;
    row->cell[at] = row->text[at];
    if (target == 0) {
        snprintf(row->text[at], sizeof row->text[at], "%.*f", digits[at], value);
        return;
    }
    snprintf(row->text[at], sizeof row->text[at], "%.*f%c%g", digits[at], value,
             value < target ? '<' : '>', target);
    if (at == COUNTS || at == EXPECTED ? value < target : value > target)
        row->met = "false";
}

static void print_row(const crn_surface_row *row, const crn_fruit_errors *errors, int32_t fruits,
                      bool json)
{
#define OF(member) CRN_SURFACE_SAMPLE(errors, fruits, member)
    const crn_surface_targets *t = row->targets;
    surface_printed p = {.name = row->name, .met = "true"};
    crn_surface_sample area = OF(area), roll = OF(roll_rad);
    put(&p, AREA, 100 * area.mean, t->area);
    put(&p, AREA_P95, 100 * area.p95, t->area_p95);
    put(&p, SMALL, 100 * OF(small).mean, 0);
    put(&p, NAIVE, 100 * OF(naive).mean, 0);
    put(&p, GRID, 100 * OF(grid).mean, 0);
    put(&p, COUNTS, 100 * OF(counts_right).mean * OF(is_measured).mean, t->counts_min);
    put(&p, LENGTH, 100 * OF(length).mean, t->length);
    put(&p, DIAMETER, 100 * OF(diameter).mean, t->diameter);
    put(&p, COVERAGE, OF(coverage).most, t->coverage);
    put(&p, CENTRE, OF(centre_px).median, t->centre);
    put(&p, AXES, 100 * OF(axes).median, t->axes);
    put(&p, ROLL, roll.median / DEG, t->roll);
    put(&p, ROLL_P95, roll.p95 / DEG, t->roll_p95);
    put(&p, UNSURE, 100 * OF(is_unsure).mean, 0);
    put(&p, EXPECTED, 100 * OF(is_expected).mean, t->expected_min);
    crn_bench_print_row(columns, &p, json);
#undef OF
}

/* --- the command ---------------------------------------------------------------------------- */

static int run_rows(const surface_settings *given, const crn_known_skin *skin, crn_error *error)
{
    crn_fruit_errors *errors = calloc((size_t)given->fruits, sizeof *errors);
    int r = errors ? 0 : crn_error_set(error, -ENOMEM, "no memory for %d fruits", given->fruits);
    if (!given->json)
        crn_bench_print_headings(columns);
    for (int32_t i = 0; i < crn_surface_row_count && r == 0; i++) {
        const crn_surface_row *row = &crn_surface_rows[i];
        if (given->rows && strncmp(row->name, given->rows, strlen(given->rows)) != 0)
            continue;
        if (row->real && !skin->value) {
            fprintf(stderr,
                    "cernita-bench surface: '%s' is left out, as there is no " SKIN_FILE
                    "; install opencv-doc, or give --skin\n",
                    row->name);
            continue;
        }
        r = crn_surface_bench_row(row, skin, given->fruits, given->seed, errors, error);
        if (r == 0)
            print_row(row, errors, given->fruits, given->json);
    }
    free(errors);
    return r;
}

int crn_bench_surface(int argc, char **argv)
{
    surface_settings given = {.fruits = 50, .seed = 31};
    crn_known_skin skin = {0, NULL};
    crn_error error = {0};
    crn_options_read(&tool, argc, argv, &given);
    int r = 0;
    if (given.skin || access(SKIN_FILE, R_OK) == 0)
        r = crn_known_skin_read(given.skin ? given.skin : SKIN_FILE, &skin, &error);
    if (r == 0)
        r = run_rows(&given, &skin, &error);
    if (r == 0 && !given.no_times)
        r = crn_surface_print_times(given.seed, given.json, &error);
    crn_known_skin_free(&skin);
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
}
