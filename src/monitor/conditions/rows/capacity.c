/* Views that the machine cannot judge in time, and devices. */
#include <stdio.h>

#include "src/monitor/conditions/find.h"

/* Of the verdicts of a lane, so many may leave past the budget. */
#define OVER_BUDGET_SHARE 0.01

static void find_overload(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_losses losses = crn_condition_losses_of(look);
    double received =
        (double)(losses.received > losses.too_much ? losses.received : losses.too_much);
    if (look->causes & CRN_RESOURCE_CAUSE_OVERLOAD)
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE,
                                           .count = (double)losses.too_much,
                                           .percent = 100 * (double)losses.too_much / received});
}

const crn_condition crn_condition_overload = {
    .id = "overload",
    .alert = "CernitaOverload",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_overload,
    .words = {{"Too many fruits: {percent} % of the pictures are not judged",
               "Slow the belt down."},
              {"Troppi frutti: il {percent} % delle immagini non viene valutato",
               "Rallentare il nastro."},
              {"Demasiada fruta: el {percent} % de las imágenes no se evalúa",
               "Reduzca la velocidad de la cinta."},
              {"Trop de fruits : {percent} % des images ne sont pas évaluées",
               "Ralentissez le convoyeur."},
              {"Zu viele Früchte: {percent} % der Bilder nicht beurteilt",
               "Das Band langsamer stellen."}},
    .details =
        "{count} views discarded, unfinished or without a slot: more arrive than this machine "
        "judges in time. Lower the rate, mark stages `optional: true`, or use more cores or "
        "a GPU; cernita_stage_seconds says what takes the time",
};

/* Views that were judged without an optional step, as the time did not suffice for it. */
static uint64_t steps_skipped(const crn_condition_look *look)
{
    return look->now->metrics.steps_skipped - look->before->metrics.steps_skipped;
}

/* Views that were lost although no resource was short: of bursts there is no memory for, or because
 * a worker was held up. */
static void find_bursts(const crn_condition_look *look, crn_condition_found *found)
{
    if (!crn_condition_views_are_caused(look))
        crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.fruits.no_slot,
                                look->before->metrics.fruits.no_slot);
}

const crn_condition crn_condition_no_free_slot = {
    .id = "no_free_slot",
    .alert = "CernitaNoFreeSlot",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_bursts,
    .words = {{"Too many pictures at once: no memory for {count}", "Tell the service."},
              {"Troppe immagini insieme: memoria insufficiente per {count}",
               "Avvisare l'assistenza."},
              {"Demasiadas imágenes a la vez: no hubo memoria para {count}",
               "Avise al servicio técnico."},
              {"Trop d'images à la fois : pas de mémoire pour {count}",
               "Prévenez le service technique."},
              {"Zu viele Bilder auf einmal: kein Speicher für {count}",
               "Den Service verständigen."}},
    .details =
        "more views came at once than limits.slots holds (default: 4 x workers + 16), while "
        "the processor had time: raise limits.slots; for programs that use slots the number they "
        "ask for (crn_producer_settings.slots, slots_count= in Python) and ingest.slots.slots",
};

/* Where time is short for optional steps, one view in so many may be lost: the first ones, and
 * those that try again whether it suffices. */
#define SKIPPED_A_LOST 10

static void find_held_up(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_fruit_stats *now = &look->now->metrics.fruits,
                          *before = &look->before->metrics.fruits;
    uint64_t lost = now->discarded + now->unfinished - before->discarded - before->unfinished;
    bool is_explained =
        now->no_slot > before->no_slot || crn_condition_losses_of(look).forced > 0 ||
        crn_condition_over_budget(look) > 0 || crn_condition_deadlines_are_over(look) ||
        SKIPPED_A_LOST * lost <= steps_skipped(look);
    if (!crn_condition_views_are_caused(look) && !is_explained)
        crn_condition_add_count(found, CRN_NO_LANE, lost, 0);
}

const crn_condition crn_condition_views_unfinished = {
    .id = "views_unfinished",
    .alert = "CernitaViewsUnfinished",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .raise_s = 2, /* by then the machine's figures say whether it was that */
    .clear_s = 1,
    .find = find_held_up,
    .words = {{"Pictures were not ready in time ({count})", "Tell the service if it goes on."},
              {"Immagini non pronte in tempo ({count})", "Se continua, avvisare l'assistenza."},
              {"Hay imágenes que no estuvieron listas a tiempo ({count})",
               "Si continúa, avise al servicio técnico."},
              {"Images pas prêtes à temps ({count})",
               "Si cela dure, prévenez le service technique."},
              {"Bilder nicht rechtzeitig fertig ({count})",
               "Wenn es anhält, den Service verständigen."}},
    .details =
        "views discarded or unfinished while no resource was short and the verdicts left in time: "
        "a worker does not run, or single views take far longer than others, or the senders' "
        "deadline_ns is too early; "
        "`cernita-why HOST:PORT --partial --late` names them",
};

