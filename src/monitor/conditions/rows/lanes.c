/* Lanes: views that do not come, or not all of them, or too late. */
#include <string.h>

#include "src/monitor/conditions/find.h"
#include "stages/base/clock.h"

/* Between two views of different lanes so much passes at most of which it is known that the belt
 * moved: beside the usual pause of one lane. */
#define MOVES_NS (1 * CRN_NS_PER_S)

/* Of a pause of all lanes that alone would be silence of one, so much counts: a belt that stood
 * looks the same. */
#define AT_ONCE_NS (4 * CRN_NS_PER_S)

/* For so long the belt may move after the first view of a lane, until one of another comes. */
#define FIRST_VIEW_NS (8 * CRN_NS_PER_S)

/* A belt that stands for so long is at rest: of a lane that ran empty before the others at the end
 * of a shift there is nothing to say all night. */
#define RESTS_NS (60 * CRN_NS_PER_S)

/* Of the views that are announced, so many may be missing. */
#define MISSING_SHARE 0.01

/* Those that come too late are missing, too, and counted some seconds before: only if so many times
 * as many are missing, others never come. */
#define MISSING_TO_LATE 2

/* The lane with the latest view; NULL before any. */
static const crn_lane_snapshot *find_latest(const crn_snapshot *snapshot)
{
    const crn_lane_snapshot *latest = NULL;
    for (int32_t i = 0; i < snapshot->lane_count; i++)
        if (!latest || snapshot->lanes[i].meters.arrived_ns > latest->meters.arrived_ns)
            latest = &snapshot->lanes[i];
    return latest;
}

/* For how long the belt has moved since the last look, as far as its views show. */
static int64_t find_movement(const crn_condition_memory *memory, const crn_lane_snapshot *latest)
{
    int64_t moved_ns = latest->meters.arrived_ns - memory->moved_ns;
    int64_t most_ns = MOVES_NS + 2 * latest->meters.pause_ns;
    return moved_ns < 0 ? 0 : moved_ns < most_ns ? moved_ns : most_ns;
}

static bool is_listed(const crn_condition_look *look, const crn_lane_snapshot *lane)
{
    return crn_lane_ranges_have(&look->now->settings.lanes, lane->number);
}

/* The belt stands. Lanes that empty one after another, and fill so again, miss a part of two
 * movements; a dead one whole movements. */
static void pause_lane(const crn_lane_snapshot *now, crn_condition_lane *lane, bool rests)
{
    if (rests)
        lane->quiet_ns = 0;
    if (!lane->missed_movement && !crn_lane_meters_is_silence(&now->meters, lane->quiet_ns))
        lane->quiet_ns = 0;
    lane->missed_movement = true; /* the next one, until a view comes */
}

static bool is_same_list(const crn_lane_ranges *a, const crn_lane_ranges *b)
{
    return a->count == b->count && memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at) == 0;
}

/* A lane that a reload lists has as long until its first view as those of the start. */
static void follow_movement(const crn_condition_look *look, crn_condition_memory *memory,
                            int64_t moved_ns)
{
    const crn_lane_ranges *listed = &look->now->settings.lanes;
    if (memory->moved_ns == 0 || !is_same_list(&memory->listed, listed)) {
        memory->listed = *listed;
        memory->moving_ns = 0;
        return;
    }
    memory->moving_ns += moved_ns < AT_ONCE_NS ? moved_ns : AT_ONCE_NS;
}

void crn_condition_follow_lanes(const crn_condition_look *look, crn_condition_memory *memory)
{
    const crn_lane_snapshot *latest = find_latest(look->now);
    if (!latest)
        return;
    int64_t stood_ns = look->now_ns - latest->meters.arrived_ns;
    bool stands = crn_lane_meters_is_silence(&latest->meters, stood_ns);
    int64_t moved_ns = find_movement(memory, latest);
    follow_movement(look, memory, stands ? 0 : moved_ns);
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const crn_lane_snapshot *now = &look->now->lanes[i];
        crn_condition_lane *lane = &memory->lanes[i];
        if (lane->serial != now->meters.serial || lane->views != now->stats.views ||
            !is_listed(look, now))
            *lane = (crn_condition_lane){.serial = now->meters.serial, .views = now->stats.views};
        else if (!stands)
            lane->quiet_ns +=
                crn_lane_meters_is_silence(&now->meters, moved_ns) ? AT_ONCE_NS : moved_ns;
        if (stands)
            pause_lane(now, lane, stood_ns >= RESTS_NS);
    }
    memory->moved_ns = stands ? look->now_ns : latest->meters.arrived_ns;
}

/* A lane without fruit looks the same, so only what it missed while others went on counts: a belt
 * that stands, or begins lane by lane, is no fault, and ends none. */
