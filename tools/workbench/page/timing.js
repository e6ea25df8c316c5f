// Timing mode: the operator on the picture by every backend and number of threads, and by size.
import { headRow, makeButton, makeCheckbox, onControlEnter, tableRow } from './controls.js';
import { make, setText } from './frame.js';
import { figure, say } from './words.js';
import { newToken, post, remove } from './api.js';
import { BarChart, SizeChart } from './timing_chart.js';
import { parseTimes } from './times.js';

const REPEAT = 9;
const EXPONENTS = [6, 7, 8, 9, 10, 11]; // of the sides 64 … 2048
const GENERATOR = 'diamond-square'; // takes no picture: its size is its exponent
const PARTS = ['time', 'kernel', 'upload', 'download'];

// 1, 2, 4, … and all cores.
function threadCounts(cores) {
  const counts = [];
  for (let n = 1; n < cores; n *= 2) counts.push(n);
  return [...counts, cores];
}

function withoutExponent(args) {
  const at = args.indexOf('--exponent');
  return at < 0 ? args : args.filter((_, i) => i !== at && i !== at + 1);
}

function csvOf(columns, rows) {
  const quote = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value ?? '');
  return [columns, ...rows].map((row) => `${row.map(quote).join(',')}\n`).join('');
}

const csvTimes = (row) => PARTS.flatMap((part) => (
  [row[part]?.median, ...(part === 'time' ? [row.time.min, row.time.max, row.time.n, row.time.cold] : [])]));
const CSV_TIMES = ['median_ms', 'min_ms', 'max_ms', 'n', 'cold_ms', 'kernel_ms', 'upload_ms', 'download_ms'];

// A table in a region that scrolls by itself, with a link to its values as a file.
class Table {
  constructor(fileName) {
    this.caption = make('caption');
    this.head = make('thead');
    this.body = make('tbody');
    this.region = make('div', { class: 'chain-scroll', tabindex: 0, role: 'region' },
      make('table', {}, this.caption, this.head, this.body));
    this.link = make('a', { download: fileName }, say('timing_csv', fileName));
    this.element = make('div', {}, this.region, make('p', {}, this.link));
    this.element.hidden = true;
  }

  show(caption, columns, rows, csv) {
    setText(this.caption, caption);
    this.region.setAttribute('aria-label', caption);
    this.head.replaceChildren(headRow(...columns));
    this.body.replaceChildren(...rows.map((row) => tableRow(...row)));
    if (this.link.href) URL.revokeObjectURL(this.link.href);
    this.link.href = URL.createObjectURL(new Blob([csv], { type: 'text/csv' }));
    this.element.hidden = false;
  }
}

// An empty heading is none.
function setTitle(heading, text) {
  setText(heading, text);
  heading.hidden = text === '';
}

class Timing {
  constructor(section, app) {
    this.section = section;
    this.app = app;
    this.settings = this.readSettings();
    this.done = null; // {job, rows}: the last measurement
    this.bySize = null; // {job, series}: the last one by size
    this.status = make('p', { class: 'note', role: 'status' });
    this.alert = make('p', { class: 'chain-alert', role: 'alert' });
    this.what = make('p', { class: 'facts' });
    this.bars = new BarChart();
    this.lines = new SizeChart();
    this.table = new Table('cernita-times.csv');
    this.sizeTable = new Table('cernita-times-by-size.csv');
    this.title = make('h3', { hidden: '' });
    this.sizeTitle = make('h3', { hidden: '' });
    this.crossover = make('p');
    this.left = make('ul', { class: 'note' });
    section.append(make('h2', {}, say('timing_title')), make('p', { class: 'note' }, say('timing_about')), this.what,
      this.settingsForm(), this.buttons(), this.status, this.alert,
      this.title, this.bars.element, this.table.element,
      this.sizeTitle, this.crossover, this.lines.element, this.left, this.sizeTable.element);
  }

  usable(backend) {
    return this.app.catalogue.backends.some(({ name, why }) => name === backend && !why);
  }

