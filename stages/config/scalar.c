/* Parses one scalar of the file as a bool, number, size, choice or
 * text. Nothing is converted implicitly. */
#include "stages/config/internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t skip_digits(const char *text, size_t at)
{
    while (text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Length of a whole number at the start of the text: -?(0|[1-9][0-9]*), but not -0. */
static size_t integer_length(const char *text)
{
    size_t start = text[0] == '-';
    size_t end = skip_digits(text, start);
    if (end == start || (text[start] == '0' && (end > start + 1 || start)))
        return 0;
    return end;
}

/* Length of a number at the start of the text: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static size_t real_length(const char *text)
{
    size_t start = text[0] == '-';
    size_t end = skip_digits(text, start);
    if (end == start || (text[start] == '0' && end > start + 1))
        return 0;
    if (text[end] == '.') {
        size_t fraction = skip_digits(text, end + 1);
        if (fraction > end + 1)
            end = fraction;
    }
    if (text[end] == 'e' || text[end] == 'E') {
        size_t sign = text[end + 1] == '+' || text[end + 1] == '-';
        size_t exponent = skip_digits(text, end + 1 + sign);
        if (exponent > end + 1 + sign)
            end = exponent;
    }
    return end;
}

/* Returns the unit suffix of a key's name, or NULL. */
static const char *unit_of(const char *key)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "px", "bytes", "mib", NULL};
    const char *last = strrchr(key, '_');
    for (const char *const *unit = units; last && *unit; unit++)
        if (strcmp(last + 1, *unit) == 0)
            return *unit;
    return NULL;
}

/* True if the text is a number followed by letters, as in 10ms or 1.5 s. */
static bool has_unit(const char *text)
{
    size_t at = real_length(text);
    if (!at)
        return false;
    at += text[at] == ' ';
    return isalpha((unsigned char)text[at]);
}

static bool is_real(const crn_param *row)
{
    return row->type == CRN_PARAM_REAL || row->type == CRN_PARAM_REALS;
}

static const char *noun_of(crn_param_type type)
{
    switch (type) {
    case CRN_PARAM_BOOL:
        return "true or false";
    case CRN_PARAM_INTEGER:
    case CRN_PARAM_NUMBERS:
        return "a plain whole number";
    case CRN_PARAM_REAL:
    case CRN_PARAM_REALS:
        return "a plain number";
    case CRN_PARAM_SIZE:
    case CRN_PARAM_SIZES:
        return "a size";
    default:
        return "a text";
    }
}

/* True if the text is a whole number of another base, as in 0x64, 0o17 or 0b11. */
static bool is_of_base(const char *text, const char **ret_base)
{
    static const struct {
        char letter;
        const char *digits, *name;
    } bases[] = {{'x', "0123456789abcdefABCDEF", "hexadecimal"},
                 {'o', "01234567", "octal"},
                 {'b', "01", "binary"}};
    text += text[0] == '-' || text[0] == '+';
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        *ret_base = bases[i].name;
        if (text[0] == '0' && tolower((unsigned char)text[1]) == bases[i].letter && text[2] &&
            !text[2 + strspn(text + 2, bases[i].digits)])
            return true;
    }
    return false;
}

#define WORD_BYTES 64 /* of a number; longer ones get no hint */

/* The number that the text becomes with `good` instead of each of the characters `wrong`; false if
 * it has none of these or becomes none. */
static bool becomes_number(const char *text, const char *wrong, char good, bool whole,
                           char ret_number[WORD_BYTES], char *ret_found)
{
    size_t length = strlen(text);
    if (length >= WORD_BYTES || !text[strcspn(text, wrong)])
        return false;
    *ret_found = text[strcspn(text, wrong)];
    for (size_t i = 0; i <= length; i++)
        ret_number[i] = text[i] && strchr(wrong, text[i]) ? good : text[i];
    return (whole ? integer_length(ret_number) : real_length(ret_number)) == length;
}

