/* Verdicts that reach nobody, or too late; recordings and the verdict log. */
#include "src/monitor/conditions/find.h"
#include "stages/base/clock.h"

/* A grader that connects needs no longer. */
#define ABSENT_S 2

static bool makes_verdicts(const crn_condition_look *look)
{
    const crn_publish_stats *now = &look->now->metrics.publish;
    return now->waiting > 0 || now->verdicts > look->before->metrics.publish.verdicts;
}

static void find_no_grader(const crn_condition_look *look, crn_condition_found *found)
{
    if (look->now->metrics.publish.graders == 0 && makes_verdicts(look))
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE,
                                           .count = (double)look->now->metrics.publish.waiting});
}

const crn_condition crn_condition_no_grader = {
    .id = "no_grader",
    .alert = "CernitaGraderAbsent",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .raise_s = ABSENT_S,
    .clear_s = 1,
    .find = find_no_grader,
    .words = {{"Nothing is ejected: no ejector program is connected", "Start the ejector program."},
              {"Nulla viene espulso: nessun programma di espulsione è collegato",
               "Avviare il programma di espulsione."},
              {"No se expulsa nada: ningún programa de expulsión está conectado",
               "Arranque el programa de expulsión."},
              {"Rien n'est éjecté : aucun programme d'éjection n'est connecté",
               "Démarrez le programme d'éjection."},
              {"Nichts wird ausgeworfen: kein Auswurfprogramm ist verbunden",
               "Das Auswurfprogramm starten."}},
    .details =
        "no grader is connected to publish.grader.bind (a PULL socket), {count} verdicts wait "
        "for it; the newest publish.grader.high_water_mark are kept",
};

static void find_several(const crn_condition_look *look, crn_condition_found *found)
{
    uint64_t graders = look->now->metrics.publish.graders;
    if (graders > 1)
        crn_condition_add(found,
                          &(crn_condition_values){.lane = CRN_NO_LANE, .count = (double)graders});
}

const crn_condition crn_condition_several_graders = {
    .id = "several_graders",
    .alert = "CernitaSeveralGraders",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .raise_s = 1,
    .clear_s = 1,
    .find = find_several,
    .words = {{"Several ejector programs share the verdicts ({count})", "Stop all but one."},
              {"Più programmi di espulsione si dividono gli esiti ({count})",
               "Fermarli tutti tranne uno."},
              {"Varios programas de expulsión se reparten los resultados ({count})",
               "Cierre todos menos uno."},
              {"Plusieurs programmes d'éjection se partagent les résultats ({count})",
               "Gardez-en un seul."},
              {"Mehrere Auswurfprogramme teilen sich die Ergebnisse ({count})",
               "Alle bis auf eines beenden."}},
    .details = "each grader gets a part of the verdicts; who only watches connects to "
               "publish.viewers.bind",
};

static void find_slow(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_publish_stats *publish = &look->now->metrics.publish;
    if (publish->graders > 0 && publish->waiting > 0 && look->before->metrics.publish.waiting > 0)
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE, .count = (double)publish->waiting});
}

const crn_condition crn_condition_grader_slow = {
    .id = "grader_slow",
    .alert = "CernitaGraderNotReading",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_slow,
    .words = {{"The ejector program does not keep up (waiting verdicts: {count})",
               "Restart the ejector program."},
              {"Il programma di espulsione non tiene il passo (esiti in attesa: {count})",
               "Riavviare il programma di espulsione."},
              {"El programa de expulsión no da abasto (resultados en espera: {count})",
               "Reinicie el programa de expulsión."},
              {"Le programme d'éjection ne suit pas (résultats en attente : {count})",
               "Redémarrez le programme d'éjection."},
              {"Das Auswurfprogramm kommt nicht nach (wartende Ergebnisse: {count})",
               "Das Auswurfprogramm neu starten."}},
    .details = "a grader is connected and does not read: is its program stopped or busy, or the "
               "network to it saturated?",
};

/* Verdicts past their deadline when they were sent, but for those that left the line too late
 * already, which is not the grader's fault. */
static uint64_t stale_at_grader(const crn_condition_look *look)
{
    uint64_t stale = look->now->metrics.publish.stale - look->before->metrics.publish.stale;
    uint64_t over = crn_condition_over_budget(look);
    return stale > over ? stale - over : 0;
}

static uint64_t lost_verdicts(const crn_publish_stats *stats)
{
    return stats->failed + stats->possibly_lost + stats->without_defects + stats->dropped;
}

static void find_lost(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_publish_stats *now = &look->now->metrics.publish;
    if (now->graders > 0 && !crn_condition_deadlines_are_over(look)) /* else they say why */
        crn_condition_add_count(found, CRN_NO_LANE, lost_verdicts(now) + stale_at_grader(look),
                                lost_verdicts(&look->before->metrics.publish));
}

const crn_condition crn_condition_verdicts_lost = {
    .id = "verdicts_lost",
    .alert = "CernitaVerdictsLost",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 3,
    .find = find_lost,
    .words = {{"Verdicts came too late for the ejector ({count})", "Check the ejector program."},
              {"Esiti arrivati tardi all'espulsore ({count})",
               "Controllare il programma di espulsione."},
              {"Hay resultados que llegaron tarde al expulsor ({count})",
               "Revise el programa de expulsión."},
              {"Résultats arrivés trop tard à l'éjecteur ({count})",
               "Vérifiez le programme d'éjection."},
              {"Ergebnisse kamen zu spät für den Auswurf ({count})",
               "Das Auswurfprogramm prüfen."}},
    .details = "verdicts that the grader did not get, or got past their deadline or without their "
               "defects: it was away, did not keep up, or memory was short; "
               "cernita_verdicts_lost_total and _stale_total say which",
};