  // From the URL, which anyone may have written.
  readSettings() {
    const stored = this.app.settings.get('timing') ?? {};
    const counts = threadCounts(this.app.catalogue.cores);
    const repeat = Number.isInteger(stored.repeat) && stored.repeat > 0 ? stored.repeat : REPEAT;
    const openmp = Array.isArray(stored.openmp) ? counts.filter((n) => stored.openmp.includes(n)) : counts;
    return { repeat, serial: stored.serial !== false, openmp, cuda: stored.cuda !== false, transfers: stored.transfers !== false };
  }

  keep() {
    this.app.settings.set('timing', this.settings);
  }

  checkbox(text, checked, change) {
    return makeCheckbox(text, checked, (on) => {
      change(on);
      this.keep();
    });
  }

  settingsForm() {
    const { settings } = this;
    const repeat = make('input', { type: 'number', min: 1, max: 1000, step: 1 });
    repeat.value = settings.repeat;
    repeat.addEventListener('input', () => {
      if (!repeat.validity.valid || repeat.value === '') return;
      settings.repeat = repeat.valueAsNumber;
      this.keep();
    });
    const threads = threadCounts(this.app.catalogue.cores).map((n) => (
      this.checkbox(say('timing_config', 'openmp', n), settings.openmp.includes(n), (on) => {
        settings.openmp = [...settings.openmp.filter((one) => one !== n), ...(on ? [n] : [])].sort((a, b) => a - b);
      })));
    const cuda = this.checkbox('cuda', settings.cuda && this.usable('cuda'), (on) => { settings.cuda = on; });
    cuda.firstChild.disabled = !this.usable('cuda');
    const missing = this.app.catalogue.backends.filter(({ why }) => why)
      .map(({ name, why }) => make('p', { class: 'note' }, `${name}: ${why}`));
    const transfers = this.checkbox(say('timing_transfers'), settings.transfers, (on) => {
      settings.transfers = on;
      this.showRows();
      this.showSizes();
    });
    return make('div', {},
      make('fieldset', {}, make('legend', {}, say('timing_backends')), make('div', { class: 'chain-row' },
        this.checkbox('serial', settings.serial, (on) => { settings.serial = on; }), ...threads, cuda), ...missing),
      make('div', { class: 'chain-row' }, make('label', { class: 'chain-field' }, `${say('timing_repeats')} `, repeat), transfers));
  }

  buttons() {
    this.measure = makeButton(say('timing_measure'), () => this.start(() => this.measureBackends()));
    this.measureBySize = makeButton(say('timing_by_size'), () => this.start(() => this.measureSizes()));
    onControlEnter(this.section, () => this.measure.click());
    this.cancel = makeButton(say('cancel'), () => this.stop());
    this.cancel.disabled = true;
    return make('div', { class: 'chain-row' }, this.measure, this.measureBySize, this.cancel);
  }

  // What would be measured now: {operator, args, picture or null, side, title}.
  currentJob() {
    const { operator, args } = this.app.job() ?? {};
    if (!operator) throw new Error(say('timing_no_job'));
    const info = this.app.catalogue.operators.find(({ name }) => name === operator);
    const picture = info.input ? this.app.current() : null;
    if (info.input && !picture) throw new Error(say('timing_no_picture'));
    const size = picture ? [picture.width, picture.height, picture.planes] : null;
    const title = say('timing_of', [operator, ...args].join(' '), picture?.name, size);
    return { operator, args, picture, size, title, out: info.outputs.find((out) => out === 'tif' || out === 'json') ?? info.outputs[0] };
  }

  follow() {
    if (this.section.clientWidth === 0) return;
    try {
      setText(this.what, say('timing_what', this.currentJob().title));
    } catch (error) {
      setText(this.what, error.message);
    }
  }

  configurations() {
    const { serial, openmp, cuda } = this.settings;
    const chosen = [];
    if (serial) chosen.push({ backend: 'serial', threads: 1 });
    for (const threads of openmp) chosen.push({ backend: 'openmp', threads });
    if (cuda && this.usable('cuda')) chosen.push({ backend: 'cuda', threads: 1 });
    if (chosen.length === 0) throw new Error(say('timing_nothing_chosen'));
    return chosen.map((one) => ({ ...one, label: say('timing_config', one.backend, one.threads) }));
  }

  async start(work) {
    this.stopped = false;
    this.setRunning(true);
    setText(this.alert, '');
    setText(this.status, '');
    try {
      await work();
      setText(this.status, say(this.stopped ? 'timing_stopped' : 'timing_done'));
    } catch (error) {
      setText(this.status, say('timing_stopped'));
      setText(this.alert, error.message);
    }
    this.setRunning(false);
  }

