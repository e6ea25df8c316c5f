#include "src/monitor/log_messages/losses.h"

/* The list being filled. */
typedef struct losses {
    crn_loss *at;
    int count;
} losses;

static void add(losses *list, const char *name, crn_loss_kind kind, const char *hint,
                uint64_t count)
{
    if (list->count < CRN_LOSSES_MAX) /* a test has fewer of them */
        list->at[list->count++] =
            (crn_loss){.name = name, .kind = kind, .hint = hint, .count = count};
}

static void add_refused(const crn_metrics *metrics, losses *list)
{
    for (int fault = 1; fault < CRN_WIRE_FAULTS; fault++)
        add(list, crn_wire_fault_names[fault], CRN_LOSS_REFUSED, crn_wire_fault_hints[fault],
            metrics->ingest.faults[fault]);
}

static void add_elsewhere(const crn_metrics *metrics, losses *list)
{
    uint64_t elsewhere = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        elsewhere += metrics->refused_elsewhere.count[why];
    add(list, "refused_elsewhere", CRN_LOSS_NOTICE, NULL, elsewhere);
}

static void add_cuts(const crn_metrics *metrics, losses *list)
{
    for (int reason = 0; reason < CRN_CUTS; reason++)
        add(list, crn_peers_cut_names[reason], CRN_LOSS_NOTICE, crn_peers_cut_hints[reason],
            metrics->ingest.peers.cut[reason] + metrics->publish.peers.cut[reason]);
}

/* Strangers: no loss, but worth knowing. */
static void add_access(const crn_metrics *metrics, losses *list)
{
    static const char *const names[CRN_ACCESS_REFUSALS] = {
        [CRN_ACCESS_UNKNOWN_KEY] = "access_unknown_key",
        [CRN_ACCESS_NOT_FOR_SOCKET] = "access_not_for_socket",
        [CRN_ACCESS_PLAIN] = "access_plain",
        [CRN_ACCESS_MALFORMED] = "access_malformed",
        [CRN_ACCESS_ATTEMPTS] = "access_attempts",
    };
    for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++) {
        uint64_t count = 0;
        for (int use = 0; use < CRN_ACCESS_USES; use++)
            count += metrics->access.refused[use][reason];
        add(list, names[reason], CRN_LOSS_NOTICE, NULL, count);
    }
}

static void add_values(const crn_metrics *metrics, losses *list)
{
    for (int reason = CRN_REASON_NOT_FINITE; reason < CRN_REASONS; reason++)
        add(list, crn_view_reason_names[reason], CRN_LOSS_NOTICE, crn_view_reason_hints[reason],
            metrics->values.faulty[reason]);
}

static void add_row(const crn_family *row, const crn_metrics *metrics, losses *list)
{
    static void (*const groups[])(const crn_metrics *, losses *) = {
        [CRN_LOSSES_REFUSED] = add_refused, [CRN_LOSSES_ELSEWHERE] = add_elsewhere,
        [CRN_LOSSES_CUTS] = add_cuts,       [CRN_LOSSES_ACCESS] = add_access,
        [CRN_LOSSES_VALUES] = add_values,
    };
    if (row->group)
        groups[row->group](metrics, list);
    else if (row->log)
        add(list, row->log, row->loss, row->reason ? crn_view_reason_hints[row->reason] : row->hint,
            *(const uint64_t *)((const char *)metrics + row->log_offset));
}

int crn_losses_read(const crn_metrics *metrics, crn_loss ret_losses[CRN_LOSSES_MAX])
{
    losses list = {.at = ret_losses};
    for (int i = 0; i < crn_counts_count; i++)
        add_row(&crn_counts[i], metrics, &list);
    return list.count;
}

static const char *meaning(const crn_family *row)
{
    if (row->about)
        return row->about;
    return row->help ? row->help : crn_view_reason_meanings[row->reason];
}

void crn_losses_print_reference(FILE *out)
{
    static const crn_metrics nothing;
    crn_loss losses_of_row[CRN_LOSSES_MAX];
    fputs("| counter | line | what it counts, and where to look |\n|---|---|---|\n", out);
    for (int i = 0; i < crn_counts_count; i++) {
        const crn_family *row = &crn_counts[i];
        losses list = {.at = losses_of_row};
        add_row(row, &nothing, &list);
        for (int loss = 0; loss < list.count; loss++)
            fprintf(out, "%s`%s`", loss ? ", " : "| ", list.at[loss].name);
        if (list.count > 0)
            fprintf(out, " | %s | %s |\n",
                    list.at[0].kind == CRN_LOSS_NOTICE ? "out of the ordinary" : "lost or too late",
                    meaning(row));
    }
}

int crn_losses_since(const crn_metrics *now, const crn_metrics *before,
                     crn_loss ret_losses[CRN_LOSSES_MAX])
{
    crn_loss earlier[CRN_LOSSES_MAX];
    int rows = crn_losses_read(now, ret_losses);
    crn_losses_read(before, earlier);
    /* sequence_missing falls when a missing message arrives late. */
    for (int i = 0; i < rows; i++)
        ret_losses[i].count =
            ret_losses[i].count > earlier[i].count ? ret_losses[i].count - earlier[i].count : 0;
    return rows;
}
