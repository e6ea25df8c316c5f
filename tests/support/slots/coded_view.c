#include "tests/support/slots/coded_view.h"

#include <string.h>

#include "tests/support/random.h"

#define CELL   12 /* px */
#define SQUARE 4
#define AT     4 /* of the square in its cell */
#define ACROSS (CRN_CODED_WIDTH / CELL)

/* Of a square of SQUARE x SQUARE pixels at level 0.5: each corner lacks an eighth. */
#define AREA_PX (SQUARE * SQUARE - 0.5)

uint32_t crn_coded_number(uint32_t lane, uint64_t epoch, uint64_t fruit, uint32_t view)
{
    const uint64_t of[] = {lane, epoch, fruit, view};
    uint64_t number = 1;
    for (int i = 0; i < 4; i++) {
        crn_random random = {number ^ of[i]};
        number = crn_random_next(&random);
    }
    return (uint32_t)number;
}

static bool is_rot(uint32_t number, size_t x, size_t y)
{
    bool in_square =
        x % CELL >= AT && x % CELL < AT + SQUARE && y % CELL >= AT && y % CELL < AT + SQUARE;
    return in_square && number >> (y / CELL * ACROSS + x / CELL) & 1;
}

void crn_coded_write(void *maps, uint32_t number, size_t begin, size_t end)
{
    float *values = maps;
    for (size_t i = begin / sizeof *values; i < end / sizeof *values; i++) {
        size_t pixel = i / CRN_CODED_CHANNELS, channel = i % CRN_CODED_CHANNELS;
        bool rot = is_rot(number, pixel % CRN_CODED_WIDTH, pixel / CRN_CODED_WIDTH);
        values[i] = rot == (channel == 1);
    }
}

/* The bit of a cell whose square this is; 0: it is not one. */
static uint32_t bit_of(const crn_decoded_defect *defect)
{
    double middle = AT + (SQUARE - 1) / 2.0, x = defect->centroid[0] - middle,
           y = defect->centroid[1] - middle;
    long column = (long)(x / CELL + 0.5), row = (long)(y / CELL + 0.5);
    bool is_square = defect->area_px == AREA_PX && x > column * CELL - 0.01 &&
                     x < column * CELL + 0.01 && y > row * CELL - 0.01 && y < row * CELL + 0.01;
    return is_square ? UINT32_C(1) << (row * ACROSS + column) : 0;
}

bool crn_coded_is_whole(const crn_decoded *verdict, uint32_t view)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < verdict->defect_count; i++) {
        if (verdict->defects[i].view != view)
            continue;
        uint32_t bit = bit_of(&verdict->defects[i]);
        if (!bit || number & bit)
            return false;
        number |= bit;
    }
    return number ==
           crn_coded_number((uint32_t)verdict->lane, verdict->epoch, verdict->fruit, view);
}