static void find_too_many(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_add_count(found, CRN_NO_LANE, crn_condition_losses_of(look).forced, 0);
}

const crn_condition crn_condition_too_many_fruits = {
    .id = "too_many_fruits",
    .alert = "CernitaTooManyFruits",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_too_many,
    .words = {{"Too many fruits at once, judged before all pictures were there ({count})",
               "Slow the belt down."},
              {"Troppi frutti insieme, valutati senza tutte le immagini ({count})",
               "Rallentare il nastro."},
              {"Demasiada fruta a la vez, evaluada sin todas las imágenes ({count})",
               "Reduzca la velocidad de la cinta."},
              {"Trop de fruits à la fois, évalués sans toutes leurs images ({count})",
               "Ralentissez le convoyeur."},
              {"Zu viele Früchte zugleich, beurteilt, bevor alle Bilder da waren ({count})",
               "Das Band langsamer stellen."}},
    .details = "more fruits are open than limits.open_fruits: raise it, or lower "
               "latency.assemble_ms; a sender that gives every view a fruit of its own looks the "
               "same",
};

static void find_fails(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.fruits.failed,
                            look->before->metrics.fruits.failed);
}

const crn_condition crn_condition_chain_fails = {
    .id = "chain_fails",
    .alert = "CernitaChainFails",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_fails,
    .words = {{"Pictures could not be judged ({count}): a fault in the program",
               "Restart the sorting program; tell the service if it comes back."},
              {"Immagini non valutate ({count}): errore del programma",
               "Riavviare il programma di selezione; se si ripete, avvisare l'assistenza."},
              {"Imágenes no evaluadas ({count}): fallo del programa",
               "Reinicie el programa de clasificación; si se repite, avise al servicio técnico."},
              {"Images non évaluées ({count}) : erreur du programme",
               "Redémarrez le programme de tri ; si cela revient, prévenez le service technique."},
              {"Bilder nicht beurteilt ({count}): ein Programmfehler",
               "Das Sortierprogramm neu starten; bei Wiederholung den Service verständigen."}},
    .details = "an error in the log says which stage failed and why, for example no memory",
};

static void find_left_out(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.truncated,
                            look->before->metrics.truncated);
}

const crn_condition crn_condition_defects_left_out = {
    .id = "defects_left_out",
    .alert = "CernitaDefectsLeftOut",
    .severity = CRN_SEVERITY_WARNING,
    .misjudged = true,
    .clear_s = 1,
    .find = find_left_out,
    .words = {{"Too many defects: some were left out (pictures: {count})",
               "Check camera and light for noise."},
              {"Troppi difetti: alcuni tralasciati (immagini: {count})",
               "Controllare telecamera e illuminazione (disturbi)."},
              {"Demasiados defectos: se omitieron algunos (imágenes: {count})",
               "Revise la cámara y la iluminación (ruido)."},
              {"Trop de défauts : certains omis (images : {count})",
               "Vérifiez la caméra et l'éclairage (bruit)."},
              {"Zu viele Fehler: einige ausgelassen (Bilder: {count})",
               "Kamera und Beleuchtung auf Rauschen prüfen."}},
    .details =
        "more outlines than limits.points of a view, or than the result store holds until "
        "the verdict: is the CNN's output noise? Else raise contours.min_area_px, smooth the "
        "maps, or raise limits.points",
};

static void find_skipped(const crn_condition_look *look, crn_condition_found *found)
{
    double count = (double)steps_skipped(look);
    double judged =
        (double)(look->now->metrics.fruits.judged - look->before->metrics.fruits.judged);
    if (count > 0 && !crn_condition_views_are_caused(look))
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE,
                                           .count = count,
                                           .percent = count < judged ? 100 * count / judged : 100});
}

const crn_condition crn_condition_steps_skipped = {
    .id = "steps_skipped",
    .alert = "CernitaStepsSkipped",
    .severity = CRN_SEVERITY_WARNING,
    .misjudged = true,
    .raise_s = CRN_CONDITION_GOES_ON_S,
    .clear_s = 1,
    .find = find_skipped,
    .words = {{"Time is short: {percent} % of the pictures are judged in part",
               "Slow the belt down."},
              {"Poco tempo: il {percent} % delle immagini valutato solo in parte",
               "Rallentare il nastro."},
              {"Falta tiempo: el {percent} % de las imágenes se evalúa solo en parte",
               "Reduzca la velocidad de la cinta."},
              {"Temps trop court : {percent} % des images évaluées en partie",
               "Ralentissez le convoyeur."},
              {"Zeit zu knapp: {percent} % der Bilder nur teilweise beurteilt",
               "Das Band langsamer stellen."}},
    .details = "{count} views judged without steps that are `optional: true`, as latency.budget_ms "
               "left no time for them; cernita_stage_seconds says what takes the time",
};