/* What a text that is not a number was probably meant to be. False: no idea. */
static bool explain_number(const crn_param *row, const char *text, crn_error *error)
{
    bool whole = !is_real(row);
    char number[WORD_BYTES], found;
    const char *base;
    crn_quoted shown = crn_quote(text, strlen(text), '\'');
    if (is_of_base(text, &base))
        crn_error_set(error, -EINVAL, "%s is %s, %s of decimal digits expected", shown.text, base,
                      noun_of(row->type));
    else if (becomes_number(text, ",", '.', false, number, &found))
        crn_error_set(error, -EINVAL, "%s has a %scomma, %s expected", shown.text,
                      whole ? "" : "decimal ", whole ? noun_of(row->type) : number);
    else if (becomes_number(text, "Oo", '0', whole, number, &found))
        crn_error_set(error, -EINVAL, "%s has the letter %c, the digit 0 expected: %s", shown.text,
                      found, number);
    else if (becomes_number(text, "Il", '1', whole, number, &found))
        crn_error_set(error, -EINVAL, "%s has the letter %c, the digit 1 expected: %s", shown.text,
                      found, number);
    else
        return false;
    return true;
}

/* Describes the range of a row: "1 to 64", "at least 0", "a finite one". */
static void print_range(const crn_param *row, char *out, size_t out_bytes)
{
    /* Beyond these a bound means no limit. */
    bool bounded_below = row->min > -1e300, bounded_above = row->max < 1e300;
    if (bounded_below && bounded_above)
        snprintf(out, out_bytes, "%.15g to %.15g", row->min, row->max);
    else if (bounded_below)
        snprintf(out, out_bytes, "at least %.15g", row->min);
    else if (bounded_above)
        snprintf(out, out_bytes, "at most %.15g", row->max);
    else
        snprintf(out, out_bytes, "a finite one");
}

static int read_number(const crn_param *row, const char *text, size_t length, void *value,
                       crn_error *error)
{
    crn_quoted shown = crn_quote(text, length, '\'');
    char range[160];
    print_range(row, range, sizeof range);
    bool whole = !is_real(row);
    size_t good = whole ? integer_length(text) : real_length(text);
    if (good == 0 || good != length) {
        if (strlen(text) == length && explain_number(row, text, error))
            return -EINVAL;
        if (unit_of(row->key) && has_unit(text))
            return crn_error_set(error, -EINVAL,
                                 "%s has a unit, the bare number expected (the unit, %s, is in the "
                                 "key's name)",
                                 shown.text, unit_of(row->key));
        return crn_error_set(error, -EINVAL, "%s is not %s, %s expected", shown.text,
                             noun_of(row->type), range);
    }
    errno = 0;
    int64_t integer = whole ? strtoll(text, NULL, 10) : 0;
    bool overflow = whole && errno == ERANGE;
    double real = whole ? (double)integer : strtod(text, NULL);
    /* strtod turns 1e999 into infinity, which is in no range. */
    if (overflow || isinf(real) || real < row->min || real > row->max)
        return crn_error_set(error, -EINVAL, "%.60s is out of range, %s expected", text, range);
    if (whole)
        memcpy(value, &integer, sizeof integer);
    else
        memcpy(value, &real, sizeof real);
    return 0;
}

/* Number of digits of one side of a size, written as a whole number; 0: none. */
static size_t side_length(const char *text)
{
    return text[0] == '-' ? 0 : integer_length(text);
}

/* False if it is out of range. */
static bool read_side(const crn_param *row, const char *text, int32_t *ret_side)
{
    long long side = strtoll(text, NULL, 10); /* saturates on overflow */
    if ((double)side < row->min || (double)side > row->max || side > INT32_MAX)
        return false;
    *ret_side = (int32_t)side;
    return true;
}

/* Parses N or WxH. */
static int read_size(const crn_param *row, const char *text, size_t length, void *value,
                     crn_error *error)
{
    size_t width_end = side_length(text);
    bool square = text[width_end] == '\0';
    size_t height_at = square ? 0 : width_end + 1;
    bool divided = square || text[width_end] == 'x';
    size_t height_end = width_end && divided ? height_at + side_length(text + height_at) : 0;
    if (height_end == height_at || height_end != length)
        return crn_error_set(error, -EINVAL,
                             "%s is not a size, N or WIDTHxHEIGHT such as 5 or 7x3 expected",
                             crn_quote(text, length, '\'').text);
    crn_size size;
    if (!read_side(row, text, &size.width) || !read_side(row, text + height_at, &size.height)) {
        char range[160];
        print_range(row, range, sizeof range);
        return crn_error_set(error, -EINVAL, "%.60s is out of range, sides of %s expected", text,
                             range);
    }
    memcpy(value, &size, sizeof size);
    return 0;
}

