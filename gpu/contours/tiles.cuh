/*
 * Pointer jumping for large planes, grid-wide, in two levels: a warp first follows contours within
 * a tile of 32 x CRN_TILE_ROWS cells in shared memory; only links that enter a tile, some ten times
 * fewer, then take part in the grid-wide rounds.
 */
#ifndef CRN_GPU_CONTOURS_TILES_CUH
#define CRN_GPU_CONTOURS_TILES_CUH

#include "gpu/contours/segments.cuh"

/* Capacity of a tile in links; a tile with more skips the first level. */
#define CRN_TILE_LINKS 768

/*
 * A row of a tile, or the row above or below it. `beside` describes the cells left (low byte) and
 * right (next byte) of it: their corners, and CRN_CONTOURS_BESIDE_ACTIVE.
 */
typedef struct tile_row {
    crn_contours_cells c;
    uint32_t first; /* number of its first segment in the tile */
    uint32_t shift; /* add it to a number in the tile to get the number in the group */
    uint32_t beside;
} tile_row;

#define CRN_CONTOURS_BESIDE_ACTIVE 16u

/*
 * A link within a tile: the fields of segments.cuh in 16 bits each. x: next | flags, w << 16; y:
 * key, z << 16. Keys are a number in the tile + 1, 0, or CRN_TILE_LAST | number.
 */
#define CRN_TILE_NUMBER  0x7ffu
#define CRN_TILE_ENTRY   0x1000u /* its predecessor lies in another tile */
#define CRN_TILE_HEAD    0x2000u
#define CRN_TILE_NO_SIZE 0x4000u
#define CRN_TILE_OUT                                                                               \
    0x8000u /* the link has reached the tile's border: next is the last segment                    \
             * before it */
#define CRN_TILE_LAST 0x8000u

typedef struct tile_room {
    tile_row row[CRN_TILE_ROWS + 2]; /* the first is above the tile, the last below */
    uint2 link[CRN_TILE_LINKS];
} tile_room;

typedef struct tile_place {
    int32_t plane, row, word; /* of its upper left cell */
    uint32_t count;
    tile_room *room;
} tile_place;

static __device__ int32_t tile_row_of(const tile_room *room, uint32_t n)
{
    int32_t row = 1;
#pragma unroll
    for (int32_t step = CRN_TILE_ROWS / 2; step > 0; step /= 2)
        row += room->row[row + step].first <= n ? step : 0;
    return row;
}

/* Number in the group of a tile's n-th segment. */
static __device__ uint32_t number_of(const tile_room *room, uint32_t n)
{
    return n + room->row[tile_row_of(room, n)].shift;
}

/* The cell whose upper corners are the two lowest bits of `up`, the left one lowest. */
static __device__ uint32_t cell_beside(uint32_t up, uint32_t down, uint32_t bad, bool exists)
{
    uint32_t corners = (up & 3) | (down & 3) << 2;
    bool active = exists && !(bad & 3) && corners != 0 && corners != 15;
    return corners | (active ? CRN_CONTOURS_BESIDE_ACTIVE : 0);
}