static void find_silent(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const crn_lane_snapshot *lane = &look->now->lanes[i];
        int64_t quiet_ns = look->memory->lanes[i].quiet_ns;
        if (crn_lane_meters_is_silence(&lane->meters, quiet_ns))
            crn_condition_add(found, &(crn_condition_values){.lane = lane->number,
                                                             .seconds = crn_seconds(quiet_ns)});
    }
}

const crn_condition crn_condition_lane_silent = {
    .id = "lane_silent",
    .alert = "CernitaLaneSilent",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_silent,
    .words = {{"Lane {lane}: no pictures", "Check camera and CNN of this lane."},
              {"Corsia {lane}: nessuna immagine", "Controllare telecamera e CNN di questa corsia."},
              {"Línea {lane}: sin imágenes", "Revise la cámara y la CNN de esta línea."},
              {"Ligne {lane} : aucune image", "Vérifiez la caméra et le CNN de cette ligne."},
              {"Bahn {lane}: keine Bilder", "Kamera und CNN dieser Bahn prüfen."}},
    .details = "no view for longer than 5 s and ten usual pauses between its fruits while other "
               "lanes receive; a lane without fruit looks the same",
};

static bool was_seen(const crn_snapshot *snapshot, uint32_t lane)
{
    for (int32_t i = 0; i < snapshot->lane_count; i++)
        if (snapshot->lanes[i].number == lane)
            return true;
    return false;
}

/* Only once others were: a line without any view waits for its first. */
static void find_never_seen(const crn_condition_look *look, crn_condition_found *found)
{
    const crn_lane_ranges *listed = &look->now->settings.lanes;
    if (look->now->lane_count == 0 || look->now->metrics.lanes_freed > 0)
        return;
    bool is_time = look->memory->moving_ns > FIRST_VIEW_NS;
    int64_t left = look->config->limits.lanes;
    for (int32_t i = 0; i < listed->count; i++)
        for (int64_t lane = listed->at[i].first; lane <= listed->at[i].last && left > 0;
             lane++, left--)
            if (!was_seen(look->now, (uint32_t)lane) &&
                (is_time || crn_condition_is_raised(found, lane)))
                crn_condition_add(found, &(crn_condition_values){.lane = lane});
}

const crn_condition crn_condition_lane_never_seen = {
    .id = "lane_never_seen",
    .alert = "CernitaLaneNeverSeen",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_never_seen,
    .words = {{"Lane {lane}: no picture since the start", "Start camera and CNN of this lane."},
              {"Corsia {lane}: nessuna immagine dall'avvio",
               "Avviare telecamera e CNN di questa corsia."},
              {"Línea {lane}: ninguna imagen desde el arranque",
               "Arranque la cámara y la CNN de esta línea."},
              {"Ligne {lane} : aucune image depuis le démarrage",
               "Démarrez la caméra et le CNN de cette ligne."},
              {"Bahn {lane}: seit dem Start kein Bild", "Kamera und CNN dieser Bahn starten."}},
    .details =
        "ingest.lanes lists the lane, others have sent views, and it has not; take it out of "
        "ingest.lanes if it is out of use",
};

static void find_no_sender(const crn_condition_look *look, crn_condition_found *found)
{
    if (look->now->metrics.lanes.views > 0 && look->now->levels.senders == 0)
        crn_condition_add(found, &(crn_condition_values){.lane = CRN_NO_LANE});
}

const crn_condition crn_condition_no_sender = {
    .id = "no_sender",
    .alert = "CernitaNoSender",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = 3,
    .clear_s = 1,
    .find = find_no_sender,
    .words = {{"No CNN is connected", "Start the CNN, or ignore this after the shift."},
              {"Nessuna CNN è collegata", "Avviare la CNN; a fine turno si può ignorare."},
              {"Ninguna CNN está conectada",
               "Arranque la CNN; al final del turno puede ignorarlo."},
              {"Aucun CNN n'est connecté",
               "Démarrez le CNN ; en fin de poste, ignorez ce message."},
              {"Kein CNN ist verbunden", "CNN starten; nach Schichtende ohne Bedeutung."}},
    .details = "all senders have left ingest.bind; see their own logs and the network",
};

static void find_missing(const crn_condition_look *look, crn_condition_found *found)
{
    double late = (double)crn_condition_losses_of(look).stragglers; /* of whatever lane */
    if (look->now->levels.senders == 0)
        return; /* it left within a fruit */
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const crn_lane_snapshot *now = &look->now->lanes[i],
                                *before = crn_condition_lane_before(look, i);
        double missing = (double)(now->meters.missing - before->meters.missing);
        double views = (double)(now->stats.views - before->stats.views);
        bool lost_before = now->meters.gaps > before->meters.gaps;
        if (!lost_before && missing > MISSING_TO_LATE * late + MISSING_SHARE * (views + missing))
            crn_condition_add(
                found, &(crn_condition_values){.lane = now->number,
                                               .count = missing,
                                               .percent = 100 * missing / (views + missing)});
    }
}

