/* cernita-bench list: the named cases, for the benchmarks in Python that time their peers. */
#include <math.h>

#include "stages/base/param.h"
#include "tools/bench/bench.h"
#include "tools/bench/cases.h"
#include "tools/bench/print.h"

typedef struct list_settings {
    bool json;
} list_settings;

static const crn_tool tool = {
    .name = "cernita-bench list",
    .operands = "",
    .about =
        "Prints the cases that have a name, with operator, picture and parameters: the rows of\n"
        "`cernita-bench gpu`, and those that only benchmarks of peers time.",
    .options = (const crn_option[]){CRN_BENCH_JSON(list_settings), {0}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct list_row {
    const char *name, *operator_name, *type;
    int32_t planes, height, width;
    const char *element, *kernel, *direction;                 /* NULL: not of this operator */
    double size, levels, first_window, last_window, exponent; /* NAN: the same */
} list_row;

static const crn_bench_column columns[] = {
    {"name", "name", CRN_CELL(list_row, name), -38},
    {"operator", "operator", CRN_CELL(list_row, operator_name), -14},
    {"type", "type", CRN_CELL(list_row, type), -4},
    {"planes", "planes", CRN_CELL(list_row, planes), 6},
    {"height", "height", CRN_CELL(list_row, height), 6},
    {"width", "width", CRN_CELL(list_row, width), 6},
    {"element", "", CRN_CELL(list_row, element), .before = ", element "},
    {"kernel", "", CRN_CELL(list_row, kernel), .before = ", kernel "},
    {"size", "", CRN_CELL(list_row, size), .before = " "},
    {"direction", "", CRN_CELL(list_row, direction), .before = ", "},
    {"levels", "", CRN_CELL(list_row, levels), .before = ", levels "},
    {"first_window", "", CRN_CELL(list_row, first_window), .before = ", windows "},
    {"last_window", "", CRN_CELL(list_row, last_window), .before = " to "},
    {"exponent", "", CRN_CELL(list_row, exponent), .before = ", exponent "},
    {0},
};

static void add_parameters(const crn_bench_case *of, list_row *row)
{
    static const char *const directions[] = {"forward", "inverse", "denoise"};
    switch (of->op) {
    case CRN_BENCH_MORPHOLOGY:
        row->element = of->opening.shape == CRN_ELEMENT_DISK ? "disk" : "rect";
        row->size = of->opening.size;
        break;
    case CRN_BENCH_CONVOLVE:
        row->kernel = of->kernel.name;
        row->size = of->kernel.size;
        break;
    case CRN_BENCH_HAAR:
        row->direction = directions[of->haar.direction];
        row->levels = of->haar.levels;
        break;
    case CRN_BENCH_RANKLET:
        row->first_window = of->windows.first;
        row->last_window = of->windows.last;
        break;
    case CRN_BENCH_DIAMOND_SQUARE:
        row->exponent = of->exponent;
        break;
    default:
        break;
    }
}

int crn_bench_list(int argc, char **argv)
{
    list_settings given = {0};
    crn_options_read(&tool, argc, argv, &given);
    if (!given.json)
        crn_bench_print_headings(columns);
    const crn_gpu_row *named;
    const crn_bench_case *of;
    for (int32_t i = 0; (named = crn_bench_row(i, &of)); i++) {
        const crn_bench_picture *p = &of->picture;
        list_row row = {.name = named->name,
                        .operator_name =
                            of->op == CRN_BENCH_CHAIN ? "chain" : crn_bench_operator_names[of->op],
                        .type = crn_type_name(p->type),
                        .planes = p->planes,
                        .height = p->height,
                        .width = p->width,
                        .size = NAN,
                        .levels = NAN,
                        .first_window = NAN,
                        .last_window = NAN,
                        .exponent = NAN};
        add_parameters(of, &row);
        crn_bench_print_row(columns, &row, given.json);
    }
    return 0;
}
