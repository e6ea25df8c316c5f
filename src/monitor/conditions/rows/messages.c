/* Messages that are refused, numbers that cannot be told apart, and peers that are. */
#include <stdio.h>

#include "src/monitor/conditions/find.h"

/* What kind of mistake a refusal is; those not named are of none of these kinds. */
typedef enum refused_kind {
    KIND_OTHER,
    KIND_CLASSES,
    KIND_SIZE,
    KIND_LANES,
} refused_kind;

static const unsigned char kinds[CRN_REFUSALS] = {
    [CRN_WIRE_CHANNELS] = KIND_CLASSES,
    [CRN_WIRE_CLASS_SET] = KIND_CLASSES,
    [CRN_WIRE_SHAPE] = KIND_SIZE,
    [CRN_WIRE_TOO_LARGE] = KIND_SIZE,
    [CRN_WIRE_PAYLOAD_SIZE] = KIND_SIZE,
    [CRN_WIRE_TENSOR_SIZE] = KIND_SIZE,
    [CRN_WIRE_INTENSITY_SIZE] = KIND_SIZE,
    [CRN_REFUSAL_LANES] = KIND_LANES,
    [CRN_REFUSAL_LANE_NOT_LISTED] = KIND_LANES,
};

/* Messages of that kind refused since `before`, and the reason of one. */
static void add_refused(crn_condition_found *found, int64_t lane, refused_kind of,
                        const crn_refusals *now, const crn_refusals *before)
{
    crn_condition_values values = {.lane = lane};
    for (int why = 1; why < CRN_REFUSALS; why++) {
        uint64_t count = now->count[why] - before->count[why];
        if (kinds[why] != of || count == 0)
            continue;
        values.count += (double)count;
        snprintf(values.name, sizeof values.name, "%s", crn_refusal_name((crn_refusal)why));
    }
    if (values.count > 0)
        crn_condition_add(found, &values);
}

/* Of lanes that are not open. What was refused of a lane that has been freed since is counted among
 * them as a whole, the messages of before included. */
static crn_refusals elsewhere_before(const crn_condition_look *look)
{
    crn_refusals before = look->before->metrics.refused_elsewhere;
    for (int32_t i = 0; i < look->before->lane_count; i++) {
        const crn_lane_snapshot *lane = &look->before->lanes[i];
        bool is_freed =
            i >= look->now->lane_count || look->now->lanes[i].meters.serial != lane->meters.serial;
        for (int why = 0; is_freed && why < CRN_REFUSALS; why++)
            before.count[why] += lane->stats.refused.count[why];
    }
    return before;
}

/* Each lane's, and those of lanes that are not open. */
static void find_refused(const crn_condition_look *look, crn_condition_found *found,
                         refused_kind of)
{
    const crn_refusals before = elsewhere_before(look);
    for (int32_t i = 0; i < look->now->lane_count; i++)
        add_refused(found, look->now->lanes[i].number, of, &look->now->lanes[i].stats.refused,
                    &crn_condition_lane_before(look, i)->stats.refused);
    add_refused(found, CRN_NO_LANE, of, &look->now->metrics.refused_elsewhere, &before);
}

static void find_class_set(const crn_condition_look *look, crn_condition_found *found)
{
    find_refused(look, found, KIND_CLASSES);
}

const crn_condition crn_condition_wrong_class_set = {
    .id = "wrong_class_set",
    .alert = "CernitaWrongClassSet",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_class_set,
    .words = {{"The CNN has other classes than the line",
               "Start the CNN that belongs to this line."},
              {"La CNN ha classi diverse da quelle della linea",
               "Avviare la CNN che appartiene a questa linea."},
              {"Las clases de la CNN no son las de la máquina",
               "Arranque la CNN que corresponde a esta máquina."},
              {"Le CNN n'a pas les mêmes classes que la machine",
               "Démarrez le CNN qui va avec cette machine."},
              {"Das CNN hat andere Klassen als die Maschine",
               "Das CNN starten, das zu dieser Maschine gehört."}},
    .details =
        "{count} views of lane {lane} refused ({name}): another model was rolled out, or the "
        "line's file was changed; sender.py --test shows both lists",
};

