// Chain mode: several operators on a view's class maps, and the outlines that a line would find with them.
import { make, setText } from '../frame.js';
import { copyText, headRow, makeButton, makeCheckbox, makeSelect, tableRow } from '../controls.js';
import { figure, milliseconds, number, say } from '../words.js';
import { newToken, post, remove } from '../api.js';
import { Compare } from '../compare/compare.js';
import { matchOutlines } from '../compare/outlines.js';
import { ChainPicture, classColour } from './picture.js';
import { WarmTimes } from './warm_times.js';
import { StepsEditor, composeYaml, makeFields, newState, newStep, packState, stagesOf, titleOf, unpackState } from './steps.js';

const SETTLE_MS = 200; // tables, the YAML and the URL follow a moving slider this often at most
const SLOW_MS = 500; // a run that takes longer says so and can be cancelled

// Those of the recorded fruits, if they fit.
function classNames({ catalogue, recordedClasses = [] }, planes) {
  const known = [recordedClasses, catalogue.classes].find(({ length }) => length === planes);
  if (known) return known;
  return Array.from({ length: planes }, (_, i) => `class${i}`);
}

// Runs the newest request, one at a time: those that came while one ran are dropped, but for the last.
class Latest {
  constructor(run) {
    this.run = run;
    this.busy = false;
    this.next = null;
  }

  async request(what) {
    this.next = what;
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const now = this.next;
      this.next = null;
      await this.run(now);
    }
    this.busy = false;
  }
}

// Calls `work` soon, but not more often than each SETTLE_MS; `waits` tells whether it is about to. It begins once the
// promise of `moment` is kept.
function settled(work, moment = null) {
  let timer = 0;
  const settle = () => {
    timer ||= setTimeout(async () => {
      if (moment) await moment();
      timer = 0;
      work();
    }, SETTLE_MS);
  };
  settle.waits = () => timer !== 0;
  return settle;
}

// Cold is the start of the backend with the first run.
function timeCells({ answer: { start_ms: start, run_ms: run, warm } }) {
  const spread = warm ? `${figure(warm.min_ms)} – ${figure(warm.max_ms)}` : '–';
  return [figure(start + run), figure(start), figure(run), warm ? figure(warm.median_ms) : say('chain_measuring'), spread,
    warm ? number(warm.n) : '–'];
}

function scrollBox(label, ...children) {
  return make('div', { class: 'chain-scroll', tabindex: 0, role: 'region', 'aria-label': label }, ...children);
}

class Chain {
  constructor(section, app) {
    this.section = section;
    this.app = app;
    this.maps = null; // the input, once maps are chosen
    this.keeps = false; // what is shown next as A
    this.goesOn = null; // the A of the last view, until its settings have run on this one
    this.picture = new ChainPicture();
    this.compare = new Compare({
      name: 'chain',
      match: (a, b) => matchOutlines(a.answer.defects, b.answer.defects),
      times: { columns: ['cold', 'start', 'first', 'warm', 'spread', 'n'], cellsOf: timeCells },
      about: `${say('compare_keys')} ${say('compare_pairs')}`,
      textOf: (name) => say('chain_of', name),
      keep: () => this.keepA(),
      changed: (compare) => this.picture.setCompared(compare),
    });
    this.picture.viewer.onkey = (key) => this.compare.onKey(key);
    this.warm = new WarmTimes(() => this.showMeasured());
    section.latencies = this.picture.latencies;
    section.isBusy = () => this.runs.busy || this.settle.waits() || this.finish.waits(); // for tests
    this.runs = new Latest((request) => this.run(request));
    // Between the drawing of a slider's outlines and its next movement: tables would delay the outlines.
    this.settle = settled(() => this.showSettled(), () => this.picture.whenDrawn(SETTLE_MS));
    this.finish = settled(() => this.changed()); // each key on a slider lets it go
    this.alert = make('p', { class: 'chain-alert', role: 'alert' });
    this.status = make('span', { role: 'status' });
    this.cancel = makeButton(say('cancel'), () => remove(`/jobs/${this.token}`).catch((error) => this.fail(error)));
    this.cancel.hidden = true;
    this.choice = make('div', {});
    this.body = make('div', { class: 'chain-body' });
    section.append(make('h2', { class: 'unseen' }, say('chain_title')), make('p', { class: 'note' }, say('chain_about')), this.choice, this.alert,
      make('p', { class: 'chain-row chain-progress' }, this.status, this.cancel), this.body);
  }

  visible() {
    return this.section.clientWidth > 0;
  }

