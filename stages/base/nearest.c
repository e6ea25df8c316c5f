#include "stages/base/nearest.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 64 /* bytes of a word that are compared */

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance with transpositions (optimal string alignment), ignoring case. */
static int distance(const char *a, const char *b)
{
    size_t length = strlen(b);
    int before[WORD_MAX + 1] = {0}, above[WORD_MAX + 1], row[WORD_MAX + 1];
    for (size_t j = 0; j <= length; j++)
        above[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= length; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = min(min(row[j - 1], above[j]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = min(row[j], before[j - 2] + 1);
        }
        memcpy(before, above, sizeof before);
        memcpy(above, row, sizeof above);
    }
    return above[length];
}

const char *crn_nearest(const char *word, const char *const words[], size_t count)
{
    size_t length = strlen(word);
    if (!length || length > WORD_MAX)
        return NULL;
    const char *nearest = NULL;
    int nearest_distance = (int)(length + 2) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) > WORD_MAX)
            continue;
        int d = distance(word, words[i]);
        if (d < nearest_distance) {
            nearest = words[i];
            nearest_distance = d;
        }
    }
    return nearest;
}
