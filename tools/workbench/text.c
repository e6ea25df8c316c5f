#include "tools/workbench/text.h"

size_t crn_utf8_bytes(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t count = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < count; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* Encodings that are too long, of surrogates, and beyond the last character. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return count;
}

void crn_utf8_mend(char *text)
{
    while (*text) {
        size_t count = crn_utf8_bytes(text);
        if (count == 0)
            *text = '?';
        text += count ? count : 1;
    }
}
