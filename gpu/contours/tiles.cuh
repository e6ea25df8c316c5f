/*
 * Pointer jumping for large planes, grid-wide, in two levels: a warp first follows contours within
 * a tile of 32 x CRN_TILE_ROWS cells in shared memory; only links that enter a tile, some ten times
 * fewer, then take part in the grid-wide rounds.
 */
#ifndef CRN_GPU_CONTOURS_TILES_CUH
#define CRN_GPU_CONTOURS_TILES_CUH

#include "gpu/contours/cells.cuh"
#include "gpu/contours/group.cuh"
#include "gpu/contours/segments.cuh"

/* Capacity of a tile in links; a tile with more skips the first level. */
#define CRN_TILE_LINKS 768

/*
 * A row of a tile, or the row above or below it. `neighbours` describes the cells left (low byte)
 * and right (next byte) of it: their corners, and CRN_TILE_NEIGHBOUR_ACTIVE.
 */
typedef struct tile_row {
    crn_contours_cells c;
    uint32_t first; /* number of its first segment in the tile */
    uint32_t shift; /* add it to a number in the tile to get the number in the group */
    uint32_t neighbours;
} tile_row;

#define CRN_TILE_NEIGHBOUR_ACTIVE 16u

/*
 * Flags of a short link within a tile, beside those of contours.cuh; its next and its key are
 * numbers in the tile. CRN_TILE_OUT: the link has reached the tile's border, and next is the last
 * segment before it.
 */
#define CRN_TILE_NEXT  0x7ffu
#define CRN_TILE_ENTRY 0x1000u /* its predecessor lies in another tile */
#define CRN_TILE_OUT   0x8000u

typedef struct tile_memory {
    tile_row row[CRN_TILE_ROWS + 2]; /* the first is above the tile, the last below */
    crn_contours_short_link link[CRN_TILE_LINKS];
} tile_memory;

typedef struct tile_view {
    int32_t plane, row, word; /* of its upper left cell */
    uint32_t count;
    tile_memory *memory;
} tile_view;

static __device__ int32_t tile_row_of(const tile_memory *memory, uint32_t n)
{
    int32_t row = 1;
#pragma unroll
    for (int32_t step = CRN_TILE_ROWS / 2; step > 0; step /= 2)
        row += memory->row[row + step].first <= n ? step : 0;
    return row;
}

/* Number in the group of a tile's n-th segment. */
static __device__ uint32_t number_of(const tile_memory *memory, uint32_t n)
{
    return n + memory->row[tile_row_of(memory, n)].shift;
}

/* The cell whose upper corners are the two lowest bits of `up`, the left one lowest. */
static __device__ uint32_t cell_next_to(uint32_t up, uint32_t down, uint32_t invalid, bool exists)
{
    uint32_t corners = (up & 3) | (down & 3) << 2;
    bool active = exists && !(invalid & 3) && corners != 0 && corners != 15;
    return corners | (active ? CRN_TILE_NEIGHBOUR_ACTIVE : 0);
}

/* Reads 32 cells as crn_contours_cells_at does, and the cells left and right of them. */
static __device__ tile_row read_row(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                    int32_t plane, int32_t row, int32_t word)
{
    const uint32_t *at =
        work.bits + (size_t)plane * job.plane_words + (uint32_t)(row * job.words + word);
    bool less = word > 0, more = word + 1 < job.words;
    uint32_t up = at[0], down = at[job.words];
    uint32_t up_left = less ? at[-1] : 0, down_left = less ? at[job.words - 1] : 0;
    uint32_t up_right = more ? at[1] : 0, down_right = more ? at[job.words + 1] : 0;
    uint32_t invalid_left = 0, invalid = 0, invalid_right = 0;
    if (work.has_invalid) {
        at += job.corner_words;
        invalid = at[0] | at[job.words];
        invalid_left = less ? at[-1] | at[job.words - 1] : 0;
        invalid_right = more ? at[1] | at[job.words + 1] : 0;
    }
    tile_row r;
    r.c = crn_contours_cells_of(up, up_right, down, down_right, invalid, invalid_right,
                                job.cell_columns - 32 * word);
    r.first = 0;
    r.shift =
        work.prefix[(uint32_t)(plane * job.cell_rows + row) * (uint32_t)job.words + (uint32_t)word];
    r.neighbours =
        cell_next_to(__funnelshift_l(up_left, up, 1), __funnelshift_l(down_left, down, 1),
                     __funnelshift_l(invalid_left, invalid, 1), less) |
        cell_next_to(up_right, down_right, invalid_right, 32 * (word + 1) < job.cell_columns) << 8;
    return r;
}

