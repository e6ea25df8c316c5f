/* Elements other than rectangles: the host code (chords.cuh). */
#include "gpu/morphology/chords.cuh"

extern "C" {
#include "stages/kernel/element.h"
}

#define SIDE_MAX        64        /* of an element */
#define PLANE_WORDS_MAX (1 << 24) /* more than any block has */

/* Runs and levels in pixels, before a tile's layout turns them into offsets. */
typedef struct chords_run {
    int32_t dx, dy, length, level;
} chords_run;

typedef struct chords_plan {
    chords_run runs[CRN_CHORDS_MAX];
    int32_t run_count;
    int32_t lengths[CRN_CHORD_LEVELS_MAX + 1],
        from[CRN_CHORD_LEVELS_MAX + 1]; /* level 0 has length 1 */
    int32_t level_count;
    int32_t above, below, left, right;
    int32_t rhombus; /* its radius, 1 or 2, or 0 */
} chords_plan;

static int32_t max_int(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static bool add_run(chords_plan *p, const crn_element *e, bool reflect, int32_t y, int32_t first,
                    int32_t end)
{
    if (p->run_count == CRN_CHORDS_MAX)
        return false;
    chords_run r = {first - e->width / 2, y - e->height / 2, end - first, 0};
    if (reflect)
        r = {e->width / 2 - (end - 1), e->height / 2 - y, end - first, 0};
    p->above = max_int(p->above, -r.dy);
    p->below = max_int(p->below, r.dy);
    p->left = max_int(p->left, -r.dx);
    p->right = max_int(p->right, r.dx + r.length - 1);
    p->runs[p->run_count++] = r;
    return true;
}

static bool find_runs(chords_plan *p, const crn_element *e, bool reflect)
{
    for (int32_t y = 0; y < e->height; y++)
        for (int32_t x = 0; x < e->width; x++) {
            int32_t first = x;
            while (x < e->width && crn_element_has(e, x, y))
                x++;
            if (x > first && !add_run(p, e, reflect, y, first, x))
                return false;
        }
    return true;
}

/* Adds levels up to `length`, which is greater than all before. */
static bool add_levels(chords_plan *p, int32_t length)
{
    int32_t steps[CRN_CHORD_LEVELS_MAX], count = 0, last = p->lengths[p->level_count];
    for (int32_t step = length; step > last; step = step > 3 * last ? (step + 2) / 3 : last) {
        if (count == CRN_CHORD_LEVELS_MAX)
            return false;
        steps[count++] = step;
    }
    while (count > 0) {
        if (p->level_count == CRN_CHORD_LEVELS_MAX)
            return false;
        p->lengths[++p->level_count] = steps[--count];
    }
    return true;
}

/* If only one run has the longest length, it becomes two or three shorter
 * runs and needs no level. */
static void split_longest(chords_plan *p)
{
    int32_t top = p->level_count, found = 0, at = 0;
    for (int32_t i = 0; i < p->run_count; i++)
        if (p->runs[i].level == top) {
            at = i;
            found++;
        }
    if (found != 1 || top == 0 || p->run_count + 2 > CRN_CHORDS_MAX)
        return;
    chords_run r = p->runs[at];
    int32_t part = p->lengths[top - 1], end = r.dx + r.length;
    r.level = top - 1;
    p->runs[at] = r;
    if (r.length > 2 * part) {
        p->runs[p->run_count] = r;
        p->runs[p->run_count++].dx += part;
    }
    p->runs[p->run_count] = r;
    p->runs[p->run_count++].dx = end - part;
    p->level_count--;
}

/* The radius if exactly the pixels with |x| + |y| up to it are members, else 0. */
static int32_t rhombus_radius(const chords_plan *p)
{
    int32_t radius = p->run_count / 2;
    if ((p->run_count != 3 && p->run_count != 5) || p->above != radius || p->below != radius)
        return 0;
    for (int32_t i = 0; i < p->run_count; i++) {
        const chords_run *r = &p->runs[i];
        int32_t half = radius - (r->dy < 0 ? -r->dy : r->dy);
        if (r->dx != -half || r->length != 2 * half + 1 || (i > 0 && r->dy == r[-1].dy))
            return 0;
    }
    return radius;
}

static bool find_chords(chords_plan *p, const crn_element *e, bool reflect, int32_t per_word)
{
    *p = chords_plan();
    p->lengths[0] = 1;
    if (!find_runs(p, e, reflect))
        return false;
    p->rhombus = rhombus_radius(p);
    if (p->rhombus) {
        /* A whole word above and below. */
        p->above = p->below = per_word > 1 ? per_word : p->rhombus;
        p->run_count = 0;
        return true;
    }
    for (int32_t length = 1; length <= e->width; length++) {
        bool occurs = false;
        for (int32_t i = 0; i < p->run_count; i++)
            occurs = occurs || p->runs[i].length == length;
        if (!occurs)
            continue;
        if (length > 1 && !add_levels(p, length))
            return false;
        for (int32_t i = 0; i < p->run_count; i++)
            if (p->runs[i].length == length)
                p->runs[i].level = p->level_count;
    }
    split_longest(p);
    return true;
}

/* What a step reads, its level 0. */
typedef struct chords_source {
    int32_t base, columns; /* the plane */
    int32_t column;        /* that the result's first column reads, for a run at dx 0 */
} chords_source;

static void lay_out_step(crn_chord_job *job, const chords_plan *p, int32_t number,
                         chords_source source, int32_t plane_words, int32_t per_word)
{
    crn_chord_step *step = &job->steps[number];
    int32_t channels = job->images.channels;
    step->level_count = p->level_count;
    step->chord_count = p->run_count;
    step->rhombus = p->rhombus;
    step->first_word = source.base + source.column;
    step->above = p->above;
    step->left = p->left;
    for (int32_t i = 1; i <= p->level_count; i++) {
        int32_t length = p->lengths[i], part = p->lengths[i - 1];
        crn_chord_level *l = &step->levels[i - 1];
        l->to = i * plane_words;
        l->from = i == 1 ? source.base : (i - 1) * plane_words;
        l->ahead[0] = (length > 2 * part ? part : length - part) * channels;
        l->ahead[1] = (length - part) * channels;
        l->columns = crn_divider_of(source.columns - (length - 1) * channels);
    }
    for (int32_t i = 0; i < p->run_count; i++) {
        const chords_run *r = &p->runs[i];
        int32_t down = p->above + r->dy;
        int32_t plane = r->level == 0 ? source.base : r->level * plane_words;
        step->chords[i] =
            4 * (plane + down / per_word * job->pitch + source.column + r->dx * channels) +
            down % per_word;
    }
}

/* Computes the layout; returns bytes of shared memory, SIZE_MAX if impossible. */
static size_t lay_out(crn_chord_job *job, const chords_plan *plans, int32_t size, int32_t rows,
                      int32_t columns)
{
    const crn_morphology_recipe *recipe = &job->images.recipe;
    int32_t channels = job->images.channels, per_word = size == 1 ? 4 : 1, chunk = 16 / size;
    bool chain = recipe->steps == 2 && !recipe->parallel;
    const chords_plan *a = &plans[0], *b = &plans[recipe->steps - 1];
    int32_t left = chain ? a->left + b->left : max_int(a->left, b->left);
    int32_t right = chain ? a->right + b->right : max_int(a->right, b->right);
    job->images.rows_at = rows;
    job->images.columns_at = columns;
    job->left_halo = crn_round_up(left * channels, chunk);
    job->loaded = crn_round_up(job->left_halo + columns + right * channels, chunk);
    job->pitch = crn_round_up(job->loaded, 4);
    int32_t middle = crn_round_up(rows + (chain ? b->above + b->below : 0), per_word);
    int32_t reach = chain ? a->above + a->below : b->above + b->below;
    job->loaded_rows = crn_round_up(middle + reach, per_word) / per_word;
    /* With thousands of interleaved planes the halo alone may exceed a block's memory and the
     * range of the counts. */
    if ((int64_t)job->loaded_rows * job->pitch > PLANE_WORDS_MAX)
        return SIZE_MAX;
    int32_t plane_words = crn_round_up(job->loaded_rows * job->pitch, 4);
    int32_t levels = max_int(a->level_count, b->level_count), planes = levels + 1;
    int32_t shift = chain ? b->left * channels : 0;
    lay_out_step(job, a, 0, {0, job->loaded, job->left_halo - shift}, plane_words, per_word);
    crn_chord_step *first = &job->steps[0], *last = &job->steps[1];
    first->rows = middle / per_word;
    int32_t between = columns + (chain ? (b->left + b->right) * channels : 0);
    first->columns = crn_divider_of(between);
    first->base_rows = job->loaded_rows;
    first->to = planes++ * plane_words;
    if (recipe->steps == 2) {
        chords_source loaded = {0, job->loaded, job->left_halo};
        chords_source plane = {first->to, between, shift};
        lay_out_step(job, b, 1, chain ? plane : loaded, plane_words, per_word);
        last->rows = rows / per_word;
        last->columns = crn_divider_of(columns);
        last->base_rows = chain ? first->rows : job->loaded_rows;
        /* The second step of a chain does not need the loaded tile. */
        last->to = chain ? 0 : planes++ * plane_words;
    }
    /* u8: stages in the first step's plane or the loaded tile, which are read no more. f32: results
     * go straight to the stage, so it must not be a plane that they are computed from. */
    job->stage = size == 4 ? (chain ? 0 : job->steps[recipe->steps - 1].to) : chain ? first->to : 0;
    return (size_t)planes * (size_t)plane_words * 4;
}

/* A tile's work in words read; two count as one pass over a pixel of a rectangle. */
static double work_of(const crn_chord_job *job)
{
    double work = 2.0 * job->loaded * job->loaded_rows;
    for (int32_t i = 0; i < job->images.recipe.steps; i++) {
        const crn_chord_step *step = &job->steps[i];
        work += 3.0 * step->level_count * job->loaded * step->base_rows;
        work += (step->rhombus ? 8.0 : 2.0 + step->chord_count) * step->columns.by * step->rows;
    }
    return work / 2;
}

static bool choose_tile(crn_chord_job *job, const chords_plan *plans, const crn_gpu_limits *limits,
                        int32_t size, int32_t planes, crn_tile_launch *ret_launch)
{
    static const int32_t rows_of[] = {16, 24, 32, 48, 64, 80, 96, 128, 160};
    static const int32_t columns_of[] = {32, 64, 96, 128, 160, 192, 256, 384};
    int32_t best_rows = 0, best_columns = 0;
    double best_cost = -1;
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++)
        for (size_t j = 0; j < sizeof columns_of / sizeof *columns_of; j++) {
            crn_tile_launch how = {0, lay_out(job, plans, size, rows_of[i], columns_of[j])};
            if (how.bytes > limits->shared_bytes)
                continue;
            double cost = crn_tile_cost(limits, &job->images, planes, work_of(job), 1.06, &how);
            if (best_cost >= 0 && cost >= best_cost)
                continue;
            best_cost = cost;
            best_rows = rows_of[i];
            best_columns = columns_of[j];
            *ret_launch = how;
        }
    if (best_cost >= 0)
        lay_out(job, plans, size, best_rows, best_columns);
    job->chunks = crn_divider_of(job->loaded * size / 16);
    job->wide_out = crn_divider_of(job->images.columns_at / 4);
    return best_cost >= 0;
}

bool crn_chord_plan(const crn_gpu_limits *limits, const crn_element *element,
                    const crn_tile_images *images, crn_type type, int32_t views,
                    crn_chord_job *ret_job, crn_tile_launch *ret_launch)
{
    if (element->width > SIDE_MAX || element->height > SIDE_MAX)
        return false;
    chords_plan plans[2];
    *ret_job = {*images};
    for (int32_t i = 0; i < images->recipe.steps; i++)
        if (!find_chords(&plans[i], element, images->recipe.dilates[i], type == CRN_U8 ? 4 : 1))
            return false;
    return choose_tile(ret_job, plans, limits, type == CRN_U8 ? 1 : 4,
                       (int32_t)images->planes.by * views, ret_launch);
}
