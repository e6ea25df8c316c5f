// Input and output of the Operator mode, side by side or one over the other.
import { Refusal, get, planesOf } from './api.js';
import { byId, make, setText } from './frame.js';
import { countValues, showHistogram } from './histogram.js';
import {
  PALETTE, Planes, RANKLET_BLUE, RANKLET_RED, areaOf, lengthOf, nearestContour, quadrantAt, quadrantsOf, rangeOf,
  showColour, showGrey, showHaar, showRanklet,
} from './pixels.js';
import { parseTimes, timeText } from './times.js';
import { Viewer, linkViewers } from './viewer.js';
import { figure, number, say } from './words.js';

const BYTES_MAX = 512e6; // of values; the page holds them and their colours
const REACH = 6; // CSS pixels from the pointer to a contour
const DIRECTIONS = ['vertical', 'horizontal', 'diagonal'];
const BYTES = { u8: 1, u16: 2, f16: 4, f32: 4 };

async function load(picture) {
  const bytes = picture.width * picture.height * picture.planes * BYTES[picture.type];
  if (bytes > BYTES_MAX) throw new RangeError(say('too_large', number(bytes / 1e6)));
  return new Planes(picture, await planesOf(picture));
}

export function planeName(picture, plane, classes) {
  if (picture.kind === 'maps' && picture.planes === classes.length) return classes[plane];
  const { samples } = picture;
  const page = picture.pages > 1 ? say('page', Math.floor(plane / samples) + 1) : '';
  const sample = samples === 3 ? say(['red', 'green', 'blue'][plane % 3]) : samples > 1 ? say('sample', (plane % samples) + 1) : '';
  return [page, sample].filter((text) => text).join(', ') || say('grey');
}

// Integers as they are, other numbers to six digits.
const valueText = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6))));

function describe({ name, width, height, type, planes }) {
  return say('described', name, width, height, type, planes);
}

function fillSelect(select, entries) {
  const before = select.value;
  select.replaceChildren(...entries.map(([value, text]) => make('option', { value }, text)));
  if (entries.some(([value]) => value === before)) select.value = before;
  else select.selectedIndex = 0;
}

export class Result {
  constructor(app, onwindow) {
    this.app = app;
    this.input = null; // Planes
    this.output = null; // {planes} or {contours}
    this.order = null; // what the output is of
    this.jobs = 0;
    this.near = null; // the contour near the pointer
    this.viewers = ['input', 'output'].map((name) => new Viewer(byId(`${name}-figure`)));
    linkViewers(this.viewers);
    for (const viewer of this.viewers) viewer.onhover = (x, y) => this.hover(x, y);
    this.viewers[1].overlay = (context, transform) => this.drawOver(context, transform);
    fillSelect(byId('layout'), [['side', say('side_by_side')], ['swipe', say('over')]]);
    fillSelect(byId('direction'), DIRECTIONS.map((name) => [name, say(name)]));
    for (const id of ['plane', 'direction', 'only']) byId(id).addEventListener('change', () => this.render());
    byId('layout').addEventListener('change', () => this.arrange());
    byId('swipe').addEventListener('input', () => this.swipe());
    byId('window').addEventListener('change', () => onwindow(byId('window').selectedIndex));
    this.listenZoom();
  }

  listenZoom() {
    const [input, output] = this.viewers;
    const seen = () => (input.canvas.clientWidth > 0 ? input : output);
    const middle = () => ({ x: seen().canvas.clientWidth / 2, y: seen().canvas.clientHeight / 2 });
    byId('zoom-in').addEventListener('click', () => seen().zoom(1.5, middle()));
    byId('zoom-out').addEventListener('click', () => seen().zoom(1 / 1.5, middle()));
    byId('zoom-fit').addEventListener('click', () => seen().fitAll());
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
      const planes = await load(picture);
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
    this.order = null;
    this.near = null;
    byId('save').hidden = true;
    byId('notes').replaceChildren();
    this.arrange();
    this.render();
  }

  async show(order, answer, window) {
    const name = order.operator.name;
    const output = { answer, window: order.windows[window], cold: parseTimes(answer.output).time.cold };
    if (order.out === 'json') output.contours = await get(`/pictures/${answer.result.id}/file`);
    else output.planes = await load(answer.result);
    const { inverse, threshold, levels } = order.values;
    output.haar = name === 'haar' && !inverse && !threshold;
    output.levels = output.haar ? Number(levels) : 0;
    // A denoised u8 picture is shown as such, not stretched.
    if (name === 'haar' && threshold && order.input.type === 'u8') output.planes.range = { min: 0, max: 255 };
    output.quadrants = output.haar ? quadrantsOf(answer.result.width, answer.result.height, output.levels) : [];
    this.order = order;
    this.output = output;
    this.near = null;
    byId('notes').replaceChildren(...[].concat(answer.notes || []).filter((text) => text).map((text) => make('li', {}, text)));
    fillSelect(byId('window'), order.windows.map((one, i) => [String(i), `${one.width} × ${one.height}`]));
    byId('window').selectedIndex = Math.max(window, 0);
    this.arrange();
    this.render();
    this.jobs += 1;
    byId('output-figure').dataset.job = this.jobs;
  }

