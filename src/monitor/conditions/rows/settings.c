/* The line itself: its thread, its settings, its clock. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/conditions/find.h"
#include "stages/base/clock.h"
#include "stages/base/utf8.h"

/* Without new numbers for so long the line's thread is taken to hang. */
#define HANG_NS (5 * CRN_NS_PER_S)

/* How long a clock that was set is told of. */
#define JUMP_TOLD_NS (6 * CRN_NS_PER_S)

static void find_hang(const crn_condition_look *look, crn_condition_found *found)
{
    int64_t age_ns = look->now_ns - look->now->taken_ns;
    /* Once it has judged all, log and recordings are written to the end: that may take a while. */
    bool is_over = look->now->state == CRN_STATE_STOPPING;
    if (age_ns >= HANG_NS && !is_over)
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE, .seconds = crn_seconds(age_ns)});
}

const crn_condition crn_condition_line_hangs = {
    .id = "line_hangs",
    .alert = "CernitaLineHangs",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .find = find_hang,
    .words = {{"Nothing is judged: the line has not answered for {seconds} s",
               "Restart the sorting program."},
              {"Nulla viene valutato: la linea non risponde da {seconds} s",
               "Riavviare il programma di selezione."},
              {"No se evalúa nada: la máquina no responde desde hace {seconds} s",
               "Reinicie el programa de clasificación."},
              {"Rien n'est évalué : la machine ne répond plus depuis {seconds} s",
               "Redémarrez le programme de tri."},
              {"Nichts wird beurteilt: die Maschine antwortet seit {seconds} s nicht",
               "Das Sortierprogramm neu starten."}},
    .details = "the line's thread has written no numbers: is the machine swapping, or the process "
               "stopped? Keep a stack before the restart (gdb -batch -ex \"thread apply all bt\")",
};

static void find_recipe(const crn_condition_look *look, crn_condition_found *found)
{
    const char *recipe = look->now->settings.lost_recipe;
    crn_condition_values values = {.lane = CRN_NO_LANE};
    if (!recipe[0])
        return;
    snprintf(values.name, sizeof values.name, "%s", recipe);
    crn_condition_add(found, &values);
}

const crn_condition crn_condition_recipe_lost = {
    .id = "recipe_lost",
    .alert = "CernitaRecipeLost",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_recipe,
    .words = {{"Recipe '{name}' was lost in a restart: fruit is sorted by other limits",
               "Choose the recipe again."},
              {"La ricetta '{name}' è andata persa al riavvio: si seleziona con altri limiti",
               "Scegliere di nuovo la ricetta."},
              {"La receta '{name}' se perdió al reiniciar: se clasifica con otros límites",
               "Elija la receta de nuevo."},
              {"La recette '{name}' a été perdue au redémarrage : le tri suit d'autres limites",
               "Sélectionnez à nouveau la recette."},
              {"Rezept '{name}' beim Neustart verloren: andere Grenzwerte gelten",
               "Das Rezept erneut auswählen."}},
    .details =
        "recipe '{name}' was in force before the start and is not in the file, or could not be "
        "read: `cernitactl recipe NAME`, or `cernitactl recipe --none` to confirm the file's "
        "own settings",
};

/* The folder and the fault, of which a long folder is cut. */
static void add_not_kept(const crn_condition_look *look, int fault, crn_condition_found *found)
{
    crn_condition_values values = {.lane = CRN_NO_LANE};
    if (!fault)
        return;
    snprintf(values.name, sizeof values.name, "%.100s: %s", look->config->state.dir,
             strerror(fault));
    crn_utf8_clean(values.name);
    crn_condition_add(found, &values);
}

static void find_not_kept(const crn_condition_look *look, crn_condition_found *found)
{
    add_not_kept(look, look->now->settings.not_kept, found);
}

const crn_condition crn_condition_recipe_not_kept = {
    .id = "recipe_not_kept",
    .alert = "CernitaRecipeNotKept",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_not_kept,
    .words = {{"The recipe is not saved: a restart would change it",
               "Free space on the disk, or have it checked."},
              {"Ricetta non salvata: un riavvio la cambierebbe",
               "Liberare spazio sul disco, o farlo controllare."},
              {"Receta sin guardar: un reinicio la cambiaría",
               "Libere espacio en el disco, o hágalo revisar."},
              {"Recette non enregistrée : un redémarrage en changerait",
               "Libérez de la place sur le disque, ou faites-le vérifier."},
              {"Rezept nicht gespeichert: ein Neustart würde es ändern",
               "Platz auf der Festplatte schaffen, oder sie prüfen lassen."}},
    .details =
        "{name}: the recipe that was chosen last could not be written there. It is tried again "
        "each second; a start before that takes the one before it, or raises recipe_lost",
};

