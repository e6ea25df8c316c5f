/* Recordings and the verdict log: sorting goes on without them. */
#include "src/monitor/conditions/find.h"

static void find_recording(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_recorder_stats *now = &look->now->metrics.recorder,
                             *before = &look->before->metrics.recorder;
    crn_condition_add_count(found, CRN_NO_LANE, now->dropped + now->failed + now->missed,
                            before->dropped + before->failed + before->missed);
}

const crn_condition crn_condition_recording_loses = {
    .id = "recording_loses",
    .alert = "CernitaRecorderDrops",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 3,
    .find = find_recording,
    .words = {{"The recording has gaps; sorting goes on",
               "Free the recording disk, or stop recording."},
              {"La registrazione ha lacune; la selezione continua",
               "Liberare il disco o fermare la registrazione."},
              {"La grabación tiene huecos; la clasificación continúa",
               "Libere el disco o detenga la grabación."},
              {"L'enregistrement a des trous ; le tri continue",
               "Libérez le disque ou arrêtez l'enregistrement."},
              {"Die Aufzeichnung hat Lücken; sortiert wird weiter",
               "Platte freimachen oder die Aufzeichnung beenden."}},
    .details = "{count} views not recorded: the disk of record.dir is too slow or nearly full, or "
               "(record.only) slots were needed before the verdict (limits.slots)",
};

static void find_log(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_verdict_log_stats *now = &look->now->metrics.publish.log,
                                *before = &look->before->metrics.publish.log;
    crn_condition_add_count(found, CRN_NO_LANE, now->dropped + now->failed,
                            before->dropped + before->failed);
}

const crn_condition crn_condition_log_loses = {
    .id = "log_loses",
    .alert = "CernitaLogDrops",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 3,
    .find = find_log,
    .words = {{"Verdicts are missing in the log; sorting goes on", "Free the log's disk."},
              {"Mancano giudizi nel registro; la selezione continua",
               "Liberare il disco del registro."},
              {"Faltan veredictos en el registro; la clasificación continúa",
               "Libere el disco del registro."},
              {"Des verdicts manquent au journal ; le tri continue",
               "Libérez le disque du journal."},
              {"Im Protokoll fehlen Urteile; sortiert wird weiter",
               "Die Platte des Protokolls freimachen."}},
    .details =
        "{count} verdicts not logged: the disk of publish.log.dir is too slow, or nearly full; "
        "grader and viewers got them",
};