static void find_size(const crn_condition_look *look, crn_condition_found *found)
{
    find_refused(look, found, KIND_SIZE);
}

const crn_condition crn_condition_wrong_size = {
    .id = "wrong_size",
    .alert = "CernitaWrongSize",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_size,
    .words = {{"The CNN sends pictures of a wrong size", "Restore the size that the line expects."},
              {"La CNN invia immagini di dimensioni sbagliate",
               "Ripristinare le dimensioni previste dalla linea."},
              {"La CNN envía imágenes de tamaño erróneo",
               "Restablezca el tamaño que espera la máquina."},
              {"Le CNN envoie des images de mauvaise taille", "Rétablissez la taille attendue."},
              {"Das CNN sendet Bilder in falscher Größe",
               "Die erwartete Größe wieder einstellen."}},
    .details =
        "{count} views of lane {lane} refused ({name}): their sizes contradict their header, "
        "or limits.view_mib; sender.py --test shows which",
};

static void find_other(const crn_condition_look *look, crn_condition_found *found)
{
    find_refused(look, found, KIND_OTHER);
}

const crn_condition crn_condition_messages_refused = {
    .id = "messages_refused",
    .alert = "CernitaMessagesRejected",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_other,
    .words = {{"The CNN sends messages that are not valid", "Restore the CNN that worked before."},
              {"La CNN invia messaggi non validi", "Ripristinare la CNN che funzionava prima."},
              {"La CNN envía mensajes no válidos", "Vuelva a poner la CNN que funcionaba antes."},
              {"Le CNN envoie des messages non valides", "Remettez le CNN qui fonctionnait avant."},
              {"Das CNN sendet ungültige Nachrichten", "Das frühere CNN wieder einsetzen."}},
    .details = "{count} messages of lane {lane} refused ({name}); the log says what is wrong with "
               "one, sender.py --test repeats it at the sender",
};

static void find_lanes(const crn_condition_look *look, crn_condition_found *found)
{
    find_refused(look, found, KIND_LANES);
}

const crn_condition crn_condition_too_many_lanes = {
    .id = "too_many_lanes",
    .alert = "CernitaTooManyLanes",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_lanes,
    .words = {{"Pictures come from a lane that this line does not have",
               "Check the lane numbers of the CNNs."},
              {"Arrivano immagini di una corsia che la linea non ha",
               "Controllare i numeri di corsia delle CNN."},
              {"Llegan imágenes de una línea que esta máquina no tiene",
               "Revise los números de línea de las CNN."},
              {"Des images arrivent d'une ligne que cette machine n'a pas",
               "Vérifiez les numéros de ligne des CNN."},
              {"Es kommen Bilder einer Bahn, die es hier nicht gibt",
               "Die Bahnnummern der CNN prüfen."}},
    .details = "{count} views refused ({name}): more lanes than limits.lanes, or a lane that "
               "ingest.lanes does not list",
};

/* --- numbers --- */

static void find_reused(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++)
        crn_condition_add_count(found, look->now->lanes[i].number, look->now->lanes[i].stats.reused,
                                crn_condition_lane_before(look, i)->stats.reused);
}

const crn_condition crn_condition_epoch_reused = {
    .id = "epoch_reused",
    .alert = "CernitaEpochReused",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 5,
    .find = find_reused,
    .words = {{"Lane {lane}: the CNN restarted and repeats old fruit numbers",
               "Tell the maker of the CNN."},
              {"Corsia {lane}: la CNN è ripartita e ripete vecchi numeri di frutto",
               "Avvisare il fornitore della CNN."},
              {"Línea {lane}: la CNN se reinició y repite números de fruta",
               "Avise al proveedor de la CNN."},
              {"Ligne {lane} : le CNN a redémarré et répète d'anciens numéros de fruit",
               "Prévenez le fournisseur du CNN."},
              {"Bahn {lane}: das CNN wiederholt nach Neustart alte Fruchtnummern",
               "Den Hersteller des CNN verständigen."}},
    .details = "a sender restarted in an epoch that it used before, so its fruits can be taken for "
               "those judged: let it choose a new epoch at each start, such as the time in ns",
};