static void find_lot_not_kept(const crn_condition_look *look, crn_condition_found *found)
{
    add_not_kept(look, look->now->settings.lot_not_kept, found);
}

const crn_condition crn_condition_lot_not_kept = {
    .id = "lot_not_kept",
    .alert = "CernitaLotNotKept",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_lot_not_kept,
    .words = {{"The lot is not saved: a restart would lose it",
               "Free space on the disk, or have it checked."},
              {"Lotto non salvato: un riavvio lo perderebbe",
               "Liberare spazio sul disco, o farlo controllare."},
              {"Lote sin guardar: un reinicio lo perdería",
               "Libere espacio en el disco, o hágalo revisar."},
              {"Lot non enregistré : un redémarrage le perdrait",
               "Libérez de la place sur le disque, ou faites-le vérifier."},
              {"Partie nicht gespeichert: ein Neustart würde sie verlieren",
               "Platz auf der Festplatte schaffen, oder sie prüfen lassen."}},
    .details = "{name}: the lot that was begun or ended last could not be written there. It is "
               "tried again each second; a start before that raises lot_lost, where it can tell",
};

static void find_lot(const crn_condition_look *look, crn_condition_found *found)
{
    if (look->now->settings.lot.is_lost)
        crn_condition_add(found, &(crn_condition_values){.lane = CRN_NO_LANE});
}

const crn_condition crn_condition_lot_lost = {
    .id = "lot_lost",
    .alert = "CernitaLotLost",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_lot,
    .words = {{"The lot was lost in a restart: fruit is assigned to none", "Enter the lot again."},
              {"Lotto perso al riavvio: i frutti non sono assegnati",
               "Immettere di nuovo il lotto."},
              {"El lote se perdió al reiniciar: la fruta queda sin asignar",
               "Introduzca el lote de nuevo."},
              {"Lot perdu au redémarrage : les fruits ne sont pas attribués",
               "Saisissez à nouveau le lot."},
              {"Die Partie ging beim Neustart verloren: Früchte sind keiner zugeordnet",
               "Die Partie erneut eingeben."}},
    .details = "the start's log says why it is not certain which lot was in force: `cernitactl lot "
               "ID`, or `cernitactl lot --end` to confirm that there is none",
};

static void find_changes_not_kept(const crn_condition_look *look, crn_condition_found *found)
{
    add_not_kept(look, look->now->settings.changes_not_kept, found);
}

const crn_condition crn_condition_changes_not_kept = {
    .id = "changes_not_kept",
    .alert = "CernitaChangesNotKept",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_changes_not_kept,
    .words = {{"Changes of settings are not recorded",
               "Free space on the disk, or have it checked."},
              {"Le modifiche alle impostazioni non vengono registrate",
               "Liberare spazio sul disco, o farlo controllare."},
              {"No se registran los cambios de ajustes",
               "Libere espacio en el disco, o hágalo revisar."},
              {"Les changements de réglages ne sont pas consignés",
               "Libérez de la place sur le disque, ou faites-le vérifier."},
              {"Änderungen der Einstellungen werden nicht aufgezeichnet",
               "Platz auf der Festplatte schaffen, oder sie prüfen lassen."}},
    .details =
        "{name}: the log of changes (changes.jsonl) or the settings' texts (settings/) cannot be "
        "written there, as the log says; it is tried again each second, for up to 64 changes. "
        "A log of 64 MiB is full: move changes.jsonl away to where it is kept",
};

static void find_reload(const crn_condition_look *look, crn_condition_found *found)
{
    if (look->now->settings.last_was_refused)
        crn_condition_add(found, &(crn_condition_values){.lane = CRN_NO_LANE});
}