/* Reads 32 cells as crn_contours_cells_at does, and the cells left and right of them. */
static __device__ tile_row read_row(const crn_contours_plan &plan, const crn_contours_work &work,
                                    int32_t plane, int32_t row, int32_t word)
{
    const uint32_t *at =
        work.bits + (size_t)plane * plan.plane_words + (uint32_t)(row * plan.words + word);
    bool less = word > 0, more = word + 1 < plan.words;
    uint32_t up = at[0], down = at[plan.words];
    uint32_t up_left = less ? at[-1] : 0, down_left = less ? at[plan.words - 1] : 0;
    uint32_t up_right = more ? at[1] : 0, down_right = more ? at[plan.words + 1] : 0;
    uint32_t bad_left = 0, bad = 0, bad_right = 0;
    if (work.lacks) {
        at += plan.corner_words;
        bad = at[0] | at[plan.words];
        bad_left = less ? at[-1] | at[plan.words - 1] : 0;
        bad_right = more ? at[1] | at[plan.words + 1] : 0;
    }
    tile_row r;
    r.c = crn_contours_cells_of(up, up_right, down, down_right, bad, bad_right,
                                plan.cell_columns - 32 * word);
    r.first = 0;
    r.shift = work.prefix[(uint32_t)(plane * plan.cell_rows + row) * (uint32_t)plan.words +
                          (uint32_t)word];
    r.beside = cell_beside(__funnelshift_l(up_left, up, 1), __funnelshift_l(down_left, down, 1),
                           __funnelshift_l(bad_left, bad, 1), less) |
               cell_beside(up_right, down_right, bad_right, 32 * (word + 1) < plan.cell_columns)
                   << 8;
    return r;
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
    int32_t row = tile.row + (int32_t)lane - 1;
    if (lane < CRN_TILE_ROWS + 2 && (uint32_t)row < (uint32_t)plan.cell_rows)
        mine = read_row(plan, work, tile.plane, row, tile.word);
    uint32_t count = lane == 0 ? 0 : crn_contours_count(mine.c, ~0u), up_to = count;
    for (uint32_t d = 1; d < CRN_TILE_ROWS + 2; d *= 2) {
        uint32_t other = __shfl_up_sync(~0u, up_to, d);
        up_to += lane >= d ? other : 0;
    }
    mine.first = up_to - count;
    mine.shift -= mine.first;
    tile.count = __shfl_sync(~0u, up_to, CRN_TILE_ROWS);
    __syncwarp(); /* the previous tile is no longer read */
    if (lane < CRN_TILE_ROWS + 2)
        room->row[lane] = mine;
    __syncwarp();
    *ret_tile = tile;
}

/* A segment before it becomes a link. */
typedef struct tile_segment {
    uint32_t number; /* in the group */
    uint32_t inside; /* its successor's number in the tile, or CRN_CONTOURS_NONE */
    uint32_t successor;
    bool head, enters, has_length;
} tile_segment;

/* True if a cell of the tile or next to it is active; `row` is its row, `bit`
 * its column (-1 to 32). */
static __device__ bool is_active(const tile_row *row, int32_t bit)
{
    if ((uint32_t)bit < 32)
        return row->c.active >> bit & 1;
    return row->beside & (bit < 0 ? CRN_CONTOURS_BESIDE_ACTIVE : CRN_CONTOURS_BESIDE_ACTIVE << 8);
}

/* Number in the group of the cell's segment that enters by that side. */
static __device__ uint32_t beginning_at(const crn_contours_plan &plan, const tile_row *row,
                                        int32_t bit, uint32_t side)
{
    uint32_t number = row->first + row->shift, corners;
    if ((uint32_t)bit < 32) {
        corners = crn_contours_corners(row->c, bit);
        number += crn_contours_count(row->c, (1u << bit) - 1);
    } else {
        corners = row->beside >> (bit < 0 ? 0 : 8) & 15;
        number += bit > 0                        ? crn_contours_count(row->c, ~0u)
                  : corners == 6 || corners == 9 ? -2u
                                                 : -1u;
    }
    if (corners == 6 || corners == 9)
        number += (crn_contours_sides(corners, plan.high) & 3) != side;
    return number;
}

/* Finds a tile's n-th segment, and stores its cell. */
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
    int32_t row = tile.row + line - 1, column = 32 * tile.word + bit;
    crn_contours_edge edge =
        crn_contours_load_edge(plan, work.number + tile.plane, row, column, from);
    tile_segment s;
    s.number = n + mine->shift;
    work.cell[s.number] = (uint32_t)(row * plan.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;

    int32_t other_line = line, other_bit = bit;
    crn_contours_cross(from, &other_line, &other_bit);
    s.head = !is_active(&tile.room->row[other_line], other_bit);
    s.enters = other_line < 1 || other_line > CRN_TILE_ROWS || (uint32_t)other_bit >= 32;
    other_line = line, other_bit = bit;
    uint32_t side = crn_contours_cross(to, &other_line, &other_bit);
    const tile_row *next = &tile.room->row[other_line];
    s.inside = s.successor = CRN_CONTOURS_NONE;
    if (is_active(next, other_bit)) {
        s.successor = beginning_at(plan, next, other_bit, side);
        if (other_line >= 1 && other_line <= CRN_TILE_ROWS && (uint32_t)other_bit < 32)
            s.inside = s.successor - next->shift;
    }
    s.has_length = crn_contours_has_length(plan, work.number + tile.plane, row, column, to, edge);
    return s;
}

