// A against B of the Chain mode: A is a result that was kept, B what the mode shows now.
import { VIEWS, STYLES, compareOutlines, countByPlane, differencePaths } from './outlines.js';
import { headRow, makeButton, makeSelect, tableRow } from '../controls.js';
import { make, setText } from '../frame.js';
import { figure, number, say } from '../words.js';

// Cold is the start of the backend with the first run.
export function timeCells({ start_ms: start, run_ms: run, warm }) {
  const spread = warm ? `${figure(warm.min_ms)} – ${figure(warm.max_ms)}` : '–';
  return [figure(start + run), figure(start), figure(run), warm ? figure(warm.median_ms) : say('chain_measuring'), spread,
    warm ? number(warm.n) : '–'];
}

function lineOf(name) {
  const { colour, width, dash } = STYLES[name];
  const line = make('span', { class: 'compare-line', 'aria-hidden': 'true' });
  line.style.setProperty('--line', `${Math.max(width, 2)}px ${dash.length > 0 ? 'dashed' : 'solid'} ${colour}`);
  return line;
}

function table(box, caption, head, rows) {
  box.setAttribute('aria-label', caption);
  box.replaceChildren(make('table', {}, make('caption', {}, caption), make('thead', {}, headRow(...head)), make('tbody', {}, ...rows)));
}

const scroller = () => make('div', { class: 'chain-scroll', tabindex: 0, role: 'region' });

export class Compare {
  // `keep` is called for a start() with what is shown, `changed` when what is drawn changes.
  constructor(keep, changed) {
    this.changed = changed;
    this.a = null; // {title, yaml, answer}
    this.b = null;
    this.view = VIEWS[0];
    this.share = 0.5;
    this.keepButton = makeButton(say('compare_keep'), keep, { 'aria-describedby': 'compare-told' });
    this.dropButton = makeButton(say('compare_drop'), () => this.drop());
    this.select = makeSelect(VIEWS.map((name) => [name, say(`compare_view_${name}`)]));
    this.select.addEventListener('input', () => this.setView(this.select.value));
    this.slider = make('input', { type: 'range', min: 0, max: 100, step: 1, value: 50, 'aria-label': say('compare_share') });
    this.slider.addEventListener('input', () => {
      this.share = this.slider.value / 100;
      this.changed(this);
    });
    this.told = make('p', { class: 'compare-told', id: 'compare-told', role: 'status' });
    this.legend = make('ul', { class: 'found', 'aria-label': say('compare_legend') });
    [this.counts, this.times] = [scroller(), scroller()];
    this.texts = make('div', { class: 'compare-texts' });
    this.viewField = make('label', { class: 'chain-field' }, `${say('compare_view')} `, this.select);
    this.bar = make('div', { class: 'chain-row' }, this.keepButton, this.dropButton, this.viewField, this.slider);
    this.summary = make('div', {}, this.told, this.legend);
    this.element = make('div', { id: 'compare' }, make('p', { class: 'note' }, say('compare_keys')), this.counts, this.times, this.texts);
    this.drop();
  }

  start(a) {
    this.a = a;
    this.show(a);
    this.select.focus();
  }

  drop() {
    this.a = null;
    for (const part of [this.dropButton, this.viewField, this.slider, this.summary, this.element]) part.hidden = true;
    setText(this.told, '');
    this.changed(this);
  }

  setView(view) {
    this.view = view;
    this.select.value = view;
    this.slider.hidden = view !== 'swipe';
    this.changed(this);
  }

  // a, b, d and s on the picture; true if the key was one of them.
  onKey(key) {
    const view = this.a && VIEWS.find((name) => name[0] === key.toLowerCase());
    if (view) this.setView(view);
    return Boolean(view);
  }

  // What the mode shows now.
  show(b) {
    this.b = b;
    if (!this.a) return;
    const [a, now] = [this.a.answer.defects, b.answer.defects];
    const compared = compareOutlines(a, now);
    this.paths = differencePaths(compared);
    for (const part of [this.dropButton, this.viewField, this.summary, this.element]) part.hidden = false;
    this.slider.hidden = this.view !== 'swipe';
    const identical = a.length === now.length && compared.same.length === a.length && JSON.stringify(a) === JSON.stringify(now);
    setText(this.told, identical ? say('compare_identical', now.length) : say('compare_different', compared));
    this.summary.dataset.identical = identical;
    this.legend.replaceChildren(...[['same', compared.same], ['changed_a', compared.changed], ['only_a', compared.onlyA], ['only_b', compared.onlyB]]
      .map(([name, { length }]) => make('li', {}, lineOf(name), name === 'changed_a' ? lineOf('changed_b') : '', ` ${say(`compare_${name}`, length)}`)));
    this.showCounts(compared, a, now);
    this.showTimes();
    this.changed(this);
  }

  showCounts(compared, a, b) {
    const names = new Map([...a, ...b].map((one) => [one.plane, one.class]));
    table(this.counts, say('compare_counts'), ['chain_class', 'compare_col_same', 'compare_col_changed', 'compare_col_only_a',
      'compare_col_only_b', 'compare_col_area_a', 'compare_col_area_b'].map((word) => say(word)),
    countByPlane(compared, a, b).map((row) => tableRow(names.get(row.plane), ...[row.same, row.changed, row.onlyA, row.onlyB].map(number),
      figure(row.areaA), figure(row.areaB))));
  }

  showTimes() {
    if (!this.a || !this.b) return;
    const sides = [['A', this.a], ['B', this.b]];
    table(this.times, say('compare_times'), [...['result', 'cold', 'start', 'first', 'warm', 'spread', 'n'].map((name) => say(`compare_col_${name}`))],
      sides.map(([name, { title, answer }]) => tableRow(`${name}: ${title}`, ...timeCells(answer))));
    this.texts.replaceChildren(...sides.map(([name, { yaml }]) => make('details', {},
      make('summary', {}, say('compare_text', name)), make('pre', { tabindex: 0 }, yaml))));
  }
}
