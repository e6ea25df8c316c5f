/* What the machine does not give: processor, memory, disks. */
#include <stdio.h>

#include "src/monitor/conditions/find.h"
#include "stages/base/clock.h"

/* --- processor --- */

static void find_taken(const crn_condition_look *look, crn_condition_found *found)
{
    if (look->causes & CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN)
        crn_condition_add(
            found, &(crn_condition_values){.lane = CRN_NO_LANE,
                                           .count = (double)crn_condition_losses_of(look).too_much,
                                           .percent = 100 * look->resources->processor.others});
}

const crn_condition crn_condition_processor_taken = {
    .id = "processor_taken",
    .alert = "CernitaProcessorTaken",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 2,
    .find = find_taken,
    .words =
        {{"Other programs take {percent} % of the processor", "Stop the other programs."},
         {"Altri programmi usano il {percent} % del processore", "Chiudere gli altri programmi."},
         {"Otros programas ocupan el {percent} % del procesador", "Cierre los otros programas."},
         {"D'autres programmes prennent {percent} % du processeur",
          "Fermez les autres programmes."},
         {"Andere Programme belegen {percent} % des Prozessors", "Die anderen Programme beenden."}},
    .details = "{count} views discarded, unfinished or without a slot while other programs ran on "
               "the line's CPUs: `top` names them; run.cpus and the unit's CPUWeight= keep them "
               "away",
};

static void find_limited(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_resource_processor *processor = &look->resources->processor;
    crn_condition_values values = {.lane = CRN_NO_LANE,
                                   .count = (double)crn_condition_losses_of(look).too_much};
    bool is_stolen = look->causes & CRN_RESOURCE_CAUSE_PROCESSOR_STOLEN,
         is_throttled = look->causes & CRN_RESOURCE_CAUSE_PROCESSOR_THROTTLED;
    if (!is_stolen && !is_throttled)
        return;
    values.percent = 100 * (is_stolen ? processor->stolen : processor->throttled);
    snprintf(values.name, sizeof values.name, "%s",
             is_stolen ? "the host of this virtual machine" : "the quota cpu.max (CPUQuota=)");
    crn_condition_add(found, &values);
}

const crn_condition crn_condition_processor_limited = {
    .id = "processor_limited",
    .alert = "CernitaProcessorLimited",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 2,
    .find = find_limited,
    .words = {{"The line gets too little processor: {percent} % are withheld",
               "Have the line given more processor."},
              {"Troppo poco tempo di calcolo: ne viene negato il {percent} %",
               "Far assegnare più tempo di calcolo."},
              {"Falta tiempo de cálculo: se niega el {percent} %",
               "Haga asignar más tiempo de cálculo."},
              {"Trop peu de temps de calcul : {percent} % sont refusés",
               "Faites attribuer plus de temps de calcul."},
              {"Zu wenig Rechenzeit: {percent} % werden vorenthalten",
               "Mehr Rechenzeit zuteilen lassen."}},
    .details = "{count} views not judged in time; {name} held the line back",
};

/* --- memory --- */

/* Of the memory that is the line's to use, or of the machine's: it is short above the first, and no
 * more below the second. */
#define MEMORY_SHARE       0.95
#define MEMORY_SHARE_AGAIN 0.93

static void find_memory(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_resource_memory *memory = &look->resources->memory;
    double share = crn_condition_is_raised(found, CRN_NO_LANE) ? MEMORY_SHARE_AGAIN : MEMORY_SHARE;
    bool is_near = memory->limit_bytes > 0 && memory->used >= share;
    if (is_near || look->causes & CRN_RESOURCE_CAUSE_MEMORY)
        crn_condition_add(found,
                          &(crn_condition_values){.lane = CRN_NO_LANE,
                                                  .count = (double)(memory->available_bytes >> 20),
                                                  .percent = 100 * memory->used});
}

const crn_condition crn_condition_memory_short = {
    .id = "memory_short",
    .alert = "CernitaMemoryShort",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = 3,
    .clear_s = 3,
    .find = find_memory,
    .words = {{"Memory is nearly used up: {percent} %", "Stop other programs on this machine."},
              {"La memoria è quasi esaurita: {percent} %",
               "Chiudere altri programmi su questo computer."},
              {"La memoria está casi agotada: {percent} %",
               "Cierre otros programas en este equipo."},
              {"La mémoire est presque épuisée : {percent} %",
               "Fermez d'autres programmes sur cet ordinateur."},
              {"Der Speicher ist fast aufgebraucht: {percent} %",
               "Andere Programme auf diesem Rechner beenden."}},
    .details =
        "{count} MiB available of the machine's memory or of the unit's MemoryMax=; then the "
        "kernel swaps or ends the daemon. `cernitad --check` prints what the limits reserve",
};

/* --- disks --- */

/* Worth a look while it can still be mended in this shift. A rate varies, so it ends only above the
 * second. */
#define FULL_HOURS       24
#define FULL_HOURS_AGAIN 36

/* A disk that takes nothing for so long hangs. */
#define HANG_S 5

static const char *const uses[CRN_RESOURCE_DISKS] = {
    [CRN_RESOURCE_RECORD] = "record.dir",
    [CRN_RESOURCE_LOG] = "publish.log.dir",
    [CRN_RESOURCE_STATE] = "the state folder",
};

