/*
 * The same where all blocks work together on large planes: a warp follows contours within a tile of
 * 32 x CRN_TILE_ROWS cells first, in shared memory. Only where they enter tiles is left for all
 * blocks to follow together, some ten times less.
 */
#ifndef CRN_GPU_CONTOURS_TILES_CUH
#define CRN_GPU_CONTOURS_TILES_CUH

#include "gpu/contours_segments.cuh"

/* Links of a tile; one with more is left as it is. */
#define TILE_LINKS 768

typedef struct tile_row {
    crn_contours_cells c;
    uint32_t first; /* segment, counted in the tile */
    uint32_t shift; /* from there to the number in the crew */
} tile_row;

/*
 * A link within a tile, as above in 16 bits each. x: next | flags, w << 16; y: the key, z << 16.
 * Keys are a number in the tile + 1, 0, or TILE_LAST | number.
 */
#define TILE_NUMBER  0x7ffu
#define TILE_ENTRY   0x1000u /* comes from another tile */
#define TILE_HEAD    0x2000u
#define TILE_NO_SIZE 0x4000u
#define TILE_OUT     0x8000u /* it is the tile's end that was reached: next is the last before it */
#define TILE_LAST    0x8000u

typedef struct tile_room {
    tile_row row[CRN_TILE_ROWS];
    uint2 link[TILE_LINKS];
} tile_room;

typedef struct tile_place {
    int32_t plane, row, word; /* of its upper left cell */
    uint32_t count;
    tile_room *room;
} tile_place;

static __device__ int32_t tile_row_of(const tile_room *room, uint32_t n)
{
    int32_t row = 0;
#pragma unroll
    for (int32_t step = CRN_TILE_ROWS / 2; step > 0; step /= 2)
        row += room->row[row + step].first <= n ? step : 0;
    return row;
}

/* The crew's number of a tile's n-th segment. */
static __device__ uint32_t number_of(const tile_room *room, uint32_t n)
{
    return n + room->row[tile_row_of(room, n)].shift;
}