  // Called when the selected picture or the mode changed: nothing is computed while the mode is hidden.
  follow() {
    if (!this.visible()) return;
    const picture = this.app.current();
    if (picture?.kind !== 'maps') {
      this.maps = null;
      this.body.hidden = true;
      this.showChoice();
    } else if (picture.id !== this.maps?.id) {
      this.open(picture);
    }
  }

  // Which pictures this mode could work on.
  showChoice() {
    const maps = this.app.pictures().filter(({ kind }) => kind === 'maps');
    const buttons = maps.map(({ id, name }) => makeButton(say('chain_choose', name), () => this.app.select(id)));
    const recording = this.app.current()?.kind === 'recording' ? [make('p', {}, say('chain_recording'))] : [];
    this.choice.replaceChildren(...recording, make('p', {}, say(maps.length > 0 ? 'chain_no_maps' : 'chain_none')),
      make('div', { class: 'chain-row' }, ...buttons));
    setText(this.alert, '');
  }

  initialOf(planes) {
    const initial = newState(classNames(this.app, planes), this.app.catalogue);
    initial.threads = Math.min(4, this.app.catalogue.cores);
    return initial;
  }

  // The chain as it is set, for so many classes.
  stateOf(planes) {
    if (this.maps?.planes === planes) return this.state;
    return unpackState(this.app.settings.get('chain'), this.initialOf(planes));
  }

  open(picture) {
    this.goesOn = this.maps?.planes === picture.planes ? this.compare.a ?? this.goesOn : null;
    this.maps = picture;
    this.initial = this.initialOf(picture.planes);
    const photograph = this.app.pictures().find(({ id }) => id === picture.photograph);
    this.photograph = photograph ?? null;
    if (!photograph) this.initial.ground = 0;
    this.state = unpackState(this.app.settings.get('chain'), this.initial);
    if (!photograph && this.state.ground < 0) this.state.ground = 0;
    this.choice.replaceChildren(make('p', { class: 'facts' }, say('chain_input', picture.name, picture.width, picture.height, picture.planes)));
    this.body.hidden = false;
    this.answer = null;
    this.compare.drop();
    this.picture.showDefects([], null);
    this.build();
    this.showGround();
    this.changed();
    if (this.goesOn) this.goOnWith(this.goesOn);
  }

  // What was kept as A of another view becomes what its settings find in this one.
  async goOnWith({ text, query, title }) {
    const { maps } = this;
    const here = { ...query, in: maps.id };
    try {
      const answer = await post(`/chain?${new URLSearchParams(here)}`, text);
      if (maps !== this.maps) return;
      for (const defect of answer.defects) defect.xy = defect.xy.flat();
      const a = { text, query: here, title, answer };
      this.compare.continue(a, this.answer ? this.result : a);
      this.goesOn = null;
      this.settle();
    } catch (error) {
      if (maps === this.maps) this.fail(error);
    }
  }

  build() {
    const changed = () => this.changed();
    const steps = new StepsEditor(this.state.steps, stagesOf(this.app.catalogue, 'image'), changed);
    const contours = make('fieldset', {}, make('legend', {}, titleOf(this.state.contours.stage)),
      make('div', { class: 'chain-row' }, ...makeFields(this.state.contours, changed)));
    this.totals = make('tbody');
    this.times = make('tbody');
    this.yaml = make('pre', {});
    const settings = make('div', { class: 'chain-settings' }, this.classRows(), steps.element, contours,
      ...stagesOf(this.app.catalogue, 'feature').map((stage) => this.featureFields(stage)), this.backendFields());
    const shown = make('div', { class: 'chain-shown' }, make('div', { class: 'chain-row' }, this.groundField(), this.compare.bar),
      this.picture.element, this.compare.told, this.compare.legend);
    const tables = make('div', { class: 'chain-tables' }, this.compare.element,
      scrollBox(say('chain_totals'), make('table', {}, make('caption', {}, say('chain_totals')),
        make('thead', {}, headRow(...['chain_class', 'chain_count', 'chain_holes', 'chain_area'].map((word) => say(word)))), this.totals)),
      scrollBox(say('chain_times'), make('table', {}, make('caption', {}, say('chain_times')),
        make('thead', {}, headRow(say('chain_step'), say('chain_cold'), say('chain_warm'))), this.times)),
      make('p', { class: 'note' }, say('chain_times_about')));
    this.body.replaceChildren(shown, settings, tables, this.yamlBox());
  }