/* Appends to the block's list of entries, with one atomic per warp. */
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
    uint32_t key = last ? CRN_TILE_LAST | n : s.has_length ? n + 1 : 0;
    uint32_t flags = (out ? CRN_TILE_OUT : 0) | (s.has_length ? 0 : CRN_TILE_NO_SIZE) |
                     (s.head ? CRN_TILE_HEAD : 0) | (s.enters && !s.head ? CRN_TILE_ENTRY : 0);
    return make_uint2(next | flags | length << 16, key | length << 16);
}

/* Pointer jumping within the tile, until each link has reached the tile's border, its contour's end
 * or gone all the way round. Shared memory of one warp. */
static __device__ void run_in_tile(const tile_place &tile)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t span = 1; span < tile.count; span *= 2) {
        bool on_its_way = false;
        for (uint32_t base = 0; base < tile.count; base += 32) {
            uint2 *at = &tile.room->link[base + lane];
            bool mine = base + lane < tile.count;
            uint2 link = mine ? *at : make_uint2(CRN_TILE_OUT, 0);
            mine = mine && !(link.x & CRN_TILE_OUT) && !(link.y & CRN_TILE_LAST);
            if (mine) {
                uint2 there = tile.room->link[link.x & CRN_TILE_NUMBER];
                uint32_t w = link.x >> 16;
                if ((there.y & 0xffff) > (link.y & 0xffff))
                    link.y = (there.y & 0xffff) | (w + (there.y >> 16)) << 16;
                link.x = (link.x & (CRN_TILE_ENTRY | CRN_TILE_HEAD | CRN_TILE_NO_SIZE)) |
                         (there.x & (CRN_TILE_NUMBER | CRN_TILE_OUT)) | (w + (there.x >> 16)) << 16;
                on_its_way |= !(link.x & CRN_TILE_OUT) && !(link.y & CRN_TILE_LAST);
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

/* Converts a tile's link to a full link with numbers of the group. */
static __device__ uint4 whole_link(const crn_contours_work &work, const tile_place &tile,
                                   uint2 link)
{
    uint32_t key = link.y & 0xffff, next = number_of(tile.room, link.x & CRN_TILE_NUMBER);
    if (link.x & CRN_TILE_OUT)
        next = work.now[next].x & ~CRN_CONTOURS_NO_SIZE;
    uint4 whole;
    whole.x = next | (link.x & CRN_TILE_NO_SIZE ? CRN_CONTOURS_NO_SIZE : 0);
    whole.y = key & CRN_TILE_LAST ? CRN_CONTOURS_LAST | number_of(tile.room, key & ~CRN_TILE_LAST)
              : key               ? number_of(tile.room, key - 1) + 1
                                  : 0;
    whole.z = link.y >> 16 | (link.x & CRN_TILE_HEAD ? CRN_CONTOURS_HEAD : 0);
    whole.w = link.x >> 16;
    return whole;
}

/* Marks the candidates for a contour's lowest segment: in each piece of a contour in the
 * tile, the lowest segment with a length. The full links are stored by now, so the tile's
 * links serve as scratch. */
static __device__ void mark_least(const crn_contours_work &work, const tile_place &tile)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t n = lane; n < tile.count; n += 32) {
        uint2 *link = &tile.room->link[n];
        uint32_t key = link->y & 0xffff;
        /* Identifies the piece: where it leaves the tile, or how it ends there. */
        uint32_t piece = link->x & CRN_TILE_OUT ? link->x & CRN_TILE_NUMBER
                         : key & CRN_TILE_LAST  ? key & CRN_TILE_NUMBER
                         : key                  ? key - 1
                                                : CRN_TILE_NUMBER;
        link->x = (link->x & ~CRN_TILE_NUMBER) | piece;
    }
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32)
        tile.room->link[n].y = CRN_CONTOURS_NONE;
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32) {
        uint32_t own = tile.room->link[n].x;
        if (!(own & CRN_TILE_NO_SIZE))
            atomicMin(&tile.room->link[own & CRN_TILE_NUMBER].y, n);
    }
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32) {
        uint32_t own = tile.room->link[n].x;
        if (!(own & CRN_TILE_NO_SIZE) && tile.room->link[own & CRN_TILE_NUMBER].y == n)
            work.now[number_of(tile.room, n)].w |= CRN_CONTOURS_MAYBE_LEAST;
    }
}

