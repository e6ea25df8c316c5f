#include "tests/support/parts/same_config.h"

#include <string.h>

size_t crn_param_bytes(crn_param_type type)
{
    static const size_t bytes[] = {sizeof(bool),     sizeof(int64_t),   sizeof(double),
                                   sizeof(int32_t),  CRN_TEXT_BYTES,    sizeof(crn_texts),
                                   sizeof(crn_size), sizeof(crn_sizes), sizeof(crn_numbers),
                                   sizeof(crn_reals)};
    return bytes[type];
}

static bool same_step(const crn_step *a, const crn_step *b)
{
    if (a->stage != b->stage || a->optional != b->optional || !a->settings != !b->settings)
        return false;
    const crn_param *row = a->stage ? a->stage->params : NULL;
    for (; row && row->key; row++)
        if (memcmp((const char *)a->settings + row->offset, (const char *)b->settings + row->offset,
                   crn_param_bytes(row->type)) != 0)
            return false;
    return true;
}

static bool same_recipes(const crn_recipes *a, const crn_recipes *b)
{
    if (!a != !b || (a && a->count != b->count))
        return false;
    for (int32_t i = 0; a && i < a->count; i++) {
        const crn_recipe *one = &a->item[i], *other = &b->item[i];
        if (strcmp(one->name, other->name) != 0 ||
            memcmp(&one->classes, &other->classes, sizeof one->classes) != 0 ||
            memcmp(&one->latency, &other->latency, sizeof one->latency) != 0 ||
            memcmp(&one->geometry, &other->geometry, sizeof one->geometry) != 0)
            return false;
        for (int32_t step = 0; step < CRN_STAGES_MAX; step++)
            if (!same_step(&one->chain[step], &other->chain[step]))
                return false;
    }
    return true;
}

bool crn_same_config(const crn_config *a, const crn_config *b)
{
    for (int32_t i = 0; i < CRN_STAGES_MAX; i++)
        if (!same_step(&a->chain[i], &b->chain[i]))
            return false;
    /* Apart from the chain, the struct is compared as bytes. */
    size_t chain = offsetof(crn_config, chain), behind = chain + sizeof a->chain;
    if (memcmp(a, b, chain) != 0)
        return false;
    /* A printed file names every key. */
    static crn_config copies[2];
    copies[0] = *a;
    copies[1] = *b;
    copies[0].monitor.http_named = copies[1].monitor.http_named = false;
    copies[0].publish.log.dir_named = copies[1].publish.log.dir_named = false;
    copies[0].recipes = copies[1].recipes = NULL;
    return same_recipes(a->recipes, b->recipes) &&
           memcmp((const char *)&copies[0] + behind, (const char *)&copies[1] + behind,
                  sizeof *a - behind) == 0;
}