  classRows() {
    const rows = this.state.classes.map((one, plane) => this.classRow(one, plane));
    return make('fieldset', {}, make('legend', {}, say('chain_classes')), make('ul', { class: 'chain-classes' }, ...rows));
  }

  classRow(one, plane) {
    const swatch = make('span', { class: 'chain-swatch', 'aria-hidden': 'true' });
    swatch.style.background = classColour(plane);
    const name = make('input', { type: 'text', maxlength: 47, 'aria-label': say('chain_name', plane) });
    name.value = one.name;
    const outline = make('input', { type: 'checkbox' });
    outline.checked = one.outline;
    const range = { min: 0, max: 1, step: 0.005 };
    const slider = make('input', { type: 'range', ...range });
    const exact = make('input', { type: 'number', ...range, step: 'any' });
    const label = () => {
      outline.setAttribute('aria-label', say('chain_outline_of', one.name));
      slider.setAttribute('aria-label', say('chain_level', one.name));
      exact.setAttribute('aria-label', say('chain_level_exact', one.name));
    };
    label();
    slider.value = exact.value = one.level;
    slider.disabled = exact.disabled = !one.outline;
    name.addEventListener('input', () => {
      one.name = name.value;
      label();
      this.changed();
    });
    outline.addEventListener('change', () => {
      one.outline = outline.checked;
      slider.disabled = exact.disabled = !one.outline;
      this.changed();
    });
    slider.addEventListener('input', () => {
      const since = performance.now();
      exact.value = slider.value;
      one.level = slider.valueAsNumber;
      this.changed(plane, since);
    });
    slider.addEventListener('change', () => this.finish()); // let go: all classes, for the tables
    exact.addEventListener('input', () => {
      const good = exact.validity.valid && exact.value !== '';
      setText(this.alert, good ? '' : say('chain_level_range'));
      if (!good) return;
      slider.value = exact.value;
      one.level = exact.valueAsNumber;
      this.changed();
    });
    return make('li', {}, swatch, name, make('label', {}, outline, ` ${say('chain_outline')}`), slider, exact);
  }

  // A stage on the defects, which may be in the chain once.
  featureFields(stage) {
    const ofStage = (one) => one.stage.name === stage.name;
    const kept = this.state.features.find(ofStage);
    const step = kept ?? newStep(stage);
    const fields = make('div', { class: 'chain-row' }, ...makeFields(step, () => this.changed()));
    fields.hidden = kept === undefined;
    const box = makeCheckbox(say('chain_with', stage.name), kept !== undefined, (on) => {
      this.state.features = this.state.features.filter((one) => !ofStage(one)).concat(on ? step : []);
      fields.hidden = !on;
      this.changed();
    });
    return make('fieldset', {}, make('legend', {}, titleOf(stage)), box, fields);
  }

  backendFields() {
    const { backends, cores } = this.app.catalogue;
    const usable = backends.filter(({ why }) => !why);
    const select = makeSelect(usable.map(({ name }) => [name]));
    select.value = this.state.backend;
    if (select.selectedIndex < 0) this.state.backend = select.value = usable[0].name;
    const threads = make('input', { type: 'number', min: 1, max: cores, step: 1 });
    threads.value = this.state.threads;
    select.addEventListener('input', () => {
      this.state.backend = select.value;
      this.changed();
    });
    threads.addEventListener('input', () => {
      if (!threads.validity.valid || threads.value === '') return;
      this.state.threads = threads.valueAsNumber;
      this.changed();
    });
    const missing = backends.filter(({ why }) => why).map(({ name, why }) => make('p', { class: 'note' }, `${name}: ${why}`));
    return make('fieldset', {}, make('legend', {}, say('chain_run')), make('div', { class: 'chain-row' },
      make('label', { class: 'chain-field' }, `${say('chain_backend')} `, select),
      make('label', { class: 'chain-field' }, `${say('chain_threads')} `, threads)), ...missing);
  }

  groundField() {
    const names = this.state.classes.map(({ name }, plane) => [plane, say('chain_map', name)]);
    if (this.photograph) names.unshift([-1, say('chain_photograph')]);
    const select = makeSelect(names);
    select.value = this.state.ground;
    select.addEventListener('input', () => {
      this.state.ground = Number(select.value);
      this.showGround();
      this.settle();
    });
    return make('label', { class: 'chain-field' }, `${say('chain_ground')} `, select);
  }

  showGround() {
    const { ground } = this.state;
    this.picture.showGround(ground < 0 ? this.photograph : this.maps, ground).catch((error) => this.fail(error));
  }