  setRunning(running) {
    const hadFocus = document.activeElement;
    this.measure.disabled = this.measureBySize.disabled = running;
    this.cancel.disabled = !running;
    if (running && (hadFocus === this.measure || hadFocus === this.measureBySize)) this.cancel.focus();
    else if (!running && hadFocus === this.cancel) this.measure.focus();
  }

  async stop() {
    this.stopped = true;
    if (this.token) await remove(`/jobs/${this.token}`).catch(() => {}); // it may have ended just now
  }

  // Times one configuration on one picture; `args` without backend and threads.
  async time(job, args, picture, { backend, threads, label }) {
    this.token = newToken();
    const query = new URLSearchParams({ out: job.out, job: this.token, keep: 0 });
    if (picture) query.set('in', picture.id);
    const lines = [job.operator, ...args, '--time', '--repeat', this.settings.repeat, '--backend', backend, '--threads', threads];
    try {
      const { output } = await post(`/apply?${query}`, lines.join('\n'));
      return { backend, threads, label, ...parseTimes(output) };
    } finally {
      this.token = null;
    }
  }

  async measureBackends() {
    const job = this.currentJob();
    const chosen = this.configurations();
    const faults = new Set();
    this.done = { job, rows: [] };
    this.showRows();
    for (const [i, one] of chosen.entries()) {
      if (this.stopped) break;
      setText(this.status, say('timing_progress', i + 1, chosen.length, one.label));
      try {
        this.done.rows.push(await this.time(job, job.args, job.picture, one));
      } catch (error) {
        if (!this.stopped) faults.add(error.message);
      }
      this.showRows();
    }
    setText(this.alert, [...faults].join(' '));
  }

  // What a row counts with: all of it, or a device's computation alone.
  valueOf(row) {
    return (this.settings.transfers ? row.time : row.kernel ?? row.time).median;
  }

  // Speed-up over openmp on one thread, its efficiency, and the speed over serial; null where there is nothing to compare.
  ratios(row, rows) {
    const value = this.valueOf(row);
    const one = rows.find(({ backend, threads }) => backend === 'openmp' && threads === 1);
    const serial = rows.find(({ backend }) => backend === 'serial');
    const speedup = row.backend === 'openmp' && one ? this.valueOf(one) / value : null;
    return [speedup, speedup === null ? null : speedup / row.threads, serial ? this.valueOf(serial) / value : null];
  }

  showRows() {
    const { job, rows } = this.done ?? {};
    if (!rows?.length) {
      this.bars.hide();
      this.table.element.hidden = true;
      setTitle(this.title, '');
      return;
    }
    const { transfers } = this.settings;
    const device = rows.some(({ kernel }) => kernel);
    const parts = device ? PARTS.slice(1) : [];
    const columns = ['timing_backend', 'timing_threads', 'timing_cold', 'timing_median', 'timing_min', 'timing_max', ...parts.map((part) => `timing_${part}_ms`),
      'timing_speedup', 'timing_efficiency', 'timing_over_serial'].map((word) => say(word));
    const cells = rows.map((row) => [row.backend, row.backend === 'openmp' ? row.threads : '–',
      figure(row.time.cold), figure(row.time.median), figure(row.time.min), figure(row.time.max), ...parts.map((part) => figure(row[part]?.median)),
      ...this.ratios(row, rows).map(figure)]);
    const csv = csvOf(['picture', 'width', 'height', 'planes', 'operator', 'arguments', 'backend', 'threads', ...CSV_TIMES,
      'speedup', 'efficiency', 'times_serial', 'transfers'],
    rows.map((row) => [job.picture?.name, ...(job.size ?? ['', '', '']), job.operator, job.args.join(' '), row.backend, row.threads,
      ...csvTimes(row), ...this.ratios(row, rows), transfers ? 'with' : 'without']));
    setTitle(this.title, job.title);
    this.table.show(say('timing_caption', job.title, rows[0].time.n, transfers), columns, cells, csv);
    const said = rows.map((row) => `${row.label}: ${figure(this.valueOf(row))} ms`).join('; ');
    this.bars.showRows(rows, transfers, say('timing_bars', job.title, said));
  }