static void find_over_budget(const crn_condition_look *look, crn_condition_found *found)
{
    if (crn_condition_views_are_caused(look) || crn_condition_deadlines_are_over(look))
        return; /* they say why */
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const crn_lane_meters *now = &look->now->lanes[i].meters,
                              *before = &crn_condition_lane_before(look, i)->meters;
        double over = (double)(now->over_budget - before->over_budget), all = 0;
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            all += (double)(now->verdicts[kind] - before->verdicts[kind]);
        if (over > OVER_BUDGET_SHARE * all)
            crn_condition_add(found, &(crn_condition_values){.lane = look->now->lanes[i].number,
                                                             .count = over,
                                                             .percent = 100 * over / all});
    }
}

const crn_condition crn_condition_budget_missed = {
    .id = "budget_missed",
    .alert = "CernitaBudgetMissed",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .raise_s = 2,
    .clear_s = 1,
    .find = find_over_budget,
    .words = {{"Lane {lane}: {percent} % of the verdicts come too late", "Slow the belt down."},
              {"Corsia {lane}: il {percent} % degli esiti arriva tardi", "Rallentare il nastro."},
              {"Línea {lane}: el {percent} % de los resultados llega tarde",
               "Reduzca la velocidad de la cinta."},
              {"Ligne {lane} : {percent} % des résultats arrivent trop tard",
               "Ralentissez le convoyeur."},
              {"Bahn {lane}: {percent} % der Ergebnisse kommen zu spät",
               "Das Band langsamer stellen."}},
    .details =
        "{count} verdicts left later than latency.budget_ms: the line's thread did not run in "
        "time. Look for other programs on its core, swapping, a virtual machine's stolen "
        "time; allow the daemon its priority (LimitRTPRIO= in the unit)",
};

/* --- devices --- */

static void find_device_lost(const crn_condition_look *look, crn_condition_found *found)
{
    uint64_t lost = look->now->levels.devices_lost;
    if (lost > 0)
        crn_condition_add(found,
                          &(crn_condition_values){.lane = CRN_NO_LANE, .count = (double)lost});
}

const crn_condition crn_condition_device_lost = {
    .id = "device_lost",
    .alert = "CernitaDegraded",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_device_lost,
    .words = {{"GPU failed ({count}); the others or the processor judge",
               "Restart the sorting program in a pause."},
              {"GPU fuori servizio ({count}); subentrano le altre o il processore",
               "Riavviare il programma di selezione in una pausa."},
              {"GPU fuera de servicio ({count}); toman el relevo las demás o el procesador",
               "Reinicie el programa de clasificación en una pausa."},
              {"GPU en panne ({count}) ; les autres ou le processeur prennent le relais",
               "Redémarrez le programme de tri pendant une pause."},
              {"GPU ausgefallen ({count}); die anderen oder der Prozessor übernehmen",
               "Das Sortierprogramm in einer Pause neu starten."}},
    .details = "the log and `dmesg` (Xid) say why; no fruit was lost by this. A restart uses it "
               "again",
};

static void find_device_left_out(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_values values = {.lane = CRN_NO_LANE,
                                   .count = (double)look->now->levels.devices_left_out};
    snprintf(values.name, sizeof values.name, "%s", look->now->metrics.engine.left_out_why);
    if (values.count > 0)
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_device_left_out = {
    .id = "device_left_out",
    .alert = "CernitaDeviceLeftOut",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_device_left_out,
    .words = {{"GPU did not start ({count}); the others or the processor judge",
               "Restart the sorting program in a pause."},
              {"GPU fuori servizio dall'avvio ({count}); subentrano le altre o il processore",
               "Riavviare il programma di selezione in una pausa."},
              {"GPU sin arrancar ({count}); toman el relevo las demás o el procesador",
               "Reinicie el programa de clasificación en una pausa."},
              {"GPU sans démarrage ({count}) ; les autres ou le processeur prennent le relais",
               "Redémarrez le programme de tri pendant une pause."},
              {"GPU nicht gestartet ({count}); die anderen oder der Prozessor übernehmen",
               "Das Sortierprogramm in einer Pause neu starten."}},
    .details = "{name}: left out at the start; see `nvidia-smi` and run.devices",
};

static void find_device_busy(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.engine.device_slow,
                            look->before->metrics.engine.device_slow);
}

const crn_condition crn_condition_device_busy = {
    .id = "device_busy",
    .alert = "CernitaDeviceBusy",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = CRN_CONDITION_GOES_ON_S, /* its thread may have found no core for one batch */
    .clear_s = 1,
    .find = find_device_busy,
    .words = {{"Another program keeps the GPU busy", "Stop the other program on the GPU."},
              {"Un altro programma occupa la GPU", "Chiudere l'altro programma sulla GPU."},
              {"Otro programa ocupa la GPU", "Cierre el otro programa de la GPU."},
              {"Un autre programme occupe le GPU", "Fermez l'autre programme du GPU."},
              {"Ein anderes Programm belegt die GPU", "Das andere Programm auf der GPU beenden."}},
    .details = "{count} batches took more than half of the time after which a device counts as "
               "lost: " CRN_DEVICE_SHARED_CURE,
};
