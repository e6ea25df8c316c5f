#include "tools/common/rules/tokens.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const crn_comparison_names[CRN_COMPARISONS] = {"<", "<=", ">", ">=", "==", "!="};

/* Longest number, in characters. */
#define NUMBER_MAX 40

static bool begins_word(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool continues_word(char c)
{
    return begins_word(c) || isdigit((unsigned char)c) || c == '-';
}

static crn_token bad(size_t at, size_t length, const char *fault)
{
    return (crn_token){.kind = CRN_TOKEN_BAD, .at = at, .length = length, .fault = fault};
}

static crn_token read_quoted(const char *text, size_t length, size_t at)
{
    const char *end = memchr(text + at + 1, text[at], length - at - 1);
    if (!end)
        return bad(at, 1, "this quote has no second one, \"NAME\" expected");
    return (crn_token){.kind = CRN_TOKEN_QUOTED, .at = at, .length = (size_t)(end - text) - at + 1};
}

static size_t digits_from(const char *text, size_t length, size_t at)
{
    size_t end = at;
    while (end < length && isdigit((unsigned char)text[end]))
        end++;
    return end - at;
}

static crn_token read_number(const char *text, size_t length, size_t at)
{
    size_t end = at + (text[at] == '-');
    end += digits_from(text, length, end);
    size_t fraction = end < length && text[end] == '.' ? digits_from(text, length, end + 1) : 0;
    if (fraction)
        end += 1 + fraction;
    if (end + 1 < length && text[end] == ',' && isdigit((unsigned char)text[end + 1]))
        return bad(at, end - at, "this number has a comma, a decimal point expected");
    if (end < length && begins_word(text[end]))
        return bad(at, end - at,
                   "letters follow this number; a number alone expected: the unit is that of the "
                   "field, as in area_mm2");
    char digits[NUMBER_MAX + 1];
    if (end - at > NUMBER_MAX)
        return bad(at, end - at, "this number is too long, at most 40 characters expected");
    memcpy(digits, text + at, end - at);
    digits[end - at] = '\0';
    return (crn_token){
        .kind = CRN_TOKEN_NUMBER, .at = at, .length = end - at, .number = strtod(digits, NULL)};
}

/* Signs in the order in which they are tried, longer ones before those that they begin with. */
static crn_token read_sign(const char *text, size_t length, size_t at)
{
    static const struct {
        const char *sign;
        crn_comparison comparison;
        const char *fault; /* NULL: the comparison */
    } signs[] = {
        {"<=", CRN_LESS_EQUAL, NULL},
        {">=", CRN_GREATER_EQUAL, NULL},
        {"==", CRN_EQUAL, NULL},
        {"!=", CRN_UNEQUAL, NULL},
        {"<>", 0, "'<>' is written '!='"},
        {"=<", 0, "'=<' is written '<='"},
        {"=>", 0, "'=>' is written '>='"},
        {"&&", 0, "'&&' is written 'and'"},
        {"||", 0, "'||' is written 'or'"},
        {"<", CRN_LESS, NULL},
        {">", CRN_GREATER, NULL},
        {"=", 0, "'=' is written '=='"},
        {"!", 0, "'!' is written 'not'"},
        {"%", 0, "'%' has no meaning, the field area_percent expected"},
        {"[", 0, "'[' has no meaning, round brackets expected"},
        {"]", 0, "']' has no meaning, round brackets expected"},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t size = strlen(signs[i].sign);
        if (size > length - at || memcmp(text + at, signs[i].sign, size) != 0)
            continue;
        if (signs[i].fault)
            return bad(at, size, signs[i].fault);
        return (crn_token){.kind = CRN_TOKEN_COMPARISON,
                           .at = at,
                           .length = size,
                           .comparison = signs[i].comparison};
    }
    return bad(at, 1,
               "this character has no meaning in a rule; names that have it stand in quotes");
}

crn_token crn_token_read(const char *text, size_t length, size_t at)
{
    while (at < length && isspace((unsigned char)text[at]))
        at++;
    if (at == length)
        return (crn_token){.kind = CRN_TOKEN_END, .at = at};
    char c = text[at];
    if (c == '"' || c == '\'')
        return read_quoted(text, length, at);
    if (isdigit((unsigned char)c) ||
        (c == '-' && at + 1 < length && isdigit((unsigned char)text[at + 1])))
        return read_number(text, length, at);
    if (begins_word(c)) {
        size_t end = at + 1;
        while (end < length && continues_word(text[end]))
            end++;
        return (crn_token){.kind = CRN_TOKEN_WORD, .at = at, .length = end - at};
    }
    if (c == '(' || c == ')' || c == ',' || c == '.')
        return (crn_token){.kind = CRN_TOKEN_MARK, .at = at, .length = 1};
    return read_sign(text, length, at);
}

bool crn_token_is(const char *text, const crn_token *token, const char *word)
{
    return (token->kind == CRN_TOKEN_WORD || token->kind == CRN_TOKEN_MARK) &&
           strlen(word) == token->length && memcmp(text + token->at, word, token->length) == 0;
}