/* True if what its writer loses says that the disk is full. */
static bool is_told_by_writer(const crn_condition_look *look, int use)
{
    const crn_metrics *now = &look->now->metrics, *before = &look->before->metrics;
    return use == CRN_RESOURCE_RECORD ? now->recorder.failed > before->recorder.failed
           : use == CRN_RESOURCE_LOG  ? now->publish.log.failed > before->publish.log.failed
                                      : false;
}

static void find_full(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_values values = {.lane = CRN_NO_LANE};
    for (int use = 0; use < CRN_RESOURCE_DISKS; use++) {
        const crn_resource_disk *disk = &look->resources->disks[use];
        if (!disk->on || disk->size_bytes == 0 || disk->hours_left != 0 ||
            is_told_by_writer(look, use))
            continue;
        values.count = (double)(disk->free_bytes >> 20);
        snprintf(values.name, sizeof values.name, "%s", uses[use]);
    }
    if (values.name[0])
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_disk_full = {
    .id = "disk_full",
    .alert = "CernitaDiskFull",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = 5,
    .clear_s = 2,
    .find = find_full,
    .words = {{"A disk is full; sorting goes on", "Free space on the disk."},
              {"Un disco è pieno; la selezione continua", "Liberare spazio sul disco."},
              {"Un disco está lleno; la clasificación continúa", "Libere espacio en el disco."},
              {"Un disque est plein ; le tri continue", "Libérez de la place sur le disque."},
              {"Eine Festplatte ist voll; sortiert wird weiter",
               "Platz auf der Festplatte schaffen."}},
    .details = "{name}: {count} MiB free; recordings, verdicts of the log, and a recipe that is "
               "chosen now are not kept there",
};

static void find_fills(const crn_condition_look *look, crn_condition_found *found)
{
    bool raised = crn_condition_is_raised(found, CRN_NO_LANE);
    crn_condition_values values = {.lane = CRN_NO_LANE,
                                   .hours = raised ? FULL_HOURS_AGAIN : FULL_HOURS};
    for (int use = 0; use < CRN_RESOURCE_DISKS; use++) {
        const crn_resource_disk *disk = &look->resources->disks[use];
        if (!disk->on || disk->hours_left <= 0 || disk->hours_left >= values.hours)
            continue; /* not known, or full */
        values.hours = disk->hours_left;
        values.count = (double)(disk->free_bytes >> 20);
        snprintf(values.name, sizeof values.name, "%s", uses[use]);
    }
    if (values.name[0])
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_disk_full_soon = {
    .id = "disk_full_soon",
    .alert = "CernitaDiskFullSoon",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = 5,
    .clear_s = 2,
    .find = find_fills,
    .words = {{"The disk will be full in {hours} h", "Free space on the disk, or stop recording."},
              {"Il disco sarà pieno tra {hours} h", "Liberare spazio o fermare la registrazione."},
              {"El disco estará lleno dentro de {hours} h",
               "Libere espacio o detenga la grabación."},
              {"Le disque sera plein dans {hours} h",
               "Libérez de la place ou arrêtez l'enregistrement."},
              {"Die Festplatte ist in {hours} h voll",
               "Platz schaffen oder die Aufzeichnung beenden."}},
    .details =
        "{name}: {count} MiB free, falling as in the last minutes; a verdict log that has not "
        "yet grown to publish.log.keep_mib looks the same",
};

/* For how long nothing was written, although something waits, or the disk has not answered. */
static double silence_of(const crn_condition_look *look, int use)
{
    const crn_resource_disk *disk = &look->resources->disks[use];
    const crn_metrics *metrics = &look->now->metrics;
    int64_t quiet_ns = use == CRN_RESOURCE_RECORD ? metrics->recorder.quiet_ns
                       : use == CRN_RESOURCE_LOG  ? metrics->publish.log.quiet_ns
                                                  : 0;
    double quiet_s = crn_seconds(quiet_ns);
    return disk->on && disk->silent_s > quiet_s ? disk->silent_s : quiet_s;
}

static void find_hang(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_values values = {.lane = CRN_NO_LANE};
    for (int use = 0; use < CRN_RESOURCE_DISKS; use++) {
        double silent_s = silence_of(look, use);
        if (silent_s < HANG_S || silent_s < values.seconds)
            continue;
        values.seconds = silent_s;
        snprintf(values.name, sizeof values.name, "%s", uses[use]);
    }
    if (values.name[0])
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_disk_hangs = {
    .id = "disk_hangs",
    .alert = "CernitaDiskHangs",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_hang,
    .words = {{"A disk has not answered for {seconds} s; sorting goes on", "Check the disk."},
              {"Un disco non risponde da {seconds} s; la selezione continua",
               "Controllare il disco."},
              {"Un disco no responde desde hace {seconds} s; la clasificación continúa",
               "Revise el disco."},
              {"Un disque ne répond plus depuis {seconds} s ; le tri continue",
               "Vérifiez le disque."},
              {"Eine Festplatte antwortet seit {seconds} s nicht; die Sortierung läuft weiter",
               "Die Festplatte prüfen."}},
    .details = "{name}: nothing that waits for it was written; `dmesg` and the network to it",
};