const crn_condition crn_condition_reload_refused = {
    .id = "reload_refused",
    .alert = "CernitaReloadRefused",
    .severity = CRN_SEVERITY_WARNING,
    .find = find_reload,
    .words = {{"New settings were refused; the old ones stay in force",
               "Have the settings mended, then load them again."},
              {"Nuove impostazioni rifiutate; restano valide le vecchie",
               "Far correggere le impostazioni, poi ricaricarle."},
              {"Se rechazaron los ajustes nuevos; siguen en vigor los anteriores",
               "Haga corregir los ajustes y cárguelos de nuevo."},
              {"Nouveaux réglages refusés ; les anciens restent en vigueur",
               "Faites corriger les réglages, puis rechargez-les."},
              {"Neue Einstellungen abgelehnt; die alten gelten weiter",
               "Die Einstellungen berichtigen lassen und neu laden."}},
    .details =
        "`cernitactl reload` and the log list what is wrong; it ends with the next reload or "
        "switch of the recipe that is taken in",
};

static void find_jump(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_condition_memory *memory = look->memory;
    if (memory->clock_jump_ns != 0 && look->now_ns - memory->clock_jump_ns < JUMP_TOLD_NS)
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE, .seconds = memory->clock_jump_s});
}

const crn_condition crn_condition_clock_jump = {
    .id = "clock_jump",
    .alert = "CernitaClockJump",
    .severity = CRN_SEVERITY_WARNING,
    .find = find_jump,
    .words = {{"The clock of this machine jumped by {seconds} s",
               "Check the time of all machines."},
              {"L'orologio di questo computer è saltato di {seconds} s",
               "Controllare l'ora di tutti i computer."},
              {"El reloj de este equipo saltó {seconds} s", "Revise la hora de todos los equipos."},
              {"L'horloge de cet ordinateur a sauté de {seconds} s",
               "Vérifiez l'heure de tous les ordinateurs."},
              {"Die Uhr dieses Rechners sprang um {seconds} s",
               "Die Uhrzeit aller Rechner prüfen."}},
    .details = "CLOCK_REALTIME was set; budgets are measured by another clock, but deadline_ns and "
               "captured_ns are compared with it (chrony or PTP: `chronyc tracking`)",
};

static void find_over(const crn_condition_look *look, crn_condition_found *found)
{
    if (crn_condition_deadlines_are_over(look))
        crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.deadlines_over,
                                look->before->metrics.deadlines_over);
}

const crn_condition crn_condition_deadlines_over = {
    .id = "deadlines_over",
    .alert = "CernitaDeadlinesOver",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_over,
    .words = {{"Pictures arrive when their time is already over",
               "Check the clocks of all machines, then CNN and network."},
              {"Le immagini arrivano a tempo già scaduto",
               "Controllare gli orologi di tutti i computer, poi CNN e rete."},
              {"Las imágenes llegan con el plazo ya vencido",
               "Revise los relojes de todos los equipos, luego la CNN y la red."},
              {"Les images arrivent après leur délai",
               "Vérifiez les horloges des ordinateurs, puis CNN et réseau."},
              {"Bilder kommen an, wenn ihre Zeit schon um ist",
               "Die Uhren aller Rechner prüfen, dann CNN und Netz."}},
    .details = "{count} views came when their deadline_ns was over, or less than latency.guard_ms "
               "ahead: the clocks are apart (chrony or PTP), or the sender gives its views less "
               "time than CNN and network take",
};

static void find_apart(const crn_condition_look *look, crn_condition_found *found)
{
    uint64_t now = look->now->metrics.deadlines_ignored,
             before = look->before->metrics.deadlines_ignored;
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        now += look->now->lanes[i].meters.captured_later;
        before += crn_condition_lane_before(look, i)->meters.captured_later;
    }
    crn_condition_add_count(found, CRN_NO_LANE, now, before);
}

const crn_condition crn_condition_clocks_apart = {
    .id = "clocks_apart",
    .alert = "CernitaClocksApart",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_apart,
    .words = {{"The clocks of CNN and line are apart", "Check the time of both machines."},
              {"Gli orologi di CNN e linea non coincidono", "Controllare l'ora dei due computer."},
              {"Los relojes de la CNN y de la máquina difieren",
               "Revise la hora de ambos equipos."},
              {"Les horloges du CNN et de la machine diffèrent",
               "Vérifiez l'heure des deux ordinateurs."},
              {"Die Uhren von CNN und Maschine stimmen nicht überein",
               "Die Uhrzeit beider Rechner prüfen."}},
    .details =
        "{count} views are dated after their reception, or their deadlines are more than 10 s "
        "away and ignored: synchronise the clocks (chrony or PTP), and see that captured_ns "
        "and deadline_ns are nanoseconds since 1970",
};
