// Input and output of the Operator mode, side by side or one over the other; or A, a result that was kept, beside B.
import { Refusal } from '../api.js';
import { Compare } from '../compare/compare.js';
import { drawOver, groundOf, matchResults, timeCells } from '../compare/results.js';
import { makeButton } from '../controls.js';
import { byId, make, setText } from '../frame.js';
import { rangeOf } from '../pixels.js';
import { timeText } from '../times.js';
import { Viewer, linkViewers } from '../viewer.js';
import { say } from '../words.js';
import { countValues, showHistogram } from './histogram.js';
import { DIRECTIONS, Output, describe, hoverText, loadPlanes, paint, planeName } from './output.js';

function fillSelect(select, entries) {
  const before = select.value;
  select.replaceChildren(...entries.map(([value, text]) => make('option', { value }, text)));
  if (entries.some(([value]) => value === before)) select.value = before;
  else select.selectedIndex = 0;
}

export class Result {
  // `onwindow` is called with the index of another window of ranklets, `onbackend` with a backend to compare with.
  constructor(app, onwindow, onbackend) {
    this.app = app;
    this.input = null; // Planes
    this.output = null; // an Output
    this.jobs = 0;
    this.viewers = ['input', 'output'].map((name) => new Viewer(byId(`${name}-figure`)));
    linkViewers(this.viewers);
    for (const viewer of this.viewers) {
      viewer.onhover = (x, y) => this.hover(x, y);
      viewer.onkey = (key) => this.compare.onKey(key);
    }
    this.viewers[0].overlay = (context, transform) => this.drawOver(context, transform, (scale) => this.compare.a?.draw(context, scale));
    this.viewers[1].overlay = (context, transform) => this.drawOver(context, transform, (scale) => this.drawOutput(context, scale));
    fillSelect(byId('layout'), [['side', say('side_by_side')], ['swipe', say('over')]]);
    fillSelect(byId('direction'), DIRECTIONS.map((name) => [name, say(name)]));
    for (const id of ['plane', 'direction', 'only']) byId(id).addEventListener('change', () => this.render());
    byId('layout').addEventListener('change', () => this.arrange());
    byId('swipe').addEventListener('input', () => this.swipe());
    byId('window').addEventListener('change', () => onwindow(byId('window').selectedIndex));
    this.listenZoom();
    this.makeCompare(onbackend);
  }

  listenZoom() {
    const [input, output] = this.viewers;
    const seen = () => (input.canvas.clientWidth > 0 ? input : output);
    const middle = () => ({ x: seen().canvas.clientWidth / 2, y: seen().canvas.clientHeight / 2 });
    byId('zoom-in').addEventListener('click', () => seen().zoom(1.5, middle()));
    byId('zoom-out').addEventListener('click', () => seen().zoom(1 / 1.5, middle()));
    byId('zoom-fit').addEventListener('click', () => seen().fitAll());
  }

  makeCompare(onbackend) {
    const { backends, classes } = this.app.catalogue;
    this.compare = new Compare({
      name: 'operator',
      match: (a, b) => matchResults(a, b, (plane) => planeName((b.order.input || b.answer.result), plane, classes)),
      times: { columns: ['cold', 'warm', 'spread', 'n'], cellsOf: timeCells },
      about: say('compare_keys'),
      textOf: (name) => say('compare_command', name),
      keep: () => this.compare.start(this.output),
      changed: () => this.showCompared(),
    });
    this.withBackend = backends.filter(({ why }) => !why).map(({ name }) => makeButton(say('compare_with', name), () => onbackend(name), { 'data-backend': name }));
    this.compare.keepButton.after(...this.withBackend);
    byId('compare-bar').append(this.compare.bar);
    byId('compare-told').append(this.compare.told);
    byId('compare-legend').append(this.compare.legend);
    byId('compare-tables').append(this.compare.element);
    this.arrange();
  }

