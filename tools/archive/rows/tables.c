#include "tools/archive/rows/tables.h"

#define ENTRIES_MAX 10000

static crn_archive_tables *of(crn_destination *destination)
{
    return (crn_archive_tables *)destination;
}

static int begin(crn_destination *destination, crn_error *error)
{
    return crn_archive_begin(of(destination)->archive, error);
}

static int commit(crn_destination *destination, crn_intake_stats *coming, crn_error *error)
{
    (void)coming;
    return crn_archive_commit(of(destination)->archive, error);
}

static void undo(crn_destination *destination)
{
    crn_archive_undo(of(destination)->archive);
}

static int get_position(crn_destination *destination, const char *source,
                        crn_verdict_position *ret_position, crn_error *error)
{
    return crn_archive_get_position(of(destination)->archive, source, ret_position, error);
}

static int set_position(crn_destination *destination, const char *source,
                        const crn_verdict_position *position, crn_error *error)
{
    return crn_archive_set_position(of(destination)->archive, source, position, error);
}

static int add_verdict(crn_destination *destination, const crn_entry *entry,
                       const crn_decoded *verdict, crn_added *ret_added, crn_error *error)
{
    (void)entry;
    return crn_archive_rows_add(&of(destination)->rows, verdict, ret_added, error);
}

static int add_outcome(crn_destination *destination, const crn_entry *entry,
                       const crn_outcome *outcome, bool *ret_is_new, crn_error *error)
{
    (void)entry;
    return crn_archive_outcomes_add(&of(destination)->outcomes, outcome, ret_is_new, error);
}

static int add_result(crn_destination *destination, const crn_entry *entry,
                      const crn_firing_outcome *firing, crn_added_result *ret_result,
                      crn_error *error)
{
    (void)entry;
    return crn_archive_outcomes_set_result(&of(destination)->outcomes, firing, ret_result, error);
}

static const crn_destination_functions functions = {
    .begin = begin,
    .commit = commit,
    .undo = undo,
    .get_position = get_position,
    .set_position = set_position,
    .add_verdict = add_verdict,
    .add_outcome = add_outcome,
    .add_result = add_result,
};

int crn_archive_tables_init(crn_archive_tables *tables, crn_archive *archive, crn_error *error)
{
    tables->destination = (crn_destination){.functions = &functions,
                                            .entries_max = ENTRIES_MAX,
                                            .bytes_max = CRN_ARCHIVE_TRANSACTION_BYTES,
                                            .entry_bytes_max = SIZE_MAX};
    tables->archive = archive;
    int r = crn_archive_rows_init(&tables->rows, archive, error);
    return r == 0 ? crn_archive_outcomes_init(&tables->outcomes, archive, error) : r;
}