static int read_bool(const char *text, size_t length, void *value, crn_error *error)
{
    bool is_true = strcmp(text, "true") == 0;
    if (length != strlen(text) || (!is_true && strcmp(text, "false") != 0))
        return crn_error_set(error, -EINVAL, "%s given, true or false expected",
                             crn_quote(text, length, '\'').text);
    memcpy(value, &is_true, sizeof is_true);
    return 0;
}

static crn_names list_of(const char *const *words)
{
    crn_names names = {0};
    while (names.count < CRN_NAMES_MAX - 1 && words[names.count]) {
        names.item[names.count] = words[names.count];
        names.count++;
    }
    return names;
}

static int read_choice(const crn_param *row, const char *text, size_t length, void *value,
                       crn_error *error)
{
    crn_names names = list_of(row->choices);
    for (int32_t i = 0; i < names.count; i++) {
        if (strlen(names.item[i]) == length && memcmp(text, names.item[i], length) == 0) {
            memcpy(value, &i, sizeof i);
            return 0;
        }
    }
    const char *nearest = crn_names_nearest(&names, text);
    if (nearest)
        return crn_error_set(error, -EINVAL, "unknown %s, did you mean '%s'?",
                             crn_quote(text, length, '\'').text, nearest);
    char known[512];
    crn_names_join(&names, "or", known, sizeof known);
    return crn_error_set(error, -EINVAL, "unknown %s, %s expected",
                         crn_quote(text, length, '\'').text, known);
}

static int read_text(const crn_scalar *scalar, char *value, crn_error *error)
{
    crn_quoted shown = crn_quote(scalar->text, scalar->length, '\'');
    for (size_t at = 0, bytes; at < scalar->length; at += bytes) {
        int32_t character = crn_utf8_read(scalar->text + at, scalar->length - at, &bytes);
        if (character < 0 || !crn_utf8_prints(character))
            return crn_error_set(error, -EINVAL,
                                 "%s has a character that does not print, a line "
                                 "of printable text expected",
                                 shown.text);
    }
    if (scalar->length >= CRN_TEXT_BYTES)
        return crn_error_set(error, -EINVAL, "%s is %zu bytes long, at most %d expected",
                             shown.text, scalar->length, CRN_TEXT_BYTES - 1);
    memset(value, 0, CRN_TEXT_BYTES);
    memcpy(value, scalar->text, scalar->length);
    return 0;
}

/* True for what YAML reads as null. */
static bool is_null(const crn_scalar *scalar)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    for (const char *const *null = nulls; scalar->plain && *null; null++)
        if (strcmp(scalar->text, *null) == 0)
            return true;
    return false;
}

int crn_scalar_read(const crn_param *row, const crn_scalar *scalar, void *value, crn_error *error)
{
    bool text = row->type == CRN_PARAM_TEXT || row->type == CRN_PARAM_TEXTS;
    if (is_null(scalar)) {
        char expected[600];
        crn_param_expected(row, expected, sizeof expected);
        return crn_error_set(error, -EINVAL, "no value, %s expected%s", expected,
                             text ? " (in quotes where it is empty or null)" : "");
    }
    if (text)
        return read_text(scalar, value, error);
    if (row->type == CRN_PARAM_CHOICE)
        return read_choice(row, scalar->text, scalar->length, value, error);
    if (!scalar->plain)
        return crn_error_set(error, -EINVAL, "%s is a text, %s without quotes expected",
                             crn_quote(scalar->text, scalar->length, '"').text, noun_of(row->type));
    if (row->type == CRN_PARAM_BOOL)
        return read_bool(scalar->text, scalar->length, value, error);
    if (row->type == CRN_PARAM_SIZE || row->type == CRN_PARAM_SIZES)
        return read_size(row, scalar->text, scalar->length, value, error);
    return read_number(row, scalar->text, scalar->length, value, error);
}

static const crn_list_kind list_kinds[] = {
    {CRN_PARAM_TEXTS, CRN_PARAM_TEXT, sizeof(crn_texts), CRN_TEXT_BYTES, offsetof(crn_texts, item),
     CRN_TEXTS_MAX, "text"},
    {CRN_PARAM_SIZES, CRN_PARAM_SIZE, sizeof(crn_sizes), sizeof(crn_size),
     offsetof(crn_sizes, item), CRN_SIZES_MAX, "size"},
    {CRN_PARAM_NUMBERS, CRN_PARAM_INTEGER, sizeof(crn_numbers), sizeof(int64_t),
     offsetof(crn_numbers, item), CRN_NUMBERS_MAX, "number"},
    {CRN_PARAM_REALS, CRN_PARAM_REAL, sizeof(crn_reals), sizeof(double), offsetof(crn_reals, item),
     CRN_REALS_MAX, "number"},
};