  yamlBox() {
    const copied = make('span', { role: 'status' });
    const copy = makeButton(say('copy'), () => {
      setText(this.yaml, composeYaml(this.state)); // it may lag behind a slider
      copyText(this.yaml, (text) => setText(copied, text));
    });
    return make('div', { class: 'chain-yaml' }, make('h3', {}, say('chain_yaml')), make('p', { class: 'note' }, say('chain_yaml_about')),
      scrollBox(say('chain_yaml'), this.yaml), make('p', { class: 'chain-row' }, copy, copied));
  }

  // After each change. A moving slider asks for its own class alone, which is faster: a class's outlines do not depend on
  // the others' levels. `since`: when the slider moved.
  changed(only = null, since = null) {
    const { next } = this.runs;
    this.warm.stop();
    if (next && next.only !== only) only = null; // what still waits is not lost
    if (!this.answer) only = null;
    since = next?.since ?? since; // a position that is passed over has waited, too
    this.runs.request({ maps: this.maps, yaml: composeYaml(this.state, only), only, since });
    this.settle();
  }

  async run({ maps, yaml, only, since }) {
    if (maps !== this.maps) return;
    this.token = newToken();
    const slow = setTimeout(() => this.showBusy(true), SLOW_MS);
    const { backend, threads } = this.state;
    const query = { in: maps.id, backend, threads };
    try {
      const answer = await post(`/chain?${new URLSearchParams({ ...query, job: this.token })}`, yaml);
      if (maps === this.maps) this.take({ text: yaml, query, title: say('timing_config', backend, threads), answer }, only, since);
    } catch (error) {
      if (maps === this.maps) this.fail(error);
    } finally {
      clearTimeout(slow);
      this.showBusy(false);
    }
  }

  // `only`: the class whose outlines the result has; the others' are the last ones.
  take(result, only, since) {
    const { answer } = result;
    for (const defect of answer.defects) defect.xy = defect.xy.flat(); // from pairs
    if (only === null) {
      this.answer = answer;
      this.result = result;
    } else this.answer.defects = this.answer.defects.filter(({ plane }) => plane !== only).concat(answer.defects);
    this.picture.showDefects(this.answer.defects, since, only);
    setText(this.alert, answer.truncated ? say('chain_truncated') : '');
    this.settle();
  }

  // What is shown becomes A, once nothing waits.
  keepA() {
    this.keeps = true;
    this.finish();
  }

  showMeasured() {
    this.showTables();
    this.compare.showTimes();
  }

  showBusy(busy) {
    this.cancel.hidden = !busy;
    setText(this.status, busy ? say('chain_running') : '');
  }

  fail(error) {
    setText(this.alert, error.message);
  }

  // What need not follow a moving slider at once.
  showSettled() {
    if (!this.maps) return;
    setText(this.yaml, composeYaml(this.state));
    this.app.settings.set('chain', packState(this.state, this.initial));
    this.picture.showLatency();
    if (!this.answer) return;
    this.showTables();
    if (this.runs.busy) return; // it is called again at the end
    if (this.keeps) this.compare.start({ ...this.result, answer: { ...this.answer } });
    this.keeps = false;
    this.compare.show(this.result);
    if (this.compare.a) this.warm.want([this.compare.a, this.result]);
  }

  showTables() {
    const { classes } = this.state;
    const counts = classes.map(() => ({ count: 0, holes: 0, area: 0 }));
    for (const { plane, hole, area_px: area } of this.answer.defects) {
      counts[plane][hole ? 'holes' : 'count'] += 1;
      counts[plane].area += hole ? -area : area;
    }
    this.picture.showLegend(classes, counts);
    this.totals.replaceChildren(...classes.flatMap(({ name, outline }, plane) => {
      const { count, holes, area } = counts[plane];
      return outline ? [tableRow(name, number(count), number(holes), figure(area))] : [];
    }));
    const { stages, start_ms: start, run_ms: run, warm } = this.answer;
    this.times.replaceChildren(tableRow(say('chain_start'), milliseconds(start), '–'),
      ...stages.map(({ name, ms, warm_ms: later }) => tableRow(name, milliseconds(ms), milliseconds(later))),
      tableRow(say('chain_all'), milliseconds(start + run), milliseconds(warm?.median_ms)));
  }
}

export function startChain(section, app) {
  const chain = new Chain(section, app);
  app.chain = (planes) => chain.stateOf(planes);
  app.onselect(() => chain.follow());
  new ResizeObserver(() => chain.follow()).observe(section);
  chain.follow();
}