static __device__ void open_tile(const crn_contours_plan &plan, const crn_contours_work &work,
                                 uint32_t index, tile_room *room, tile_place *ret_tile)
{
    uint32_t rows = (uint32_t)(plan.cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    uint32_t row_of_all = index / (uint32_t)plan.words, plane = row_of_all / rows;
    uint32_t lane = threadIdx.x % 32;
    tile_place tile;
    tile.plane = (int32_t)plane;
    tile.row = (int32_t)(row_of_all - plane * rows) * CRN_TILE_ROWS;
    tile.word = (int32_t)(index - row_of_all * (uint32_t)plan.words);
    tile.room = room;
    tile_row mine = {};
    uint32_t number = 0;
    if (lane < CRN_TILE_ROWS && tile.row + (int32_t)lane < plan.cell_rows) {
        int32_t row = tile.row + (int32_t)lane;
        mine.c = crn_contours_cells_at(plan, work, tile.plane, row, tile.word);
        number = work.prefix[(uint32_t)(tile.plane * plan.cell_rows + row) * (uint32_t)plan.words +
                             (uint32_t)tile.word];
    }
    uint32_t count = crn_contours_count(mine.c, ~0u), up_to = count;
    for (uint32_t d = 1; d < CRN_TILE_ROWS; d *= 2) {
        uint32_t other = __shfl_up_sync(~0u, up_to, d);
        up_to += lane >= d ? other : 0;
    }
    mine.first = up_to - count;
    mine.shift = number - mine.first;
    tile.count = __shfl_sync(~0u, up_to, CRN_TILE_ROWS - 1);
    __syncwarp(); /* the tile before is done with */
    if (lane < CRN_TILE_ROWS)
        room->row[lane] = mine;
    __syncwarp();
    *ret_tile = tile;
}

/* Whether a neighbouring cell lies in the tile: its row there, or -1. */
static __device__ int32_t row_in_tile(const tile_place &tile, int32_t row, int32_t column)
{
    uint32_t there = (uint32_t)(row - tile.row);
    return there < CRN_TILE_ROWS && column >> 5 == tile.word ? (int32_t)there : -1;
}

/* One segment on its way. */
typedef struct tile_segment {
    uint32_t number; /* the crew's */
    uint32_t inside; /* its successor in the tile, or CRN_CONTOURS_NONE */
    uint32_t successor;
    bool head, enters, has_length;
} tile_segment;

static __device__ void find_successor(const crn_contours_plan &plan, const crn_contours_work &work,
                                      const tile_place &tile, int32_t row, int32_t column,
                                      uint32_t side, tile_segment *s)
{
    int32_t there = row_in_tile(tile, row, column);
    s->inside = CRN_CONTOURS_NONE;
    if (there < 0) {
        s->successor = crn_contours_beginning(plan, work, tile.plane, row, column, side);
        return;
    }
    const tile_row *next = &tile.room->row[there];
    int32_t bit = column & 31;
    s->successor = CRN_CONTOURS_NONE;
    if (!(next->c.active >> bit & 1))
        return;
    uint32_t n = next->first + crn_contours_count(next->c, (1u << bit) - 1);
    if (next->c.saddle >> bit & 1)
        n += (crn_contours_sides(crn_contours_corners(next->c, bit), plan.high) & 3) != side;
    s->inside = n;
    s->successor = n + next->shift;
}

/* A tile's n-th segment; its cell is kept. */
static __device__ tile_segment find_segment(const crn_contours_plan &plan,
                                            const crn_contours_work &work, const tile_place &tile,
                                            uint32_t n)
{
    int32_t line = tile_row_of(tile.room, n);
    const tile_row *mine = &tile.room->row[line];
    uint32_t second;
    int32_t bit = cell_of(mine->c, n - mine->first, &second);
    uint32_t sides =
        crn_contours_sides(crn_contours_corners(mine->c, bit), plan.high) >> 4 * second;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    int32_t row = tile.row + line, column = 32 * tile.word + bit;
    tile_segment s;
    s.number = n + mine->shift;
    work.cell[s.number] = (uint32_t)(row * plan.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;

    int32_t other_row = row, other_column = column;
    crn_contours_cross(from, &other_row, &other_column);
    int32_t before = row_in_tile(tile, other_row, other_column);
    s.enters = before < 0;
    s.head = s.enters ? !crn_contours_has_segment(plan, work, tile.plane, other_row, other_column)
                      : !(tile.room->row[before].c.active >> (other_column & 31) & 1);
    other_row = row, other_column = column;
    uint32_t side = crn_contours_cross(to, &other_row, &other_column);
    find_successor(plan, work, tile, other_row, other_column, side, &s);
    s.has_length = crn_contours_has_length(plan, work.number + tile.plane, row, column, from, to);
    return s;
}

/* Appends to the block's own list. */
static __device__ void note_entries(uint32_t *list, uint32_t *count, bool enters, uint32_t number)
{
    uint32_t lane = threadIdx.x % 32, who = __ballot_sync(~0u, enters), at = 0;
    if (who == 0)
        return;
    if (lane == 0)
        at = atomicAdd(count, (uint32_t)__popc(who));
    at = __shfl_sync(~0u, at, 0);
    if (enters)
        list[at + (uint32_t)__popc(who & ((1u << lane) - 1))] = number;
}

static __device__ uint2 tile_link(const tile_segment &s, uint32_t n)
{
    bool last = s.successor == CRN_CONTOURS_NONE, out = !last && s.inside == CRN_CONTOURS_NONE;
    uint32_t next = last || out ? n : s.inside, length = s.has_length;
    uint32_t key = last ? TILE_LAST | n : s.has_length ? n + 1 : 0;
    uint32_t flags = (out ? TILE_OUT : 0) | (s.has_length ? 0 : TILE_NO_SIZE) |
                     (s.head ? TILE_HEAD : 0) | (s.enters && !s.head ? TILE_ENTRY : 0);
    return make_uint2(next | flags | length << 16, key | length << 16);
}

/* All links to the end of the tile, of their contour, or all the way round. A warp's own memory. */
static __device__ void run_in_tile(const tile_place &tile)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t span = 1; span < tile.count; span *= 2) {
        bool on_its_way = false;
        for (uint32_t base = 0; base < tile.count; base += 32) {
            uint2 *at = &tile.room->link[base + lane];
            bool mine = base + lane < tile.count;
            uint2 link = mine ? *at : make_uint2(TILE_OUT, 0);
            mine = mine && !(link.x & TILE_OUT) && !(link.y & TILE_LAST);
            if (mine) {
                uint2 there = tile.room->link[link.x & TILE_NUMBER];
                uint32_t w = link.x >> 16;
                if ((there.y & 0xffff) > (link.y & 0xffff))
                    link.y = (there.y & 0xffff) | (w + (there.y >> 16)) << 16;
                link.x = (link.x & (TILE_ENTRY | TILE_HEAD | TILE_NO_SIZE)) |
                         (there.x & (TILE_NUMBER | TILE_OUT)) | (w + (there.x >> 16)) << 16;
                on_its_way |= !(link.x & TILE_OUT) && !(link.y & TILE_LAST);
            }
            __syncwarp();
            if (mine)
                *at = link;
            __syncwarp();
        }
        if (!__any_sync(~0u, on_its_way))
            return;
    }
}