static __device__ void link_tile(const crn_contours_plan &plan, const crn_contours_work &work,
                                 const tile_place &tile, uint32_t *list, uint32_t *count)
{
    uint32_t lane = threadIdx.x % 32;
    bool small = tile.count <= CRN_TILE_LINKS;
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
    __syncwarp();
    mark_least(work, tile);
}

/* Processes all tiles, round robin over the blocks in groups of adjacent ones, a warp each. Returns
 * the number of the block's entries. */
static __device__ uint32_t make_tiles(const crn_contours_plan &plan, const crn_contours_work &work,
                                      uint32_t *list)
{
    uint32_t rows = (uint32_t)(plan.cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    uint32_t tiles = (uint32_t)work.numbers * rows * (uint32_t)plan.words;
    uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32, *count = shared_words();
    tile_room *room =
        reinterpret_cast<tile_room *>(shared_memory() + CRN_CONTOURS_SHARED_BYTES) + warp;
    if (threadIdx.x == 0)
        *count = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * warps + warp; i < tiles; i += gridDim.x * warps) {
        tile_place tile;
        open_tile(plan, work, i, room, &tile);
        link_tile(plan, work, tile, list, count);
    }
    group_sync<true>();
    return *count;
}

/* Entries that a thread keeps in registers, and pointer-jumping steps between two grid-wide
 * barriers: a barrier costs several times as much as a step. */
#define CRN_CONTOURS_ENTRIES_KEPT 2
#define CRN_CONTOURS_STEPS        3

static __device__ bool step_on(uint4 *link, const uint4 *now)
{
    bool changed = false;
    for (uint32_t step = 0; step < CRN_CONTOURS_STEPS && !(link->y & CRN_CONTOURS_LAST); step++)
        changed |= learn(link, now[link->x & ~CRN_CONTOURS_NO_SIZE]);
    return changed;
}

/* Pointer jumping grid-wide over the links that enter tiles, until none changes. Leaves
 * the result in work.now. */
static __device__ void run_entries(const crn_contours_plan &plan, const crn_contours_work &work,
                                   const uint32_t *list, uint32_t count)
{
    uint4 *now = work.now, *next = work.next, mine[CRN_CONTOURS_ENTRIES_KEPT];
    uint32_t who[CRN_CONTOURS_ENTRIES_KEPT];
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_ENTRIES_KEPT; i++) {
        uint32_t at = threadIdx.x + i * blockDim.x;
        who[i] = at < count ? list[at] : CRN_CONTOURS_NONE;
        mine[i] = at < count ? now[who[i]] : make_uint4(0, CRN_CONTOURS_LAST, 0, 0);
    }
    for (uint32_t round = 0, more = 1; more; round++) {
        bool changed = false;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ENTRIES_KEPT; i++) {
            if (who[i] == CRN_CONTOURS_NONE)
                break;
            changed |= step_on(&mine[i], now);
            next[who[i]] = mine[i];
        }
        for (uint32_t at = threadIdx.x + CRN_CONTOURS_ENTRIES_KEPT * blockDim.x; at < count;
             at += blockDim.x) {
            uint4 link = now[list[at]];
            changed |= step_on(&link, now);
            next[list[at]] = link;
        }
        uint4 *done = next;
        next = now;
        now = done;
        more = any_changed<true>(plan, round, changed);
    }
    if (now == work.now)
        return;
    for (uint32_t at = threadIdx.x; at < count; at += blockDim.x)
        work.now[list[at]] = now[list[at]];
    group_sync<true>();
}

/* Entries first; then every other link takes one step, to the entry that it points to. */
static __device__ void run_through_tiles(const crn_contours_plan &plan,
                                         const crn_contours_work &work, const uint32_t *list,
                                         uint32_t count)
{
    run_entries(plan, work, list, count);
    for (uint32_t s = thread_rank<true>(); s < work.count; s += group_size<true>()) {
        uint4 link = work.now[s];
        if (!(link.y & CRN_CONTOURS_LAST) && learn(&link, work.now[link.x & ~CRN_CONTOURS_NO_SIZE]))
            work.now[s] = link;
    }
    group_sync<true>();
}

#endif