  // The range of its values; null if it cannot be shown.
  async showInput(picture) {
    this.input = null;
    this.wanted = picture;
    if (!picture || picture.kind === 'recording') {
      this.render();
      return null;
    }
    try {
      const planes = await loadPlanes(picture);
      if (this.wanted !== picture) return null;
      this.input = planes;
      this.render();
      planes.range = rangeOf(planes.values);
      return planes.range;
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof RangeError)) throw error;
      this.app.warn(say('cannot_show', `${picture.name}: ${error.message}`));
      this.render();
      return null;
    }
  }

  clear() {
    this.output = null;
    byId('save').hidden = true;
    byId('notes').replaceChildren();
    this.compare.drop();
  }

  load(order, values, answer, window) {
    return new Output(order, values, answer, window, this.app.catalogue.classes).load();
  }

  show(output) {
    const { order, answer, window } = output;
    this.output = output;
    byId('notes').replaceChildren(...[].concat(answer.notes || []).filter((text) => text).map((text) => make('li', {}, text)));
    fillSelect(byId('window'), order.windows.map((one, i) => [String(i), `${one.width} × ${one.height}`]));
    byId('window').selectedIndex = Math.max(order.windows.indexOf(window), 0);
    this.compare.show(output);
    if (!this.compare.a) this.showCompared();
    this.jobs += 1;
    byId('output-figure').dataset.job = this.jobs;
  }

  // A result that the shown one is compared with.
  showA(output) {
    const { output: b } = this;
    this.compare.start(output);
    this.compare.show(b);
  }

  // The warm times of a result, which may not be shown any more.
  setWarm(output, warm) {
    output.warm = warm;
    this.renderTexts();
    this.compare.showTimes();
  }

  showCompared() {
    if (!this.compare) return; // it is being made
    this.arrange();
    this.render();
  }

  // Which figures and choosers there are.
  arrange() {
    const { output, compare: { a } } = this;
    const windows = output ? output.order.windows : [];
    const twofold = Boolean(output && (a || output.order.input));
    const swiped = twofold && !a && byId('layout').value === 'swipe';
    byId('output-figure').hidden = !output;
    byId('input-figure').hidden = swiped || Boolean(output && !twofold);
    byId('layout-field').hidden = Boolean(a);
    byId('swipe-field').hidden = !swiped;
    byId('direction-field').hidden = windows.length === 0;
    byId('window-field').hidden = windows.length <= 1;
    byId('only-field').hidden = !(output && output.contours && output.order.input.planes > 1);
    byId('compare-bar').hidden = !output;
    for (const button of this.withBackend || []) button.hidden = !output || Boolean(a) || button.dataset.backend === output.backend;
    this.viewers[1].under = swiped ? this.viewers[0] : null;
    linkViewers(twofold ? this.viewers : [this.viewers[0]]);
    if (!twofold) this.viewers[1].links = [this.viewers[1]];
    else if (!this.viewers[0].fitted) this.viewers[0].move(0, 0); // hands its place on
    this.swipe();
  }

  swipe() {
    this.viewers[1].swipe = byId('swipe').value / 100;
    this.viewers[1].redraw();
  }

  // The planes that the choosers are about: the input's, else the output's.
  ground() {
    if (this.output && !this.output.order.input) return this.output.planes;
    return this.input;
  }

  fillPlanes() {
    const ground = this.ground();
    const entries = [];
    if (ground) {
      const { picture } = ground;
      for (let page = 0; picture.samples === 3 && page < picture.pages; page += 1) {
        entries.push([`colour${3 * page}`, picture.pages > 1 ? say('colour_page', page + 1) : say('colour')]);
      }
      for (let plane = 0; plane < picture.planes; plane += 1) {
        entries.push([String(plane), planeName(picture, plane, this.app.catalogue.classes)]);
      }
    }
    // Another picture begins with its first choice, which is all colours where it has some.
    const listed = entries.map(([value]) => value).join();
    if (this.listed !== listed) byId('plane').value = '';
    this.listed = listed;
    fillSelect(byId('plane'), entries);
    byId('plane-field').hidden = entries.length < 2;
  }

  // The first chosen plane, how many, whether contours of others are left out, and which ranklets are shown.
  choice() {
    const { value } = byId('plane');
    const planes = value.startsWith('colour') ? { first: Number(value.slice(6)), count: 3 } : { first: Number(value) || 0, count: 1 };
    return { ...planes, only: byId('only').checked && !byId('only-field').hidden, direction: Math.max(byId('direction').selectedIndex, 0) };
  }

  render() {
    this.fillPlanes();
    const ground = this.ground();
    byId('pair').classList.toggle('wide', Boolean(ground) && ground.picture.width > 2.5 * ground.picture.height);
    const { input, output, compare, compare: { a } } = this;
    const [left, right] = this.viewers;
    const choice = this.choice();
    const shown = input ? paint(input, choice) : null;
    if (!output) right.show(null);
    else right.show(a ? groundOf(compare, shown, choice) : output.groundOf(shown, choice));
    left.show(a ? a.groundOf(shown, choice) : shown);
    right.layer = output?.layer; // for tests
    const beside = a ? a.planes : input;
    this.count('input', beside, a ? a.planesOf(choice) : choice, a ? 'A' : say('input'));
    this.count('output', output?.planes, output ? output.planesOf(choice) : choice, a ? 'B' : say('output'));
    this.renderTexts();
  }

  count(name, planes, choice, title) {
    const { first, count } = choice;
    const values = planes && planes.values.subarray(first * planes.size, (first + count) * planes.size);
    showHistogram(byId(`${name}-histogram`), values ? countValues(values, planes.picture.type) : null, title);
  }

  renderTexts() {
    const { input, output, compare: { a } } = this;
    const captionOf = (one) => (a ? `${one.title}: ${one.form()}` : `${one.order.operator.name}: ${one.form()}; ${timeText(one.cold, one.warm)}`);
    for (const name of ['input', 'output']) setText(byId(`${name}-values`), '');
    setText(byId('input-title'), a ? 'A' : say('input'));
    setText(byId('output-title'), a ? 'B' : say('output'));
    setText(byId('input-caption'), a ? captionOf(a) : input ? describe(input.picture) : '');
    byId('input-canvas').setAttribute('aria-label', a ? `A: ${a.title}` : say('input'));
    this.renderLegend();
    if (!output) return;
    setText(byId('output-caption'), captionOf(output));
    byId('output-canvas').setAttribute('aria-label', `${a ? 'B' : say('output')}: ${output.order.operator.name}, ${output.form()}`);
  }

  renderLegend() {
    const box = byId('legend');
    const entries = !this.output || (this.compare.a && this.compare.view === 'differences') ? [] : this.output.legend();
    box.replaceChildren(...entries.map(([colour, text]) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
      swatch.style.background = colour;
      return make('span', {}, swatch, text);
    }));
    box.hidden = entries.length === 0;
  }

  // In the picture's pixels.
  drawOver(context, { scale, x, y }, draw) {
    context.save();
    context.translate(x, y);
    context.scale(scale, scale);
    draw(scale);
    context.restore();
  }

  drawOutput(context, scale) {
    const { output, compare, viewers: [left, right] } = this;
    if (compare.a && output) drawOver(compare, context, scale, right.shown, left);
    else output?.draw(context, scale);
  }

  // --- under the pointer ---

  hover(x, y) {
    const { input, output, compare: { a, view } } = this;
    const ground = this.ground();
    const inside = x !== null && ground && x >= 0 && y >= 0 && x < ground.picture.width && y < ground.picture.height;
    const { scale } = this.viewers[1].transform;
    const textOf = (one) => one.hover(inside ? x : null, y, scale);
    if (a) setText(byId('input-values'), textOf(a));
    else setText(byId('input-values'), inside && ground === input ? hoverText(input, this.choice(), Math.floor(x), Math.floor(y), this.app.catalogue.classes) : '');
    if (!output) return;
    setText(byId('output-values'), textOf(a && view === 'a' ? a : output));
    for (const viewer of this.viewers) viewer.redraw();
  }
}
