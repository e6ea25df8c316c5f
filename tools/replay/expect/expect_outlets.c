#include "tools/replay/expect/expect_outlets.h"

#include <errno.h>
#include <inttypes.h>

int crn_expect_outlets_load(const char *path, crn_outlets *outlets, crn_error *error)
{
    int r = crn_outlets_load(path, stderr, outlets);
    return r ? crn_error_set(error, r,
                             "%s: the outlets cannot be decided by it, so nothing was sent: "
                             "correct it, or name another file of cernita-sorter",
                             path)
             : 0;
}

int crn_expect_outlets_decide(const crn_outlets *outlets, const crn_messagepack_json *expected,
                              const crn_messagepack_json *got, int32_t ret_outlet[2])
{
    const crn_messagepack_json *const packed[2] = {expected, got};
    crn_decoded *verdicts[2] = {NULL, NULL};
    crn_error ignored;
    int r = 0;
    for (int i = 0; i < 2 && !r; i++)
        r = crn_decode(packed[i], &verdicts[i], &ignored);
    for (int i = 0; i < 2; i++) {
        ret_outlet[i] = r ? CRN_NO_OUTLET : crn_outlets_decide(outlets, verdicts[i], false).outlet;
        crn_decoded_free(&verdicts[i]);
    }
    return r == -ENOMEM ? r : 0;
}

void crn_expect_outlets_print(const crn_outlets *outlets, const crn_outlet_changes *changes,
                              FILE *out)
{
    uint64_t fruits = 0;
    const char *between = ": ";
    for (int before = 0; before < CRN_OUTLETS_MAX; before++)
        for (int after = 0; after < CRN_OUTLETS_MAX; after++)
            fruits += changes->fruits[before][after];
    fprintf(out, "outlets: %" PRIu64 " of %" PRIu64 " fruits go to another one", changes->differ,
            fruits);
    for (int before = 0; before < outlets->names.count; before++)
        for (int after = 0; after < outlets->names.count; after++) {
            if (before == after || !changes->fruits[before][after])
                continue;
            fprintf(out, "%s%s → %s %" PRIu64, between, outlets->names.item[before],
                    outlets->names.item[after], changes->fruits[before][after]);
            between = ", ";
        }
    fputc('\n', out);
}