/* What was found out in the tile, in the crew's numbers. */
static __device__ uint4 whole_link(const crn_contours_work &work, const tile_place &tile,
                                   uint2 link)
{
    uint32_t key = link.y & 0xffff, next = number_of(tile.room, link.x & TILE_NUMBER);
    if (link.x & TILE_OUT)
        next = work.now[next].x & ~NO_SIZE;
    uint4 whole;
    whole.x = next | (link.x & TILE_NO_SIZE ? NO_SIZE : 0);
    whole.y = key & TILE_LAST ? LAST | number_of(tile.room, key & ~TILE_LAST)
              : key           ? number_of(tile.room, key - 1) + 1
                              : 0;
    whole.z = link.y >> 16 | (link.x & TILE_HEAD ? HEAD : 0);
    whole.w = link.x >> 16;
    return whole;
}

static __device__ void link_tile(const crn_contours_plan &plan, const crn_contours_work &work,
                                 const tile_place &tile, uint32_t *list, uint32_t *count)
{
    uint32_t lane = threadIdx.x % 32;
    bool small = tile.count <= TILE_LINKS;
    for (uint32_t base = 0; base < tile.count; base += 32) {
        uint32_t n = base + lane;
        tile_segment s = {};
        if (n < tile.count) {
            s = find_segment(plan, work, tile, n);
            if (small)
                tile.room->link[n] = tile_link(s, n);
            if (!small || s.inside == CRN_CONTOURS_NONE)
                work.now[s.number] = first_link(s.number, s.successor, s.has_length, s.head);
        }
        bool enters = n < tile.count && !s.head && (s.enters || !small);
        note_entries(list, count, enters, s.number);
    }
    __syncwarp();
    if (!small)
        return;
    run_in_tile(tile);
    for (uint32_t n = lane; n < tile.count; n += 32)
        work.now[number_of(tile.room, n)] = whole_link(work, tile, tile.room->link[n]);
}

/* Tiles go round: `warps` next to each other for each block. */
static __device__ uint32_t make_tiles(const crn_contours_plan &plan, const crn_contours_work &work,
                                      uint32_t *list)
{
    uint32_t rows = (uint32_t)(plan.cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    uint32_t tiles = (uint32_t)work.numbers * rows * (uint32_t)plan.words;
    uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32, *count = shared_words();
    tile_room *room = reinterpret_cast<tile_room *>(shared_memory() + SHARED_BYTES) + warp;
    if (threadIdx.x == 0)
        *count = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * warps + warp; i < tiles; i += gridDim.x * warps) {
        tile_place tile;
        open_tile(plan, work, i, room, &tile);
        link_tile(plan, work, tile, list, count);
    }
    meet<true>();
    return *count;
}

/* Where contours enter tiles: until every such link knows the end of its contour; then all do. */
static __device__ void run_through_tiles(const crn_contours_plan &plan,
                                         const crn_contours_work &work, const uint32_t *list,
                                         uint32_t count)
{
    uint4 *now = work.now, *next = work.next;
    for (uint32_t round = 0, more = 1; more; round++) {
        bool changed = false;
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            uint32_t s = list[i];
            uint4 link = now[s];
            if (!(link.y & LAST))
                changed |= learn(&link, now[link.x & ~NO_SIZE]);
            next[s] = link;
        }
        uint4 *done = next;
        next = now;
        now = done;
        more = any_changed<true>(plan, round, changed);
    }
    if (now != work.now) {
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
            work.now[list[i]] = now[list[i]];
        meet<true>();
    }
    for (uint32_t s = my_rank<true>(); s < work.count; s += crew_size<true>()) {
        uint4 link = work.now[s];
        if (!(link.y & LAST) && learn(&link, work.now[link.x & ~NO_SIZE]))
            work.now[s] = link;
    }
    meet<true>();
}

#endif
