// Italian: the fruits mode.
export default {
  mode_fruits: 'Frutti',
  fruits_search: 'Cerca frutti',
  fruits_find: 'Cerca',
  fruits_help: (lane, name) => `Uno o più tra: corsia ${lane}${name ? `, ${name}, parziale, lotto 4711` : ''}, frutto 17, 2026-11-27, 02:00–03:00 (orari di `
    + 'questo browser; senza giorno, l’ultimo).',
  fruits_verdicts: (verdicts, fruits) => `${verdicts} frutti su ${fruits} hanno un verdetto.`,
  fruits_no_verdicts: 'Per cercare per verdetto, classe e lotto, avvia cernita-workbench con --archive FILE o --log DIR.',
  fruits_need_verdicts: 'Verdetti, classi e lotti non sono nelle registrazioni: avvia cernita-workbench con --archive FILE o --log DIR.',
  fruits_unknown: (word, classes) => `«${word}» non si capisce: scrivi corsia N, frutto N, lotto ID, un giorno come 2026-11-27, orari come `
    + `02:00–03:00, completo, parziale o in ritardo${classes ? `, oppure una classe: ${classes}` : ''}.`,
  fruits_reading: (views) => `Lettura delle registrazioni: finora ${views} viste.`,
  fruits_found: (found, all, from, to) => `${found} frutti su ${all}${from ? `, dalle ${from} alle ${to}` : ''}`,
  fruits_none_recorded: 'Queste registrazioni non hanno frutti.',
  fruits_notes: (count) => (count === 1 ? '1 registrazione non è stata letta per intero' : `${count} registrazioni non sono state lette per intero`),
  fruits_more: 'Mostra altri',
  fruits_name: (lane, fruit, time) => `Corsia ${lane}, frutto ${fruit}, ${time}`,
  fruits_count: (views) => (views === 1 ? '1 vista' : `${views} viste`),
  fruits_lot: (lot) => `lotto ${lot}`,
  fruits_view: (view) => `Vista ${view}`,
  fruits_views: 'Viste di questo frutto',
  fruits_before: 'Frutto precedente',
  fruits_next: 'Frutto successivo',
  fruits_back: 'Torna all’elenco',
  fruits_complete: 'completo',
  fruits_partial: 'parziale',
  fruits_late: 'in ritardo',
  surface_title: 'Tutta la superficie di questo frutto',
  surface_verdict: 'Come l’ha giudicata la linea.',
  surface_places: 'Un archivio conserva dove sono i difetti e quanto sono grandi, non i contorni: cerchi della loro area. Per i contorni avvia '
    + 'cernita-workbench con --log DIR.',
  surface_no_source: 'È nei verdetti, non nelle registrazioni: avvia cernita-workbench con --log DIR (con i contorni) o --archive FILE.',
  surface_no_verdict: 'Questo frutto non ha un verdetto nell’archivio o nel registro.',
  surface_late: 'Nessuna vista è stata giudicata: il verdetto non dice nulla della superficie.',
  surface_no_geometry: 'La linea non ha misurato questo frutto. Per misurare, aggiungi al suo file una sezione geometry; la modalità Calibra trova '
    + 'mm_per_px, e roll_deg è di quanto un frutto ruota da una vista all’altra:',
};