static __device__ void load_tile(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                 uint32_t index, tile_memory *memory, tile_view *ret_tile)
{
    uint32_t rows = (uint32_t)(job.cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    uint32_t row_of_all = index / (uint32_t)job.words, plane = row_of_all / rows;
    uint32_t lane = threadIdx.x % 32;
    tile_view tile;
    tile.plane = (int32_t)plane;
    tile.row = (int32_t)(row_of_all - plane * rows) * CRN_TILE_ROWS;
    tile.word = (int32_t)(index - row_of_all * (uint32_t)job.words);
    tile.memory = memory;
    tile_row mine = {};
    int32_t row = tile.row + (int32_t)lane - 1;
    if (lane < CRN_TILE_ROWS + 2 && (uint32_t)row < (uint32_t)job.cell_rows)
        mine = read_row(job, work, tile.plane, row, tile.word);
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
        memory->row[lane] = mine;
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
    return row->neighbours & (bit < 0 ? CRN_TILE_NEIGHBOUR_ACTIVE : CRN_TILE_NEIGHBOUR_ACTIVE << 8);
}

/* Number in the group of the cell's segment that enters by that side. */
static __device__ uint32_t segment_entering(const crn_gpu_contours_job &job, const tile_row *row,
                                            int32_t bit, uint32_t side)
{
    uint32_t number = row->first + row->shift, corners;
    if ((uint32_t)bit < 32) {
        corners = crn_contours_corners(row->c, bit);
        number += crn_contours_count(row->c, (1u << bit) - 1);
    } else {
        corners = row->neighbours >> (bit < 0 ? 0 : 8) & 15;
        number += bit > 0                        ? crn_contours_count(row->c, ~0u)
                  : corners == 6 || corners == 9 ? -2u
                                                 : -1u;
    }
    if (corners == 6 || corners == 9)
        number += (crn_contours_sides(corners, job.high) & 3) != side;
    return number;
}

/* Finds a tile's n-th segment, and stores its cell. */
static __device__ tile_segment find_segment(const crn_gpu_contours_job &job,
                                            const crn_contours_work &work, const tile_view &tile,
                                            uint32_t n)
{
    int32_t line = tile_row_of(tile.memory, n);
    const tile_row *mine = &tile.memory->row[line];
    uint32_t second;
    int32_t bit = cell_of(mine->c, n - mine->first, &second);
    uint32_t sides = crn_contours_sides(crn_contours_corners(mine->c, bit), job.high) >> 4 * second;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    int32_t row = tile.row + line - 1, column = 32 * tile.word + bit;
    crn_contours_edge edge =
        crn_contours_load_edge(job, work.number + tile.plane, row, column, from);
    tile_segment s;
    s.number = n + mine->shift;
    work.cell[s.number] = (uint32_t)(row * job.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;

    int32_t other_line = line, other_bit = bit;
    crn_contours_cross(from, &other_line, &other_bit);
    s.head = !is_active(&tile.memory->row[other_line], other_bit);
    s.enters = other_line < 1 || other_line > CRN_TILE_ROWS || (uint32_t)other_bit >= 32;
    other_line = line, other_bit = bit;
    uint32_t side = crn_contours_cross(to, &other_line, &other_bit);
    const tile_row *next = &tile.memory->row[other_line];
    s.inside = s.successor = CRN_CONTOURS_NONE;
    if (is_active(next, other_bit)) {
        s.successor = segment_entering(job, next, other_bit, side);
        if (other_line >= 1 && other_line <= CRN_TILE_ROWS && (uint32_t)other_bit < 32)
            s.inside = s.successor - next->shift;
    }
    s.has_length = crn_contours_has_length(job, work.number + tile.plane, row, column, to, edge);
    return s;
}

/* Appends to the block's list of entries, with one atomic per warp. */
static __device__ void append_entries(uint32_t *list, uint32_t *count, bool enters, uint32_t number)
{
    uint32_t lane = threadIdx.x % 32, entries = __ballot_sync(~0u, enters), at = 0;
    if (entries == 0)
        return;
    if (lane == 0)
        at = atomicAdd(count, (uint32_t)__popc(entries));
    at = __shfl_sync(~0u, at, 0);
    if (enters)
        list[at + (uint32_t)__popc(entries & ((1u << lane) - 1))] = number;
}

static __device__ crn_contours_short_link tile_link(const tile_segment &s, uint32_t n)
{
    bool last = s.successor == CRN_CONTOURS_NONE, out = !last && s.inside == CRN_CONTOURS_NONE;
    uint32_t next = last || out ? n : s.inside, length = s.has_length;
    uint32_t key = last ? CRN_SHORT_LAST | n : s.has_length ? n + 1 : 0;
    uint32_t flags = (out ? CRN_TILE_OUT : 0) | (s.has_length ? 0 : CRN_SHORT_NO_LENGTH) |
                     (s.head ? CRN_SHORT_HEAD : 0) | (s.enters && !s.head ? CRN_TILE_ENTRY : 0);
    return {next | flags | length << 16, key | length << 16};
}

/* Pointer jumping within the tile, until each link has reached the tile's border, its contour's end
 * or gone all the way round. Shared memory of one warp. */
static __device__ void jump_pointers_in_tile(const tile_view &tile)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t span = 1; span < tile.count; span *= 2) {
        bool unfinished = false;
        for (uint32_t base = 0; base < tile.count; base += 32) {
            crn_contours_short_link *at = &tile.memory->link[base + lane];
            bool mine = base + lane < tile.count;
            crn_contours_short_link link = mine ? *at : crn_contours_short_link{CRN_TILE_OUT, 0};
            mine =
                mine && !(link.next_lengths & CRN_TILE_OUT) && !(link.key_to_key & CRN_SHORT_LAST);
            if (mine) {
                extend_short_link(&link, tile.memory->link[link.next_lengths & CRN_TILE_NEXT],
                                  CRN_TILE_ENTRY | CRN_SHORT_HEAD | CRN_SHORT_NO_LENGTH,
                                  CRN_TILE_NEXT | CRN_TILE_OUT);
                unfinished |=
                    !(link.next_lengths & CRN_TILE_OUT) && !(link.key_to_key & CRN_SHORT_LAST);
            }
            __syncwarp();
            if (mine)
                *at = link;
            __syncwarp();
        }
        if (!__any_sync(~0u, unfinished))
            return;
    }
}

