// English: the timing mode.
const s = (count) => (count === 1 ? '' : 's');

// "serial is the fastest; from 256 px on openmp, 4 threads": [{label, from}].
const fastest = (steps) => steps.map(({ label, from }, i) => (
  i === 0 ? `${label} is the fastest from ${from} px` : `${label} from ${from} px`)).join('; ');

export default {
  timing_title: 'Timing',
  timing_about: 'Times the operator of the Operator mode with its options on the selected picture: the operator alone, '
    + 'without reading and writing files. Nothing runs before you press Measure.',
  timing_what: (title) => `To be measured: ${title}`,
  timing_of: (job, name, size) => (
    `${job}${name ? `, on ${name}` : ''}${size ? `, ${size[0]} × ${size[1]} px, ${size[2]} plane${s(size[2])}` : ''}`),
  timing_no_picture: 'Select a picture first: this operator needs one.',
  timing_no_job: 'Choose an operator in the Operator mode first.',
  timing_nothing_chosen: 'Choose at least one backend.',
  timing_no_time: 'The server gave no time for this run.',
  timing_backends: 'Backends and threads',
  timing_config: (backend, threads) => (backend === 'openmp' ? `openmp, ${threads} thread${s(threads)}` : backend),
  timing_repeats: 'Warm runs',
  timing_transfers: 'With transfers to and from the device',
  timing_measure: 'Measure',
  timing_by_size: 'Measure by size',
  timing_progress: (n, all, what) => `${n} of ${all}: ${what}`,
  timing_progress_size: (n, all, what, side) => `${n} of ${all}: ${what}, ${side} × ${side} px`,
  timing_done: 'Measured.',
  timing_stopped: 'Stopped.',
  timing_csv: (name) => `Save the table as ${name}`,
  timing_caption: (title, n, transfers) => (
    `Times in ms: ${title}. Cold is the first run with the start of the backend, warm are ${n} further run${s(n)}. Ratios are of warm medians${transfers ? '' : ', cuda’s without transfers'}.`),
  timing_backend: 'backend',
  timing_threads: 'threads p',
  timing_cold: 'cold ms',
  timing_median: 'warm median ms',
  timing_min: 'warm min ms',
  timing_max: 'warm max ms',
  timing_kernel_ms: 'kernel ms',
  timing_upload_ms: 'upload ms',
  timing_download_ms: 'download ms',
  timing_speedup: 'speed-up S(p)',
  timing_efficiency: 'efficiency E(p)',
  timing_over_serial: '× serial',
  timing_axis: 'ms',
  timing_log_axis: 'ms, logarithmic',
  timing_compute: 'computation',
  timing_kernel: 'kernel',
  timing_upload: 'upload',
  timing_download: 'download',
  timing_other: 'other',
  timing_bars: (title, rows) => `Bar chart of the warm median times of ${title}: ${rows}`,
  timing_side_px: 'side in px',
  timing_size_of: (title) => `By size: ${title}`,
  timing_size_caption: (title, transfers) => `Warm median times in ms. ${title}${transfers ? '' : '; cuda without transfers'}`,
  timing_crossover: (steps, transfers) => `${fastest(steps)}${transfers ? '' : ' (cuda without transfers)'}.`,
  timing_left_out: (side, labels, reason) => `${side} px${labels && ` with ${labels}`} is left out: ${reason}`,
};
