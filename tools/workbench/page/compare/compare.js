// A against B: A is a result that was kept, B what the mode shows now.
import { headRow, makeButton, makeSelect, tableRow } from '../controls.js';
import { make, setText } from '../frame.js';
import { say } from '../words.js';

export const VIEWS = ['differences', 'a', 'b', 'swipe'];

function fillTable(box, caption, head, rows) {
  box.setAttribute('aria-label', caption);
  box.replaceChildren(make('table', {}, make('caption', {}, caption), make('thead', {}, headRow(...head)), make('tbody', {}, ...rows)));
}

const scroller = () => make('div', { class: 'chain-scroll', tabindex: 0, role: 'region' });

// What `match` found: {told, identical, legend, table, …}. `legend`: lists of what stands in one item; `table`: {caption,
// head, rows}; both are null for results that cannot be compared, and so is all that a mode would draw.
export const mismatch = (told) => ({ told, identical: false, legend: null, table: null });

export class Compare {
  // `name`: how the ids of its elements begin. `match`: from two results, {title, text, …}, to what was found. `times`:
  // {columns, cellsOf(result)}. `keep` is called for a start() with what is shown, `changed` when what is drawn changes.
  constructor({ name, match, times, about, textOf, keep, changed }) {
    Object.assign(this, { match, times, textOf, changed });
    this.a = null;
    this.found = null;
    this.view = VIEWS[0];
    this.share = 0.5;
    this.keepButton = makeButton(say('compare_keep'), keep, { 'aria-describedby': `${name}-compare-told` });
    this.dropButton = makeButton(say('compare_drop'), () => this.drop());
    this.select = makeSelect(VIEWS.map((view) => [view, say(`compare_view_${view}`)]));
    this.select.addEventListener('input', () => this.setView(this.select.value));
    this.slider = make('input', { type: 'range', min: 0, max: 100, step: 1, value: 50, 'aria-label': say('compare_share') });
    this.slider.addEventListener('input', () => {
      this.share = this.slider.value / 100;
      this.changed(this);
    });
    this.told = make('p', { class: 'compare-told', id: `${name}-compare-told`, role: 'status' });
    this.legend = make('ul', { class: 'found', 'aria-label': say('compare_legend') });
    [this.counts, this.timesTable] = [scroller(), scroller()];
    this.texts = make('div', { class: 'compare-texts' });
    this.viewField = make('label', { class: 'chain-field' }, `${say('compare_view')} `, this.select);
    this.bar = make('div', { class: 'chain-row compare-bar' }, this.keepButton, this.dropButton, this.viewField, this.slider);
    this.element = make('div', { id: `${name}-compare` }, make('p', { class: 'note' }, about), this.counts, this.timesTable, this.texts);
    this.drop();
  }

  start(a) {
    this.a = a;
    this.show(a);
    this.select.focus();
  }

  // An A without the reader's doing: the focus stays.
  continue(a, b) {
    this.a = a;
    this.show(b);
  }

  drop() {
    this.a = null;
    this.b = null;
    this.found = null;
    for (const part of [this.dropButton, this.viewField, this.slider, this.told, this.legend, this.element]) part.hidden = true;
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
    const { told, identical, legend, table } = this.found = this.match(this.a, b);
    for (const part of [this.dropButton, this.viewField, this.told, this.legend, this.element]) part.hidden = false;
    this.slider.hidden = this.view !== 'swipe';
    setText(this.told, told);
    this.told.dataset.identical = identical;
    this.legend.replaceChildren(...(legend || []).map((parts) => make('li', {}, ...parts)));
    this.counts.hidden = !table;
    if (table) fillTable(this.counts, table.caption, table.head, table.rows);
    this.showTimes();
    this.changed(this);
  }

  showTimes() {
    if (!this.a || !this.b) return;
    const sides = [['A', this.a], ['B', this.b]];
    fillTable(this.timesTable, say('compare_times'), ['result', ...this.times.columns].map((column) => say(`compare_col_${column}`)),
      sides.map(([name, result]) => tableRow(`${name}: ${result.title}`, ...this.times.cellsOf(result))));
    this.texts.replaceChildren(...sides.map(([name, { text }]) => make('details', {},
      make('summary', {}, this.textOf(name)), make('pre', { tabindex: 0 }, text))));
  }
}

// Draws `left` left of a line across the picture, the line, and `right` right of it; `share` is its place.
export function drawSwiped(context, scale, { width, height }, share, left, right) {
  for (const [from, to, draw] of [[-1, width * share, left], [width * share, width + 1, right]]) {
    context.save();
    context.beginPath();
    context.rect(from, -1, to - from, height + 2);
    context.clip();
    draw();
    context.restore();
  }
  for (const [colour, thick] of [['#000', 4], ['#fff', 2]]) {
    context.fillStyle = colour;
    context.fillRect(width * share - thick / 2 / scale, 0, thick / scale, height);
  }
}
