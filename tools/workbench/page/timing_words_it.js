// Italiano: la modalità dei tempi.
const fastest = (steps) => steps.map(({ label, from }, i) => (
  i === 0 ? `Il più veloce da ${from} px è ${label}` : `da ${from} px è ${label}`)).join('; ');

export default {
  timing_title: 'Tempi',
  timing_about: 'Misura l’operatore della modalità Operatore, con le sue opzioni, sull’immagine scelta: solo l’operatore, '
    + 'senza lettura e scrittura dei file. Nulla parte prima di premere Misura.',
  timing_what: (title) => `Da misurare: ${title}`,
  timing_of: (job, name, size) => (
    `${job}${name ? `, su ${name}` : ''}${size ? `, ${size[0]} × ${size[1]} px, ${size[2]} ${size[2] === 1 ? 'piano' : 'piani'}` : ''}`),
  timing_no_picture: 'Scegliere prima un’immagine: questo operatore ne ha bisogno.',
  timing_no_job: 'Scegliere prima un operatore nella modalità Operatore.',
  timing_nothing_chosen: 'Scegliere almeno un backend.',
  timing_no_time: 'Il server non ha dato nessun tempo per questa esecuzione.',
  timing_backends: 'Backend e thread',
  timing_config: (backend, threads) => (backend === 'openmp' ? `openmp, ${threads} thread` : backend),
  timing_repeats: 'Ripetizioni',
  timing_transfers: 'Con i trasferimenti da e verso il dispositivo',
  timing_measure: 'Misura',
  timing_by_size: 'Misura per dimensione',
  timing_progress: (n, all, what) => `${n} di ${all}: ${what}`,
  timing_progress_size: (n, all, what, side) => `${n} di ${all}: ${what}, ${side} × ${side} px`,
  timing_done: 'Misurato.',
  timing_stopped: 'Interrotto.',
  timing_csv: (name) => `Salva la tabella come ${name}`,
  timing_caption: (title, n, transfers) => (
    `Tempi in ms di ${n} ${n === 1 ? 'esecuzione' : 'esecuzioni'}: ${title}. `
    + `I rapporti sono tra mediane${transfers ? '' : ', per cuda senza trasferimenti'}.`),
  timing_backend: 'backend',
  timing_threads: 'thread p',
  timing_median: 'mediana ms',
  timing_min: 'min ms',
  timing_max: 'max ms',
  timing_kernel_ms: 'kernel ms',
  timing_upload_ms: 'invio ms',
  timing_download_ms: 'ritorno ms',
  timing_speedup: 'accelerazione S(p)',
  timing_efficiency: 'efficienza E(p)',
  timing_over_serial: '× serial',
  timing_axis: 'ms',
  timing_log_axis: 'ms, logaritmico',
  timing_compute: 'calcolo',
  timing_kernel: 'kernel',
  timing_upload: 'invio',
  timing_download: 'ritorno',
  timing_other: 'altro',
  timing_bars: (title, rows) => `Grafico a barre dei tempi mediani di ${title}: ${rows}`,
  timing_side_px: 'lato in px',
  timing_size_of: (title) => `Per dimensione: ${title}`,
  timing_size_caption: (title, transfers) => `Tempi mediani in ms. ${title}${transfers ? '' : '; cuda senza trasferimenti'}`,
  timing_crossover: (steps, transfers) => `${fastest(steps)}${transfers ? '' : ' (cuda senza trasferimenti)'}.`,
  timing_left_out: (side, labels, reason) => `${side} px${labels && ` con ${labels}`} è escluso: ${reason}`,
};
