// Italiano: la modalità livelli.
export default {
  levels_title: 'Livelli',
  levels_about: 'Esegue la catena della modalità Catena su tutte le viste etichettate ai livelli 0, 0,01, … 1 e dice quanto spesso ogni classe sarebbe trovata a ragione.',
  levels_missing: 'Questa modalità richiede una registrazione e le etichette delle sue viste. Aprire entrambe: le etichette sono un file CSV che comincia con la riga '
    + 'fruit,view,class,has_defect, oppure una cartella con labels.csv, con maschere FRUTTO-VISTA.png o con entrambi.',
  levels_folder: 'Apri una cartella di etichette…',
  levels_folder_hint: 'Oppure trascinare qui la cartella o i suoi file. Una maschera ha in ogni pixel il numero di una classe.',
  levels_recording: 'Registrazione',
  levels_labels: 'Etichette',
  levels_all: 'tutte le registrazioni aperte',
  levels_run: 'Calcola',
  levels_running: (done, all) => `${done} di ${all} viste`,
  levels_seen: ({ views, labelled_views: labelled, masks, unused_labels: unused, truncated }) => (
    `${views} viste, di cui ${labelled} etichettate, ${masks} con maschere.`
    + `${unused ? ` ${unused} etichette sono di viste che non ci sono.` : ''}`
    + `${truncated ? ` ${truncated} esecuzioni hanno trovato più contorni di quanti i limiti ammettano; gli altri non contano.` : ''}`),
  levels_rule: 'Proporre il livello con',
  levels_by_f1: 'il massimo F1',
  levels_by_recall: 'la massima precisione e un richiamo di almeno',
  levels_recall: 'richiamo',
  levels_table: 'Livelli proposti',
  levels_curves: 'Precisione, richiamo e F1 per livello',
  levels_col_class: 'classe',
  levels_col_by: 'per',
  levels_col_labelled: 'etichettati',
  levels_col_positives: 'con difetto',
  levels_col_level: 'livello',
  levels_col_precision: 'precisione',
  levels_col_recall: 'richiamo',
  levels_col_f1: 'F1',
  levels_by_view: 'vista',
  levels_by_pixel: 'pixel',
  levels_at: (name, level, precision, recall) => `${name} al livello ${level}: precisione ${precision}, richiamo ${recall}`,
  levels_no_level: (name) => `${name}: nessun livello da proporre`,
  levels_yaml: 'Per il file di una linea',
  levels_yaml_about: 'Sostituisce «classes:» nel file della linea. Provare questi livelli su altre registrazioni: per queste sono troppo buoni.',
};