/* Converts a tile's link to a full link with numbers of the group. */
static __device__ crn_contours_link full_tile_link(const crn_contours_work &work,
                                                   const tile_view &tile,
                                                   crn_contours_short_link link)
{
    uint32_t key = link.key_to_key & 0xffff;
    uint32_t next = number_of(tile.memory, link.next_lengths & CRN_TILE_NEXT);
    if (link.next_lengths & CRN_TILE_OUT)
        next = work.links[next].next & ~CRN_CONTOURS_NO_LENGTH;
    crn_contours_link full;
    full.next = next | (link.next_lengths & CRN_SHORT_NO_LENGTH ? CRN_CONTOURS_NO_LENGTH : 0);
    full.key = key & CRN_SHORT_LAST
                   ? CRN_CONTOURS_LAST | number_of(tile.memory, key & ~CRN_SHORT_LAST)
               : key ? number_of(tile.memory, key - 1) + 1
                     : 0;
    full.to_key =
        link.key_to_key >> 16 | (link.next_lengths & CRN_SHORT_HEAD ? CRN_CONTOURS_HEAD : 0);
    full.lengths = link.next_lengths >> 16;
    return full;
}

/* Marks the candidates for a contour's lowest segment: in each piece of a contour in the
 * tile, the lowest segment with a length. The full links are stored by now, so the tile's
 * links serve as scratch. */
static __device__ void mark_lowest(const crn_contours_work &work, const tile_view &tile)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t n = lane; n < tile.count; n += 32) {
        crn_contours_short_link *link = &tile.memory->link[n];
        uint32_t next = link->next_lengths, key = link->key_to_key & 0xffff;
        /* Identifies the piece: where it leaves the tile, or how it ends there. */
        uint32_t piece = next & CRN_TILE_OUT    ? next & CRN_TILE_NEXT
                         : key & CRN_SHORT_LAST ? key & CRN_TILE_NEXT
                         : key                  ? key - 1
                                                : CRN_TILE_NEXT;
        link->next_lengths = (next & ~CRN_TILE_NEXT) | piece;
    }
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32)
        tile.memory->link[n].key_to_key = CRN_CONTOURS_NONE;
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32) {
        uint32_t own = tile.memory->link[n].next_lengths;
        if (!(own & CRN_SHORT_NO_LENGTH))
            atomicMin(&tile.memory->link[own & CRN_TILE_NEXT].key_to_key, n);
    }
    __syncwarp();
    for (uint32_t n = lane; n < tile.count; n += 32) {
        uint32_t own = tile.memory->link[n].next_lengths;
        if (!(own & CRN_SHORT_NO_LENGTH) && tile.memory->link[own & CRN_TILE_NEXT].key_to_key == n)
            work.links[number_of(tile.memory, n)].lengths |= CRN_CONTOURS_MAYBE_LOWEST;
    }
}

