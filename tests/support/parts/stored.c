#include "tests/support/parts/stored.h"

#include "tests/support/cmocka_prelude.h"

uint32_t crn_store_defects(const crn_config *config, crn_result_store *store,
                           const crn_defects *defects, uint32_t view, uint32_t skipped)
{
    crn_defects_packer *packer;
    uint32_t handle;
    assert_int_equal(crn_defects_packer_create(config, &packer), 0);
    assert_int_equal(crn_defects_pack(packer, defects, NULL, view, skipped, NULL), 0);
    assert_int_equal(crn_packed_defects_put(packer, store, &handle), 0);
    crn_defects_packer_free(&packer);
    return handle;
}