const crn_condition crn_condition_views_missing = {
    .id = "views_missing",
    .alert = "CernitaViewsMissing",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .raise_s = CRN_CONDITION_GOES_ON_S,
    .clear_s = 1,
    .find = find_missing,
    .words = {{"Lane {lane}: {percent} % of the pictures are missing",
               "Check all cameras of this lane."},
              {"Corsia {lane}: manca il {percent} % delle immagini",
               "Controllare tutte le telecamere di questa corsia."},
              {"Línea {lane}: falta el {percent} % de las imágenes",
               "Revise todas las cámaras de esta línea."},
              {"Ligne {lane} : {percent} % des images manquent",
               "Vérifiez toutes les caméras de cette ligne."},
              {"Bahn {lane}: {percent} % der Bilder fehlen", "Alle Kameras dieser Bahn prüfen."}},
    .details = "fruits announce views that are never sent: a camera is silent, or the CNN leaves "
               "views out; view_states of the verdicts names them",
};

/* Views that look late because their number is that of a fruit judged before. */
static bool numbers_return(const crn_condition_look *look)
{
    bool do_return =
        look->now->metrics.fruits.returned_early > look->before->metrics.fruits.returned_early;
    for (int32_t i = 0; i < look->now->lane_count; i++)
        do_return = do_return || look->now->lanes[i].stats.reused >
                                     crn_condition_lane_before(look, i)->stats.reused;
    return do_return;
}

static void find_late(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_losses losses = crn_condition_losses_of(look);
    if (losses.forced == 0 && !numbers_return(look) &&
        !crn_condition_deadlines_are_over(look)) /* else the verdict, or the number, was early */
        crn_condition_add_count(found, CRN_NO_LANE, losses.stragglers, 0);
}

const crn_condition crn_condition_views_late = {
    .id = "views_late",
    .alert = "CernitaViewsLate",
    .severity = CRN_SEVERITY_WARNING,
    .misjudged = true,
    .clear_s = 1,
    .find = find_late,
    .words = {{"Pictures come too late (just now: {count})", "Check the speed of CNN and network."},
              {"Le immagini arrivano tardi (poco fa: {count})",
               "Controllare la velocità di CNN e rete."},
              {"Las imágenes llegan tarde (ahora mismo: {count})",
               "Revise la velocidad de la CNN y de la red."},
              {"Les images arrivent trop tard (à l'instant : {count})",
               "Vérifiez la vitesse du CNN et du réseau."},
              {"Bilder kommen zu spät (zuletzt: {count})",
               "Geschwindigkeit von CNN und Netz prüfen."}},
    .details = "views came after their fruit's verdict: latency.assemble_ms, or the deadline_ns of "
               "the senders, is too short for them",
};

static void find_lost(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const crn_lane_snapshot *now = &look->now->lanes[i],
                                *before = crn_condition_lane_before(look, i);
        uint64_t refused = 0;
        for (int why = 0; why < CRN_REFUSALS; why++)
            refused += now->stats.refused.count[why] - before->stats.refused.count[why];
        if (refused == 0)
            crn_condition_add_count(found, now->number, now->meters.gaps, before->meters.gaps);
    }
}

const crn_condition crn_condition_views_lost = {
    .id = "views_lost",
    .alert = "CernitaSequenceGaps",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_lost,
    .words = {{"Lane {lane}: pictures lost on the way ({count})", "Check network and CNN."},
              {"Corsia {lane}: immagini perse in trasmissione ({count})",
               "Controllare rete e CNN."},
              {"Línea {lane}: imágenes perdidas en la transmisión ({count})",
               "Revise la red y la CNN."},
              {"Ligne {lane} : images perdues en route ({count})", "Vérifiez le réseau et le CNN."},
              {"Bahn {lane}: Bilder unterwegs verloren ({count})", "Netz und CNN prüfen."}},
    .details = "numbers are missing in the sender's sequence: its queue was full (raise its high "
               "water mark, do not send with NOBLOCK), or the connection broke",
};

static void find_two_senders(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++)
        crn_condition_add_count(found, look->now->lanes[i].number, look->now->lanes[i].stats.mixed,
                                crn_condition_lane_before(look, i)->stats.mixed);
}

const crn_condition crn_condition_two_senders = {
    .id = "two_senders",
    .alert = "CernitaSendersMixed",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_two_senders,
    .words = {{"Lane {lane}: two CNNs send the same pictures", "Stop one of them."},
              {"Corsia {lane}: due CNN inviano le stesse immagini", "Fermarne una."},
              {"Línea {lane}: dos CNN envían las mismas imágenes", "Detenga una de ellas."},
              {"Ligne {lane} : deux CNN envoient les mêmes images", "Arrêtez l'un d'eux."},
              {"Bahn {lane}: zwei CNN senden dieselben Bilder", "Eines davon beenden."}},
    .details = "senders of the lane send the same views, or number the fruits differently; the log "
               "names two by their epochs: end one, or give each views of its own",
};