static __device__ void link_tile(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                 const tile_view &tile, uint32_t *list, uint32_t *count)
{
    uint32_t lane = threadIdx.x % 32;
    bool small = tile.count <= CRN_TILE_LINKS;
    for (uint32_t base = 0; base < tile.count; base += 32) {
        uint32_t n = base + lane;
        tile_segment s = {};
        if (n < tile.count) {
            s = find_segment(job, work, tile, n);
            if (small)
                tile.memory->link[n] = tile_link(s, n);
            if (!small || s.inside == CRN_CONTOURS_NONE)
                work.links[s.number] = first_link(s.number, s.successor, s.has_length, s.head);
        }
        bool enters = n < tile.count && !s.head && (s.enters || !small);
        append_entries(list, count, enters, s.number);
    }
    __syncwarp();
    if (!small)
        return;
    jump_pointers_in_tile(tile);
    for (uint32_t n = lane; n < tile.count; n += 32)
        work.links[number_of(tile.memory, n)] = full_tile_link(work, tile, tile.memory->link[n]);
    __syncwarp();
    mark_lowest(work, tile);
}

/* Processes all tiles, round robin over the blocks in groups of adjacent ones, a warp each. Returns
 * the number of the block's entries. */
static __device__ uint32_t make_tiles(const crn_gpu_contours_job &job,
                                      const crn_contours_work &work, uint32_t *list)
{
    uint32_t rows = (uint32_t)(job.cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    uint32_t tiles = (uint32_t)work.numbers * rows * (uint32_t)job.words;
    uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32, *count = shared_words();
    tile_memory *memory =
        reinterpret_cast<tile_memory *>(shared_memory() + CRN_CONTOURS_SHARED_BYTES) + warp;
    if (threadIdx.x == 0)
        *count = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * warps + warp; i < tiles; i += gridDim.x * warps) {
        tile_view tile;
        load_tile(job, work, i, memory, &tile);
        link_tile(job, work, tile, list, count);
    }
    crn_thread_group<true>::sync();
    return *count;
}

/* Entries that a thread keeps in registers, and pointer-jumping steps between two grid-wide
 * barriers: a barrier costs several times as much as a step. */
#define CRN_CONTOURS_ENTRIES_KEPT 2
#define CRN_CONTOURS_STEPS        3

static __device__ bool jump_steps(crn_contours_link *link, const crn_contours_link *links)
{
    bool changed = false;
    for (uint32_t step = 0; step < CRN_CONTOURS_STEPS && !(link->key & CRN_CONTOURS_LAST); step++)
        changed |= extend_link(link, links[link->next & ~CRN_CONTOURS_NO_LENGTH]);
    return changed;
}

/* Pointer jumping grid-wide over the links that enter tiles, until none changes. Leaves
 * the result in work.links. */
static __device__ void jump_pointers_of_entries(const crn_gpu_contours_job &job,
                                                const crn_contours_work &work, const uint32_t *list,
                                                uint32_t count)
{
    crn_contours_link *from = work.links, *to = work.other_links, mine[CRN_CONTOURS_ENTRIES_KEPT];
    uint32_t segment[CRN_CONTOURS_ENTRIES_KEPT];
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_ENTRIES_KEPT; i++) {
        uint32_t at = threadIdx.x + i * blockDim.x;
        segment[i] = at < count ? list[at] : CRN_CONTOURS_NONE;
        mine[i] = at < count ? from[segment[i]] : crn_contours_link{0, CRN_CONTOURS_LAST, 0, 0};
    }
    for (uint32_t round = 0, more = 1; more; round++) {
        bool changed = false;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ENTRIES_KEPT; i++) {
            if (segment[i] == CRN_CONTOURS_NONE)
                break;
            changed |= jump_steps(&mine[i], from);
            to[segment[i]] = mine[i];
        }
        for (uint32_t at = threadIdx.x + CRN_CONTOURS_ENTRIES_KEPT * blockDim.x; at < count;
             at += blockDim.x) {
            crn_contours_link link = from[list[at]];
            changed |= jump_steps(&link, from);
            to[list[at]] = link;
        }
        crn_contours_link *read = from;
        from = to;
        to = read;
        more = any_changed<true>(job, round, changed);
    }
    if (from == work.links)
        return;
    for (uint32_t at = threadIdx.x; at < count; at += blockDim.x)
        work.links[list[at]] = from[list[at]];
    crn_thread_group<true>::sync();
}

/* Entries first; then every other link takes one step, to the entry that it points to. */
static __device__ void jump_pointers_grid_wide(const crn_gpu_contours_job &job,
                                               const crn_contours_work &work, const uint32_t *list,
                                               uint32_t count)
{
    jump_pointers_of_entries(job, work, list, count);
    for (uint32_t s = crn_thread_group<true>::thread_rank(); s < work.count;
         s += crn_thread_group<true>::num_threads()) {
        crn_contours_link link = work.links[s];
        if (!(link.key & CRN_CONTOURS_LAST) &&
            extend_link(&link, work.links[link.next & ~CRN_CONTOURS_NO_LENGTH]))
            work.links[s] = link;
    }
    crn_thread_group<true>::sync();
}

#endif