static void find_too_early(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_add_count(found, CRN_NO_LANE, look->now->metrics.fruits.returned_early,
                            look->before->metrics.fruits.returned_early);
}

const crn_condition crn_condition_numbers_too_early = {
    .id = "numbers_too_early",
    .alert = "CernitaFruitsTooEarly",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_too_early,
    .words = {{"Fruits without a verdict ({count}): their numbers return too soon",
               "Tell the maker of the CNN."},
              {"Frutti senza esito ({count}): i numeri tornano troppo presto",
               "Avvisare il fornitore della CNN."},
              {"Frutas sin resultado ({count}): sus números se repiten demasiado pronto",
               "Avise al proveedor de la CNN."},
              {"Fruits sans résultat ({count}) : leurs numéros reviennent trop tôt",
               "Prévenez le fournisseur du CNN."},
              {"Früchte ohne Ergebnis ({count}): ihre Nummern kommen zu früh wieder",
               "Den Hersteller des CNN verständigen."}},
    .details = "their numbers were those of fruits judged less than latency.straggler_ms before: "
               "let the counter have more bits, or lower that time",
};

/* --- peers --- */

static void find_keys(const crn_condition_look *look, crn_condition_found *found)
{
    crn_condition_values values = {.lane = CRN_NO_LANE};
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++) {
            uint64_t count = look->now->metrics.access.refused[use][reason] -
                             look->before->metrics.access.refused[use][reason];
            values.count += (double)count;
            if (count > 0)
                snprintf(values.name, sizeof values.name, "%s", crn_access_refusal_names[reason]);
        }
    if (values.count > 0)
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_keys_refused = {
    .id = "keys_refused",
    .alert = "CernitaAccessRefused",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 5,
    .find = find_keys,
    .words = {{"A program without the right key tries to connect", "Give it its key, or stop it."},
              {"Un programma senza la chiave giusta cerca di collegarsi",
               "Dargli la sua chiave, o fermarlo."},
              {"Un programa sin la clave correcta intenta conectarse",
               "Dele su clave o deténgalo."},
              {"Un programme sans la bonne clé tente de se connecter",
               "Donnez-lui sa clé ou arrêtez-le."},
              {"Ein Programm ohne passenden Schlüssel will sich verbinden",
               "Ihm seinen Schlüssel geben oder es beenden."}},
    .details = "{count} connections refused ({name}); the log names address and key. unknown_key, "
               "not_for_socket: its file below access.keys; malformed: its copy of server.pub; "
               "plain: it has no key",
};

static void find_cut(const crn_condition_look *look, crn_condition_found *found)
{
    const uint64_t *now = look->now->metrics.ingest.peers.cut,
                   *before = look->before->metrics.ingest.peers.cut;
    crn_condition_values values = {.lane = CRN_NO_LANE};
    for (int reason = 0; reason < CRN_CUTS; reason++) {
        if (reason == CRN_CUT_SILENT || reason == CRN_CUT_REVOKED || now[reason] == before[reason])
            continue;
        values.count += (double)(now[reason] - before[reason]);
        snprintf(values.name, sizeof values.name, "%s", crn_peers_cut_names[reason]);
    }
    if (values.count > 0)
        crn_condition_add(found, &values);
}

const crn_condition crn_condition_sender_cut = {
    .id = "sender_cut",
    .alert = "CernitaSenderCut",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 5,
    .find = find_cut,
    .words = {{"A program that sends too much was disconnected", "Find it and stop it."},
              {"Scollegato un programma che inviava troppo", "Trovarlo e fermarlo."},
              {"Se desconectó un programa que enviaba demasiado", "Búsquelo y deténgalo."},
              {"Un programme qui envoyait trop a été déconnecté", "Trouvez-le et arrêtez-le."},
              {"Ein Programm, das zu viel sendete, wurde getrennt", "Es suchen und beenden."}},
    .details =
        "{name}: it exceeded a limit, which no proper sender does; the log names its address "
        "and the limit (limits.peers, limits.peer_mib)",
};