  // The warm times of a result, which may not be the shown one any more.
  setWarm(answer, warm) {
    if (this.output?.answer !== answer) return;
    this.output.warm = warm;
    this.renderTexts();
  }

  // Which figures and choosers there are.
  arrange() {
    const { output, order } = this;
    const ranklet = Boolean(output && order.windows.length > 0);
    const twofold = Boolean(output && order.input);
    const swiped = twofold && byId('layout').value === 'swipe';
    byId('output-figure').hidden = !output;
    byId('input-figure').hidden = swiped || Boolean(output && !order.input);
    byId('swipe-field').hidden = !swiped;
    byId('direction-field').hidden = !ranklet;
    byId('window-field').hidden = !(ranklet && order.windows.length > 1);
    byId('only-field').hidden = !(output && output.contours && order.input.planes > 1);
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
    if (this.output && !this.order.input) return this.output.planes;
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

  // The first chosen plane, and how many.
  chosen() {
    const { value } = byId('plane');
    return value.startsWith('colour') ? { first: Number(value.slice(6)), count: 3 } : { first: Number(value) || 0, count: 1 };
  }

  paint(planes, levels = null) {
    const { first, count } = this.chosen();
    if (levels !== null) return showHaar(planes, first, levels);
    return count === 3 ? showColour(planes, first) : showGrey(planes, first);
  }

  render() {
    this.fillPlanes();
    const ground = this.ground();
    byId('pair').classList.toggle('wide', Boolean(ground) && ground.picture.width > 2.5 * ground.picture.height);
    const { input, output } = this;
    const [left, right] = this.viewers;
    const shown = input ? this.paint(input) : null;
    left.show(shown);
    setText(byId('input-caption'), input ? describe(input.picture) : '');
    this.count('input', input);
    this.layer = null;
    if (!output) right.show(null);
    else if (output.contours) right.show(shown);
    else if (output.window) this.renderRanklet(shown);
    else right.show(this.paint(output.planes, output.haar ? output.levels : null));
    if (output && output.contours) this.makePaths();
    this.count('output', output && output.planes);
    this.renderTexts();
  }

  count(name, planes) {
    const chosen = this.chosen();
    const ranklet = name === 'output' && this.output && this.output.window;
    const { first, count } = ranklet ? { first: this.rankletPlane(), count: 1 } : chosen;
    const values = planes && planes.values.subarray(first * planes.size, (first + count) * planes.size);
    showHistogram(byId(`${name}-histogram`), values ? countValues(values, planes.picture.type) : null, say(name));
  }

  renderTexts() {
    const { output, order } = this;
    for (const name of ['input', 'output']) setText(byId(`${name}-values`), '');
    this.renderLegend();
    if (!output) return;
    const what = output.contours ? say('contours_found', output.contours.length) : describe(output.answer.result);
    setText(byId('output-caption'), `${order.operator.name}: ${what}; ${timeText(output.cold, output.warm)}`);
    byId('output-canvas').setAttribute('aria-label', `${say('output')}: ${order.operator.name}, ${what}`);
  }

  rankletPlane() {
    return 3 * this.chosen().first + Math.max(byId('direction').selectedIndex, 0);
  }

  // A value belongs to its window's middle; the windows begin at each pixel.
  renderRanklet(shown) {
    const { window, planes } = this.output;
    const { width, height, rgba } = showRanklet(planes, this.rankletPlane());
    const back = make('canvas', { width, height });
    back.getContext('2d').putImageData(new ImageData(rgba, width, height), 0, 0);
    this.layer = { back, left: (window.width - 1) / 2, top: (window.height - 1) / 2 };
    this.viewers[1].layer = { width, height, rgba, left: this.layer.left, top: this.layer.top };
    this.viewers[1].show(shown);
  }

  // One path for each plane: the fewer, the faster they are drawn.
  makePaths() {
    const { first, count } = this.chosen();
    const only = byId('only').checked && !byId('only-field').hidden;
    const seen = this.output.contours.filter(({ plane }) => !only || (plane >= first && plane < first + count));
    this.seen = seen;
    this.paths = new Map();
    for (const contour of seen) {
      if (!this.paths.has(contour.plane)) this.paths.set(contour.plane, new Path2D());
      const path = this.paths.get(contour.plane);
      // A closed contour ends with its first point; closePath() takes seconds where there are thousands.
      contour.points.forEach(([x, y], i) => (i ? path.lineTo(x + 0.5, y + 0.5) : path.moveTo(x + 0.5, y + 0.5)));
    }
  }

  drawOver(context, transform) {
    const { output } = this;
    if (!output || (!output.contours && !this.layer)) return;
    const { scale, x, y } = transform;
    context.save();
    context.translate(x, y);
    context.scale(scale, scale);
    if (this.layer) this.drawRanklet(context, scale);
    else this.drawContours(context, scale);
    context.restore();
  }

  drawRanklet(context, scale) {
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(this.layer.back, this.layer.left, this.layer.top);
    if (!this.place) return;
    const { window } = this.output;
    for (const [colour, width] of [['#000', 3], ['#fff', 1.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width / scale;
      context.strokeRect(this.place.x, this.place.y, window.width, window.height);
    }
  }

  drawContours(context, scale) {
    context.lineJoin = 'round';
    for (const [plane, path] of this.paths) {
      context.strokeStyle = PALETTE[plane % PALETTE.length];
      context.lineWidth = 1.6 / scale;
      context.stroke(path);
    }
    if (!this.near) return;
    context.beginPath();
    this.near.points.forEach(([x, y]) => context.lineTo(x + 0.5, y + 0.5));
    if (this.near.closed) context.closePath();
    for (const [colour, width] of [['#000', 6], ['#fff', 3.5]]) {
      context.strokeStyle = colour;
      context.lineWidth = width / scale;
      context.stroke();
    }
  }

  renderLegend() {
    const box = byId('legend');
    const { output } = this;
    const entry = (colour, text) => {
      const swatch = make('span', { class: 'swatch', 'aria-hidden': 'true' });
      swatch.style.background = colour;
      return make('span', {}, swatch, text);
    };
    const entries = [];
    if (output && output.window) {
      entries.push(entry(`rgb(${RANKLET_RED})`, say('ranklet_red')), entry(`rgb(${RANKLET_BLUE})`, say('ranklet_blue')));
    } else if (output && output.contours && this.input) {
      const { picture } = this.input;
      for (const plane of this.paths.keys()) {
        const count = this.seen.filter((contour) => contour.plane === plane).length;
        const name = planeName(picture, plane, this.app.catalogue.classes);
        entries.push(entry(PALETTE[plane % PALETTE.length], `${name}: ${number(count)}`));
      }
    }
    box.replaceChildren(...entries);
    box.hidden = entries.length === 0;
  }

  // --- under the pointer ---

  valuesAt(planes, x, y) {
    const { picture } = planes;
    const { first, count } = this.chosen();
    const all = picture.planes <= 4;
    const list = Array.from({ length: all ? picture.planes : count }, (_, i) => (all ? i : first + i));
    if (picture.planes === 1) return valueText(planes.at(0, x, y));
    return list.map((plane) => `${planeName(picture, plane, this.app.catalogue.classes)} ${valueText(planes.at(plane, x, y))}`).join('; ');
  }

  hover(x, y) {
    const ground = this.ground();
    const inside = x !== null && ground && x >= 0 && y >= 0 && x < ground.picture.width && y < ground.picture.height;
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const at = `x ${column}, y ${row}: `;
    setText(byId('input-values'), inside && this.input && ground === this.input ? at + this.valuesAt(this.input, column, row) : '');
    if (!this.output) return;
    let text = '';
    if (this.output.contours) text = this.hoverContour(inside ? x : null, y);
    else if (this.output.window) text = this.hoverRanklet(inside ? x : null, y);
    else if (inside) text = at + this.valuesAt(this.output.planes, column, row) + this.quadrantText(column, row);
    setText(byId('output-values'), text);
  }

  quadrantText(x, y) {
    const part = quadrantAt(this.output.quadrants, x, y);
    return part ? ` – ${say(part.name, part.level)}` : '';
  }

  hoverContour(x, y) {
    const before = this.near;
    const reach = REACH / this.viewers[1].transform.scale;
    this.near = x === null || !this.seen ? null : nearestContour(this.seen, x - 0.5, y - 0.5, reach);
    if (this.near !== before) this.viewers[1].redraw();
    if (!this.near) return '';
    const name = planeName(this.order.input, this.near.plane, this.app.catalogue.classes);
    return say('contour', name, this.near.closed, figure(lengthOf(this.near)), figure(areaOf(this.near)));
  }

  // The window whose middle is nearest to the place, and its three values.
  hoverRanklet(x, y) {
    const { window, planes } = this.output;
    const { width, height } = planes.picture;
    const left = Math.floor(x - (window.width - 1) / 2);
    const top = Math.floor(y - (window.height - 1) / 2);
    const inside = x !== null && left >= 0 && top >= 0 && left < width && top < height;
    this.place = inside ? { x: left, y: top } : null;
    this.viewers[1].redraw();
    if (!inside) return x === null ? '' : say('no_window');
    const first = 3 * this.chosen().first;
    const values = DIRECTIONS.map((name, i) => `${say(name)} ${valueText(planes.at(first + i, left, top))}`);
    return `${say('window_at', left, top, window.width, window.height)}: ${values.join('; ')}`;
  }
}
