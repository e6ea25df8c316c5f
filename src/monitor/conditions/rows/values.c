/* Values of the maps: a CNN that fails, or whose maps mean something else; shares of fruits with a
 * defect that change, or differ between lanes (src/monitor/drift). */
#include <stdio.h>

#include "src/monitor/conditions/find.h"

/* Adds each lane with views of one of the reasons from `first` to `last`. */
static void find_faulty(const crn_condition_look *look, crn_condition_found *found,
                        crn_view_reason first, crn_view_reason last)
{
    for (int32_t i = 0; i < look->now->lane_count; i++) {
        const uint64_t *now = look->now->lanes[i].values.faulty,
                       *before = crn_condition_lane_before(look, i)->values.faulty;
        crn_condition_values values = {.lane = look->now->lanes[i].number};
        for (int reason = (int)first; reason <= (int)last; reason++) {
            if (now[reason] == before[reason])
                continue;
            values.count += (double)(now[reason] - before[reason]);
            snprintf(values.name, sizeof values.name, "%s", crn_view_reason_names[reason]);
        }
        if (values.count > 0)
            crn_condition_add(found, &values);
    }
}

static void find_not_finite(const crn_condition_look *look, crn_condition_found *found)
{
    find_faulty(look, found, CRN_REASON_NOT_FINITE, CRN_REASON_NOT_FINITE);
}

const crn_condition crn_condition_not_finite = {
    .id = "not_finite",
    .alert = "CernitaNotFinite",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_not_finite,
    .words = {{"Lane {lane}: the CNN sends invalid numbers", "Restart the CNN of this lane."},
              {"Corsia {lane}: la CNN invia numeri non validi",
               "Riavviare la CNN di questa corsia."},
              {"Línea {lane}: la CNN envía números no válidos", "Reinicie la CNN de esta línea."},
              {"Ligne {lane} : le CNN envoie des nombres invalides",
               "Redémarrez le CNN de cette ligne."},
              {"Bahn {lane}: das CNN sendet ungültige Zahlen", "CNN dieser Bahn neu starten."}},
    .details = "NaN or infinity in a class with a level: the CNN overflows; look at "
               "its weights and input",
};

static void find_out_of_range(const crn_condition_look *look, crn_condition_found *found)
{
    find_faulty(look, found, CRN_REASON_OUT_OF_RANGE, CRN_REASON_MASK_VALUES);
}

const crn_condition crn_condition_out_of_range = {
    .id = "out_of_range",
    .alert = "CernitaOutOfRange",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_out_of_range,
    .words = {{"Lane {lane}: the CNN's values are not probabilities",
               "Restore the CNN that worked before."},
              {"Corsia {lane}: i valori della CNN non sono probabilità",
               "Ripristinare la CNN che funzionava prima."},
              {"Línea {lane}: los valores de la CNN no son probabilidades",
               "Vuelva a poner la CNN que funcionaba antes."},
              {"Ligne {lane} : les valeurs du CNN ne sont pas des probabilités",
               "Remettez le CNN qui fonctionnait avant."},
              {"Bahn {lane}: die Werte des CNN sind keine Wahrscheinlichkeiten",
               "Das frühere CNN wieder einsetzen."}},
    .details =
        "{name}: values outside 0 to 1 (is the last layer, softmax or sigmoid, missing?), or "
        "u8 masks of 0 and 1, where 255 is certainty",
};

static void find_wrong_scale(const crn_condition_look *look, crn_condition_found *found)
{
    find_faulty(look, found, CRN_REASON_ALL_ZERO, CRN_REASON_WRONG_SUM);
}

const crn_condition crn_condition_wrong_scale = {
    .id = "wrong_scale",
    .alert = "CernitaWrongScale",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_wrong_scale,
    .words = {{"Lane {lane}: the CNN's values have the wrong scale",
               "Restart the CNN; if that does not help, restore the one that worked before."},
              {"Corsia {lane}: i valori della CNN hanno la scala sbagliata",
               "Riavviare la CNN; se non basta, ripristinare quella che funzionava."},
              {"Línea {lane}: los valores de la CNN están en una escala errónea",
               "Reinicie la CNN; si no basta, vuelva a poner la que funcionaba antes."},
              {"Ligne {lane} : les valeurs du CNN sont à la mauvaise échelle",
               "Redémarrez le CNN ; si cela ne suffit pas, remettez celui qui fonctionnait."},
              {"Bahn {lane}: die Werte des CNN sind falsch skaliert",
               "CNN neu starten; hilft das nicht, das frühere einsetzen."}},
    .details =
        "{name}: the values of a pixel have to sum to 1 (ingest.sum) and do not: all_zero, a "
        "dead CNN; divided_by_255, labels, per_cent, another scale; wrong_sum, sigmoids "
        "(ingest.sum: none) or a missing softmax",
};

static void find_frozen(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++)
        crn_condition_add_count(found, look->now->lanes[i].number,
                                look->now->lanes[i].values.frozen,
                                crn_condition_lane_before(look, i)->values.frozen);
}