  async tileOf(picture, side) {
    const answer = await post(`/tile?picture=${picture.id}&width=${side}&height=${side}`, '');
    return answer.pictures[0];
  }

  async measureSizes() {
    const job = this.currentJob();
    const generated = job.operator === GENERATOR;
    if (generated) job.args = withoutExponent(job.args);
    job.title = say('timing_of', [job.operator, ...job.args].join(' '), job.picture?.name, null);
    const chosen = this.configurations();
    const all = EXPONENTS.length * chosen.length;
    this.bySize = { job, series: chosen.map(({ label }) => ({ label, rows: new Map() })), left: new Map() };
    this.showSizes();
    for (const [i, exponent] of EXPONENTS.entries()) {
      const side = 2 ** exponent + (generated ? 1 : 0);
      let tile = null;
      for (const [k, one] of chosen.entries()) {
        if (this.stopped) return;
        setText(this.status, say('timing_progress_size', i * chosen.length + k + 1, all, one.label, side));
        try {
          if (!generated) tile ??= await this.tileOf(job.picture, side);
          const args = generated ? [...job.args, '--exponent', exponent] : job.args;
          this.bySize.series[k].rows.set(side, await this.time(job, args, tile, one));
        } catch (error) {
          if (!this.stopped) this.leaveOut(side, one.label, error.message);
        }
      }
      this.showSizes();
    }
  }

  // One sentence a size and reason, however many backends gave it.
  leaveOut(side, label, reason) {
    const key = `${side} ${reason}`;
    const known = this.bySize.left.get(key) ?? { side, reason, labels: [] };
    known.labels.push(label);
    this.bySize.left.set(key, known);
  }

  // Where another configuration becomes the fastest: [{label, from}], the smallest size first.
  crossovers(series, sides) {
    const steps = [];
    for (const side of sides) {
      const timed = series.filter(({ rows }) => rows.has(side));
      const fastest = timed.reduce((a, b) => (this.valueOf(b.rows.get(side)) < this.valueOf(a.rows.get(side)) ? b : a));
      if (steps.at(-1)?.label !== fastest.label) steps.push({ label: fastest.label, from: side });
    }
    return steps;
  }

  showSizes() {
    const { job, series: all, left } = this.bySize ?? {};
    if (!all) return;
    this.left.replaceChildren(...[...left.values()].map(({ side, labels, reason }) => (
      make('li', {}, say('timing_left_out', side, labels.length === all.length ? '' : labels.join('; '), reason)))));
    const series = all.filter(({ rows }) => rows.size > 0);
    if (series.length === 0) {
      this.lines.hide();
      this.sizeTable.element.hidden = true;
      setTitle(this.sizeTitle, '');
      setText(this.crossover, '');
      return;
    }
    const sides = [...new Set(series.flatMap(({ rows }) => [...rows.keys()]))].sort((a, b) => a - b);
    const title = say('timing_size_of', job.title);
    const sentence = say('timing_crossover', this.crossovers(series, sides), this.settings.transfers);
    const cells = sides.map((side) => [side, ...series.map(({ rows }) => (rows.has(side) ? figure(this.valueOf(rows.get(side))) : '–'))]);
    const csvRows = sides.flatMap((side) => series.filter(({ rows }) => rows.has(side)).map(({ rows }) => {
      const row = rows.get(side);
      return [job.picture?.name, job.operator, job.args.join(' '), side, row.backend, row.threads, ...csvTimes(row)];
    }));
    const csv = csvOf(['picture', 'operator', 'arguments', 'side_px', 'backend', 'threads', ...CSV_TIMES], csvRows);
    setTitle(this.sizeTitle, title);
    setText(this.crossover, sentence);
    this.sizeTable.show(say('timing_size_caption', title, this.settings.transfers),
      [say('timing_side_px'), ...series.map(({ label }) => label)], cells, csv);
    this.lines.showSeries(series.map(({ label, rows }) => (
      { label, points: [...rows].map(([x, row]) => ({ x, y: this.valueOf(row) })) })), `${title}. ${sentence}`);
  }
}

export function startTiming(section, app) {
  const timing = new Timing(section, app);
  app.onselect(() => timing.follow());
  new ResizeObserver(() => timing.follow()).observe(section);
  timing.follow();
}
