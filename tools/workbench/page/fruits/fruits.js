// Fruits mode: the fruits of recordings, found by time, lane, number, verdict, class and lot, and opened in the Chain mode.
import { Refusal, bytesOf, get, newToken, post, remove } from '../api.js';
import { makeButton } from '../controls.js';
import { make, setText } from '../frame.js';
import { number, say, timeOfDay } from '../words.js';
import { FruitBar } from './bar.js';
import { Unknown, parseQuery } from './query.js';
import { FruitSurface } from './surface.js';

const SMALL = { width: 96, height: 64 }; // the server's
const WATCH_MS = 300;
const VERDICTS = ['complete', 'partial', 'late'].map((name) => [name, say(`fruits_${name}`)]);

// A small picture of grey bytes behind a byte that is 0 where there is none.
function drawSmall(canvas, bytes) {
  if (!bytes[0]) return;
  const context = canvas.getContext('2d');
  const image = context.createImageData(SMALL.width, SMALL.height);
  for (let i = 0; i < SMALL.width * SMALL.height; i += 1) image.data.set([bytes[i + 1], bytes[i + 1], bytes[i + 1], 255], 4 * i);
  context.putImageData(image, 0, 0);
}

const detailsOf = ({ verdict, classes, lot }) => [verdict && say(`fruits_${verdict}`), classes.join(', '), lot && say('fruits_lot', lot)]
  .filter((text) => text).join(' · ');

const nameOf = ({ lane, fruit, time_ms: ms }) => say('fruits_name', lane, fruit, timeOfDay(ms / 1000));