const crn_list_kind *crn_list_kind_of(crn_param_type type)
{
    for (size_t i = 0; i < sizeof list_kinds / sizeof *list_kinds; i++)
        if (list_kinds[i].type == type)
            return &list_kinds[i];
    return NULL;
}

/* Default of a list such as "[8, 16]", or of a single item; "" is an empty list. */
static int fall_back_to_list(const crn_param *row, const crn_list_kind *kind, void *value,
                             crn_error *error)
{
    union {
        int32_t count;
        crn_texts texts;
        crn_sizes sizes;
        crn_numbers numbers;
        crn_reals reals;
    } list;
    char text[CRN_TEXT_BYTES], *rest = NULL;
    memset(&list, 0, sizeof list);
    snprintf(text, sizeof text, "%s", row->fallback);
    for (char *item = strtok_r(text, "[, ]", &rest); item; item = strtok_r(NULL, "[, ]", &rest)) {
        if (list.count == kind->max)
            return crn_error_set(error, -EINVAL, "more than %d %ss", kind->max, kind->noun);
        const crn_scalar scalar = {item, strlen(item), true};
        int r = crn_scalar_read(
            row, &scalar, (char *)&list + kind->first + kind->item_bytes * (size_t)list.count++,
            error);
        if (r < 0)
            return r;
    }
    memcpy(value, &list, kind->list_bytes);
    return 0;
}

int crn_param_fall_back(const crn_param *row, void *settings, crn_error *error)
{
    char *value = (char *)settings + row->offset;
    const crn_list_kind *kind = crn_list_kind_of(row->type);
    if (!row->fallback)
        return 0;
    if (!row->fallback[0] && row->type == CRN_PARAM_REAL) {
        double none = NAN;
        memcpy(value, &none, sizeof none);
        return 0;
    }
    if (kind)
        return fall_back_to_list(row, kind, value, error);
    /* A text's default is unquoted in the table, whatever it contains. */
    const crn_scalar scalar = {row->fallback, strlen(row->fallback), row->type != CRN_PARAM_TEXT};
    return crn_scalar_read(row, &scalar, value, error);
}

void crn_param_expected(const crn_param *row, char *out, size_t out_bytes)
{
    char range[160];
    crn_names names;
    switch (row->type) {
    case CRN_PARAM_INTEGER:
    case CRN_PARAM_REAL:
        print_range(row, range, sizeof range);
        snprintf(out, out_bytes, "a %snumber%s%s", row->type == CRN_PARAM_INTEGER ? "whole " : "",
                 row->min > -1e300 && row->max < 1e300 ? " from " : ", ", range);
        return;
    case CRN_PARAM_CHOICE:
        names = list_of(row->choices);
        crn_names_join(&names, "or", out, out_bytes);
        return;
    case CRN_PARAM_TEXTS:
        snprintf(out, out_bytes, "a text or a list of at most %d", CRN_TEXTS_MAX);
        return;
    case CRN_PARAM_NUMBERS:
        print_range(row, range, sizeof range);
        snprintf(out, out_bytes, "a whole number or a list of at most %d, from %s", CRN_NUMBERS_MAX,
                 range);
        return;
    case CRN_PARAM_REALS:
        print_range(row, range, sizeof range);
        snprintf(out, out_bytes, "a number or a list of at most %d, from %s", CRN_REALS_MAX, range);
        return;
    case CRN_PARAM_SIZE:
        print_range(row, range, sizeof range);
        snprintf(out, out_bytes, "N or WxH, sides of %s", range);
        return;
    case CRN_PARAM_SIZES:
        print_range(row, range, sizeof range);
        snprintf(out, out_bytes, "N or WxH or a list of at most %d, sides of %s", CRN_SIZES_MAX,
                 range);
        return;
    case CRN_PARAM_TEXT:
        if (row->names) {
            names = list_of(row->names);
            names.item[names.count++] = "the path of a file";
            crn_names_join(&names, "or", out, out_bytes);
            return;
        }
        /* fall through */
    default:
        snprintf(out, out_bytes, "%s", noun_of(row->type));
    }
}