const crn_condition crn_condition_frozen = {
    .id = "frozen",
    .alert = "CernitaCnnHangs",
    .severity = CRN_SEVERITY_CRITICAL,
    .misjudged = true,
    .clear_s = 1,
    .find = find_frozen,
    .words = {{"Lane {lane}: the same picture comes again and again",
               "Restart camera and CNN of this lane."},
              {"Corsia {lane}: arriva sempre la stessa immagine",
               "Riavviare telecamera e CNN di questa corsia."},
              {"Línea {lane}: llega siempre la misma imagen",
               "Reinicie la cámara y la CNN de esta línea."},
              {"Ligne {lane} : la même image arrive sans cesse",
               "Redémarrez la caméra et le CNN de cette ligne."},
              {"Bahn {lane}: immer dasselbe Bild", "Kamera und CNN dieser Bahn neu starten."}},
    .details =
        "ten views or more in a row hold the same values: the CNN hangs, or an old buffer is "
        "sent; an empty belt under a CNN without noise looks the same",
};

static void find_unproven(const crn_condition_look *look, crn_condition_found *found)
{
    for (int32_t i = 0; i < look->now->lane_count; i++)
        if (look->now->lanes[i].is_unproven)
            crn_condition_add(found, &(crn_condition_values){.lane = look->now->lanes[i].number});
}

const crn_condition crn_condition_unproven = {
    .id = "unproven",
    .alert = "CernitaCnnUnproven",
    .severity = CRN_SEVERITY_WARNING,
    .raise_s = 5,
    .clear_s = 1,
    .find = find_unproven,
    .words = {{"Lane {lane}: the CNN finds nothing at all", "Send a fruit with a known defect."},
              {"Corsia {lane}: la CNN non trova nulla",
               "Far passare un frutto con un difetto noto."},
              {"Línea {lane}: la CNN no encuentra nada",
               "Haga pasar una fruta con un defecto conocido."},
              {"Ligne {lane} : le CNN ne trouve rien",
               "Faites passer un fruit avec un défaut connu."},
              {"Bahn {lane}: das CNN findet gar nichts",
               "Eine Frucht mit bekanntem Fehler durchlaufen lassen."}},
    .details = "no value of 0.5 (u8: 128) since the CNN started, in 64 views or more: it is dead, "
               "has the wrong scale, or all fruit was sound so far",
};

/* --- drift --- */

static void add_findings(const crn_condition_look *look, bool of_lanes, crn_condition_found *found)
{
    const crn_drift_findings *drift = look->drift;
    for (int32_t i = 0; drift && i < drift->count; i++) {
        const crn_drift_finding *finding = &drift->at[i];
        crn_condition_values values = {.lane = finding->lane,
                                       .count = (double)finding->fruits,
                                       .percent = 100 * finding->share / finding->usual};
        if ((finding->lane >= 0) != of_lanes)
            continue;
        snprintf(values.name, sizeof values.name, "%s", look->config->classes.name[finding->class]);
        crn_condition_add(found, &values);
    }
}

static void find_lane_drift(const crn_condition_look *look, crn_condition_found *found)
{
    add_findings(look, true, found);
}

const crn_condition crn_condition_lane_drifts = {
    .id = "lane_drifts",
    .alert = "CernitaLaneDrifts",
    .severity = CRN_SEVERITY_WARNING,
    .clear_s = 1,
    .find = find_lane_drift,
    .words = {{"Lane {lane}: fruits with {name} at {percent} % of the usual number",
               "Compare camera, lamps and CNN of this lane with its neighbours'."},
              {"Corsia {lane}: frutti con {name} al {percent} % del solito",
               "Confrontare telecamera, luci e CNN di questa corsia con le vicine."},
              {"Línea {lane}: fruta con {name} al {percent} % de lo habitual",
               "Compare la cámara, las luces y la CNN de esta línea con las vecinas."},
              {"Ligne {lane} : fruits avec {name} à {percent} % de l'habituel",
               "Comparez caméra, éclairage et CNN de cette ligne avec les voisines."},
              {"Bahn {lane}: Früchte mit {name} bei {percent} % des Üblichen",
               "Kamera, Licht und CNN dieser Bahn mit den Nachbarn vergleichen."}},
    .details = "{name}: the share of fruits with a defect of the class, over {count} fruits of the "
               "lane, against the other lanes of the same lot and this lane before; it ends once "
               "it is as usual, with the lot, or with other settings",
};

static void find_lot_drift(const crn_condition_look *look, crn_condition_found *found)
{
    add_findings(look, false, found);
}

const crn_condition crn_condition_lot_drifts = {
    .id = "lot_drifts",
    .alert = "CernitaLotDrifts",
    .severity = CRN_SEVERITY_NOTICE,
    .clear_s = 1,
    .find = find_lot_drift,
    .words = {{"Fruits with {name} at {percent} % of what is usual in this lot",
               "Look at the fruit: if it is as before, check cameras, lamps and CNN."},
              {"Frutti con {name} al {percent} % del solito per questo lotto",
               "Guardare i frutti: se sono come prima, controllare telecamere, luci e CNN."},
              {"Fruta con {name} al {percent} % de lo habitual en este lote",
               "Mire la fruta: si está como antes, revise cámaras, luces y CNN."},
              {"Fruits avec {name} à {percent} % de l'habituel pour ce lot",
               "Regardez les fruits : s'ils sont comme avant, vérifiez caméras, éclairage et CNN."},
              {"Früchte mit {name} bei {percent} % des Üblichen dieser Partie",
               "Früchte ansehen: sind sie wie vorher, Kameras, Licht und CNN prüfen."}},
    .details = "{name}: on more than half of the lanes the share of fruits with a defect of the "
               "class is not that of the lot before ({count} fruits of one lane): other fruit of "
               "the same lot, or what all lanes share. A lot that was begun without `cernitactl "
               "lot` looks the same",
};