class Fruits {
  constructor(section, app) {
    Object.assign(this, { section, app, summary: null, found: [], asked: null });
    this.alert = make('p', { class: 'alert', role: 'alert' });
    this.status = make('p', { role: 'status', id: 'fruits-status' });
    this.cancel = makeButton(say('cancel'), () => remove(`/jobs/${this.token}`).catch(() => {}));
    this.cancel.hidden = true;
    this.input = make('input', { id: 'fruits-search', type: 'search', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'fruits-help' });
    this.help = make('p', { class: 'help', id: 'fruits-help' });
    this.form = make('form', { class: 'row', role: 'search' },
      make('div', { class: 'field grow' }, make('label', { for: 'fruits-search' }, say('fruits_search')), this.input),
      make('button', { type: 'submit', class: 'main-action' }, say('fruits_find')));
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.find();
    });
    this.list = make('ul', { class: 'fruits', 'aria-label': say('mode_fruits') });
    this.more = makeButton(say('fruits_more'), () => this.findMore());
    this.notes = make('details', {});
    this.form.hidden = this.more.hidden = this.notes.hidden = true;
    section.append(make('h2', { class: 'unseen' }, say('mode_fruits')), this.form, this.help, this.alert,
      make('div', { class: 'row' }, this.status, this.cancel), this.list, this.more, this.notes);
    this.bar = new FruitBar({ open: (fruit, view) => this.open(fruit, view), step: (fruit, by) => this.step(fruit, by),
      back: () => this.goBack(), describe: (fruit) => [nameOf(fruit), detailsOf(fruit)].filter((text) => text).join(': ') });
    this.surface = new FruitSurface({ summary: () => this.summary, mapsOf: (fruit, view) => this.mapsOf(fruit, view), chainOf: (planes) => app.chain(planes) });
    app.onselect((picture) => {
      this.bar.show(picture);
      this.surface.show(picture);
    });
    this.input.value = app.settings.get('fruits').search ?? '';
  }

  // Reads the recordings when the mode is shown first.
  follow() {
    if (this.section.clientWidth > 0 && !this.summary && !this.token) this.find();
  }

  // Reads what there is, or what was added since; true if that is known.
  async read() {
    if (this.token) return false; // it is being read
    this.token = newToken();
    const watch = setInterval(() => this.watch(), WATCH_MS);
    this.cancel.hidden = false;
    setText(this.alert, '');
    try {
      this.summary = await post(`/recordings?job=${this.token}`);
      this.app.recordedClasses = this.summary.classes.slice(0, this.summary.recorded_classes);
      this.showSummary();
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    } finally {
      clearInterval(watch);
      this.token = '';
      this.cancel.hidden = true;
      setText(this.status, '');
    }
  }

  async watch() {
    const { done } = await get(`/jobs/${this.token}`);
    if (this.token) setText(this.status, say('fruits_reading', number(done)));
  }

  showSummary() {
    const { fruits, has_verdicts: hasVerdicts, verdicts, lanes, classes, notes } = this.summary;
    this.form.hidden = false;
    const example = ['lane', lanes.at(-1) ?? 0, hasVerdicts ? classes[1] ?? classes[0] : ''];
    setText(this.help, `${say('fruits_help', example[1], example[2])} ${hasVerdicts ? say('fruits_verdicts', number(verdicts), number(fruits))
      : say('fruits_no_verdicts')}`);
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(make('summary', {}, say('fruits_notes', notes.length)), make('ul', { lang: 'en' }, ...notes.map((note) => make('li', {}, note))));
  }

  fail(error) {
    if (!(error instanceof Refusal)) throw error;
    setText(this.alert, error.message);
  }

  // Also among what was recorded since the last time.
  async find() {
    if (!await this.read()) return;
    if (this.summary.fruits === 0) {
      setText(this.status, say('fruits_none_recorded'));
      return;
    }
    const text = this.input.value.trim();
    let asked;
    try {
      asked = parseQuery(text, this.summary, VERDICTS);
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      setText(this.alert, say('fruits_unknown', error.message, this.summary.classes.join(', ')));
      return;
    }
    if (!this.summary.has_verdicts && (asked.class || asked.verdict || asked.lot)) {
      setText(this.alert, say('fruits_need_verdicts'));
      return;
    }
    this.app.settings.set('fruits', { search: text });
    this.asked = asked;
    this.found = [];
    this.list.replaceChildren();
    this.findMore();
  }

  // The next ones of those found.
  async findMore() {
    const { asked } = this;
    const search = new URLSearchParams({ ...asked, skip: this.found.length });
    try {
      const { total, fruits } = await post(`/fruits?${search}`);
      if (asked !== this.asked) return;
      this.found.push(...fruits);
      setText(this.status, say('fruits_found', number(total), number(this.summary.fruits), asked.from && timeOfDay(asked.from / 1000),
        asked.to && timeOfDay(asked.to / 1000)));
      this.more.hidden = this.found.length >= total;
      const canvases = fruits.map((fruit) => this.addRow(fruit));
      const bytes = fruits.length > 0 ? await bytesOf(`/fruits/pictures?${search}`) : [];
      const size = 1 + SMALL.width * SMALL.height;
      canvases.forEach((canvas, i) => drawSmall(canvas, bytes.subarray(i * size, (i + 1) * size)));
      this.section.dataset.shown = this.found.length; // for tests
    } catch (error) {
      this.fail(error);
    }
  }

  addRow(fruit) {
    const canvas = make('canvas', { ...SMALL, 'aria-hidden': 'true' });
    const text = make('span', {}, make('strong', {}, nameOf(fruit)), make('span', {}, detailsOf(fruit)), make('span', {}, say('fruits_count', fruit.views.length)));
    const button = make('button', { type: 'button', 'data-number': fruit.number }, canvas, text);
    button.addEventListener('click', () => this.open(fruit, fruit.shown_view));
    this.list.append(make('li', {}, button));
    return canvas;
  }

  step(fruit, by) {
    const at = this.found.findIndex((one) => one.number === fruit.number);
    return at < 0 ? undefined : this.found[at + by];
  }

  goBack() {
    const { fruit } = this.app.current();
    this.app.showMode('fruits');
    this.list.querySelector(`[data-number="${fruit.number}"]`)?.focus();
  }

  // The class maps of a view, which are opened if they are not.
  async mapsOf(fruit, view) {
    const known = this.app.pictures().find((one) => one.fruit?.number === fruit.number && one.view === view && one.kind === 'maps');
    if (known) return known;
    const name = `lane-${fruit.lane}-fruit-${fruit.fruit}-view-${view}`;
    const { pictures } = await post(`/fruits/view?${new URLSearchParams({ number: fruit.number, view, name })}`);
    for (const picture of pictures) Object.assign(picture, { fruit, view });
    this.app.add(pictures);
    return pictures[0];
  }

  // Opens a view and shows it in the Chain mode, where an A that is kept there goes on as its settings.
  async open(fruit, view) {
    setText(this.alert, '');
    this.app.warn('');
    try {
      this.app.select((await this.mapsOf(fruit, view)).id);
      if (document.body.dataset.mode === 'fruits') this.app.showMode('chain', true);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.app.warn(error.message);
    }
  }
}

export function startFruits(section, app) {
  const fruits = new Fruits(section, app);
  new ResizeObserver(() => fruits.follow()).observe(section);
  fruits.follow();
}