/* Graders that leave are counted elsewhere. */
static uint64_t stuck(const crn_publish_stats *stats)
{
    return stats->viewers_dropped + stats->peers.cut[CRN_CUT_UNREAD] +
           stats->peers.cut[CRN_CUT_SILENT];
}

static void find_viewer(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_publish_stats *now = &look->now->metrics.publish,
                            *before = &look->before->metrics.publish;
    crn_condition_add_count(found, CRN_NO_LANE, stuck(now), stuck(before));
}

const crn_condition crn_condition_viewer_stuck = {
    .id = "viewer_stuck",
    .alert = "CernitaViewerStuck",
    .severity = CRN_SEVERITY_NOTICE,
    .clear_s = 3,
    .find = find_viewer,
    .words = {{"A display does not keep up; sorting goes on", "Restart the display."},
              {"Un visualizzatore non tiene il passo; la selezione continua",
               "Riavviare il visualizzatore."},
              {"Un visor no da abasto; la clasificación continúa", "Reinicie el visor."},
              {"Un afficheur ne suit pas ; le tri continue", "Redémarrez l'afficheur."},
              {"Eine Anzeige kommt nicht nach; die Sortierung läuft weiter",
               "Die Anzeige neu starten."}},
    .details = "{count} messages for viewers were dropped or a viewer was disconnected as it does "
               "not read (publish.viewers.high_water_mark)",
};

/* --- copies: sorting goes on without them --- */

/* Copies that the writers' queues had no room for. */
static uint64_t dropped_copies(const crn_snapshot *snapshot)
{
    return snapshot->metrics.recorder.dropped + snapshot->metrics.publish.log.dropped;
}

static void find_delayed(const crn_condition_look *look, crn_condition_found *found)
{
    double dropped = (double)(dropped_copies(look->now) - dropped_copies(look->before));
    if (dropped > 0 && crn_condition_writers_are_delayed(look))
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE,
                                           .count = dropped,
                                           .percent = 100 * look->resources->processor.others});
}

const crn_condition crn_condition_writers_delayed = {
    .id = "writers_delayed",
    .alert = "CernitaWritersDelayed",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 3,
    .find = find_delayed,
    .words = {{"Other programs keep recording and log from writing; sorting goes on",
               "Stop the other programs."},
              {"Altri programmi impediscono di registrare; la selezione continua",
               "Chiudere gli altri programmi."},
              {"Otros programas impiden grabar; la clasificación continúa",
               "Cierre los otros programas."},
              {"D'autres programmes empêchent d'enregistrer ; le tri continue",
               "Fermez les autres programmes."},
              {"Andere Programme halten die Aufzeichnung auf; sortiert wird weiter",
               "Die anderen Programme beenden."}},
    .details = "{count} views or verdicts not written: the threads that write waited for the "
               "processor, of which others had {percent} %, while the disk was idle; `top` names "
               "them",
};

/* What was dropped; 0 if that its writer was delayed says it. */
static uint64_t dropped_by_disk(const crn_condition_look *look, uint64_t now, uint64_t before)
{
    return crn_condition_writers_are_delayed(look) ? 0 : now - before;
}

static void find_recording(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_recorder_stats *now = &look->now->metrics.recorder,
                             *before = &look->before->metrics.recorder;
    uint64_t lost = now->failed + now->missed - before->failed - before->missed +
                    dropped_by_disk(look, now->dropped, before->dropped);
    crn_condition_add_count(found, CRN_NO_LANE, lost, 0);
}

const crn_condition crn_condition_recording_loses = {
    .id = "recording_loses",
    .alert = "CernitaRecorderDrops",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 3,
    .find = find_recording,
    .words = {{"The recording has gaps; sorting goes on",
               "Free the recording disk, or stop recording."},
              {"La registrazione è incompleta; la selezione continua",
               "Liberare spazio sul disco o fermare la registrazione."},
              {"La grabación está incompleta; la clasificación continúa",
               "Libere espacio en el disco o detenga la grabación."},
              {"L'enregistrement est incomplet ; le tri continue",
               "Libérez de la place sur le disque ou arrêtez l'enregistrement."},
              {"Die Aufzeichnung hat Lücken; die Sortierung läuft weiter",
               "Platz auf der Festplatte schaffen oder die Aufzeichnung beenden."}},
    .details = "{count} views not recorded: the disk of record.dir is too slow or nearly full, or "
               "(record.only) slots were needed before the verdict (limits.slots)",
};

static void find_log(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_verdict_log_stats *now = &look->now->metrics.publish.log,
                                *before = &look->before->metrics.publish.log;
    uint64_t lost =
        now->failed - before->failed + dropped_by_disk(look, now->dropped, before->dropped);
    crn_condition_add_count(found, CRN_NO_LANE, lost, 0);
}

const crn_condition crn_condition_log_loses = {
    .id = "log_loses",
    .alert = "CernitaLogDrops",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 3,
    .find = find_log,
    .words = {{"Verdicts are missing in the log; sorting goes on", "Free the log's disk."},
              {"Mancano esiti nel registro; la selezione continua",
               "Liberare spazio sul disco del registro."},
              {"Faltan resultados en el registro; la clasificación continúa",
               "Libere espacio en el disco del registro."},
              {"Des résultats manquent dans le journal ; le tri continue",
               "Libérez de la place sur le disque du journal."},
              {"Im Protokoll fehlen Ergebnisse; die Sortierung läuft weiter",
               "Platz auf der Festplatte des Protokolls schaffen."}},
    .details =
        "{count} verdicts not logged: the disk of publish.log.dir is too slow, or nearly full; "
        "grader and viewers got them",
};
