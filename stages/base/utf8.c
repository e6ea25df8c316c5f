#include "stages/base/utf8.h"

#include <stdio.h>
#include <string.h>

int32_t crn_utf8_read(const char *text, size_t length, size_t *ret_length)
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t bytes = byte[0] < 0x80 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    static const int32_t min_code[] = {0, 0, 0x80, 0x800, 0x10000};
    int32_t character = bytes == 1 ? byte[0] : byte[0] & (0x7f >> bytes);
    *ret_length = 1;
    if ((byte[0] >= 0x80 && byte[0] < 0xc0) || byte[0] >= 0xf8 || bytes > length)
        return -1;
    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return -1;
        character = character << 6 | (byte[i] & 0x3f);
    }
    if (character < min_code[bytes] || character > 0x10ffff ||
        (character >= 0xd800 && character < 0xe000))
        return -1;
    *ret_length = bytes;
    return character;
}

bool crn_utf8_prints(int32_t character)
{
    if (character < 0x20 || (character >= 0x7f && character < 0xa0))
        return false;
    if ((character >= 0x2028 && character <= 0x202e) ||
        (character >= 0x2066 && character <= 0x2069))
        return false;
    return character != 0xfeff && (character & 0xfffe) != 0xfffe;
}

size_t crn_utf8_show(const char *text, size_t length, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        int32_t character = crn_utf8_read(text + at, length - at, &bytes);
        bool prints = character >= 0 && crn_utf8_prints(character);
        if (out_bytes - used <= (prints ? bytes : 4 * bytes))
            break;
        if (prints)
            memcpy(out + used, text + at, bytes);
        for (size_t i = 0; i < bytes && !prints; i++)
            sprintf(out + used + 4 * i, "\\x%02x", (unsigned char)text[at + i]);
        used += prints ? bytes : 4 * bytes;
    }
    out[used] = '\0';
    return used;
}

void crn_utf8_clean(char *text)
{
    size_t left = strlen(text);
    for (size_t length; left > 0; text += length, left -= length) {
        int32_t character = crn_utf8_read(text, left, &length);
        if (character < 0 || !crn_utf8_prints(character))
            memset(text, '?', length);
    }
}
