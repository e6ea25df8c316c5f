// What an operator has made, and how it is drawn: a picture, contours over the input, or ranklets over it.
import { get, planesOf } from '../api.js';
import { make } from '../frame.js';
import {
  PALETTE, Planes, RANKLET_BLUE, RANKLET_RED, areaOf, lengthOf, nearestContour, quadrantAt, quadrantsOf, showColour, showGrey, showHaar,
  showRanklet,
} from '../pixels.js';
import { parseTimes } from '../times.js';
import { figure, number, say } from '../words.js';
import { argsOf } from './options.js';

const BYTES_MAX = 512e6; // of values; the page holds them and their colours
const REACH = 6; // CSS pixels from the pointer to a contour
const BYTES = { u8: 1, u16: 2, f16: 4, f32: 4 };

export const DIRECTIONS = ['vertical', 'horizontal', 'diagonal'];

export async function loadPlanes(picture) {
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

export function describe({ name, width, height, type, planes }) {
  return say('described', name, width, height, type, planes);
}

// The planes of a choice: three in colour, else one in grey.
export function paint(planes, { first, count }) {
  return count === 3 ? showColour(planes, first) : showGrey(planes, first);
}

// "red 1; green 2": of all planes where there are few, else of the chosen ones.
export function valuesText(planes, { first, count }, x, y, classes) {
  const { picture } = planes;
  if (picture.planes === 1) return valueText(planes.at(0, x, y));
  const all = picture.planes <= 4;
  const list = Array.from({ length: all ? picture.planes : count }, (_, i) => (all ? i : first + i));
  return list.map((plane) => `${planeName(picture, plane, classes)} ${valueText(planes.at(plane, x, y))}`).join('; ');
}

const placeText = (x, y) => `x ${x}, y ${y}: `;

export function hoverText(planes, choice, x, y, classes) {
  return placeText(x, y) + valuesText(planes, choice, x, y, classes);
}

export class Output {
  // `window`: which of the order's windows of ranklets it has.
  constructor(order, values, answer, window, classes) {
    Object.assign(this, { order, values, answer, classes });
    this.window = order.windows[window];
    this.cold = parseTimes(answer.output).time.cold;
    this.warm = null; // until it is measured
    const { inverse, threshold, levels } = order.values;
    this.haar = order.operator.name === 'haar' && !inverse && !threshold;
    this.levels = this.haar ? Number(levels) : 0;
    this.quadrants = this.haar ? quadrantsOf(answer.result.width, answer.result.height, this.levels) : [];
    this.near = null; // the contour near the pointer
    this.place = null; // the window of ranklets under it
  }

  async load() {
    const { order, answer } = this;
    if (order.out === 'json') this.contours = await get(`/pictures/${answer.result.id}/file`);
    else this.planes = await loadPlanes(answer.result);
    // A denoised u8 picture is shown as such, not stretched.
    if (order.operator.name === 'haar' && order.values.threshold && order.input.type === 'u8') this.planes.range = { min: 0, max: 255 };
    return this;
  }

  // Its options and backend, as cernita-apply names them.
  get title() {
    const { operator, common } = this.order;
    return [operator.name, ...argsOf(operator, this.values, this.order.out), ...common].join(' ');
  }

  get backend() {
    const { common } = this.order;
    return common[common.indexOf('--backend') + 1];
  }

  // The job as a command line.
  get text() {
    return this.answer.command;
  }

  form() {
    return this.contours ? say('contours_found', this.contours.length) : describe(this.answer.result);
  }

  // The plane of a choice that its values are of.
  planesOf({ first, count, direction }) {
    return this.window ? { first: 3 * first + direction, count: 1 } : { first, count };
  }

  // What a viewer shows of it below what draw() draws; `ground`: of the input, null without one.
  groundOf(ground, choice) {
    this.choice = choice;
    this.layer = null;
    if (this.contours) this.makePaths(choice);
    else if (this.window) this.layer = this.layerOf(showRanklet(this.planes, this.planesOf(choice).first));
    else return this.haar ? showHaar(this.planes, choice.first, this.levels) : paint(this.planes, choice);
    return ground;
  }

  // A value of ranklets belongs to its window's middle; the windows begin at each pixel.
  layerOf({ width, height, rgba }) {
    const back = make('canvas', { width, height });
    back.getContext('2d').putImageData(new ImageData(rgba, width, height), 0, 0);
    const [left, top] = this.window ? [(this.window.width - 1) / 2, (this.window.height - 1) / 2] : [0, 0];
    return { back, width, height, rgba, left, top };
  }

  // One path for each plane: the fewer, the faster they are drawn.
  makePaths({ first, count, only }) {
    this.seen = this.contours.filter(({ plane }) => !only || (plane >= first && plane < first + count));
    this.paths = new Map();
    for (const contour of this.seen) {
      if (!this.paths.has(contour.plane)) this.paths.set(contour.plane, new Path2D());
      const path = this.paths.get(contour.plane);
      // A closed contour ends with its first point; closePath() takes seconds where there are thousands.
      contour.points.forEach(([x, y], i) => (i ? path.lineTo(x + 0.5, y + 0.5) : path.moveTo(x + 0.5, y + 0.5)));
    }
  }

  // In the picture's pixels, `scale` CSS pixels each.
  draw(context, scale) {
    if (this.layer) this.drawRanklet(context, scale);
    else if (this.contours) this.drawContours(context, scale);
  }

  drawRanklet(context, scale) {
    drawLayer(context, scale, this.layer);
    if (!this.place) return;
    for (const [colour, width] of [['#000', 3], ['#fff', 1.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width / scale;
      context.strokeRect(this.place.x, this.place.y, this.window.width, this.window.height);
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

  // [colour, text] of what its colours mean.
  legend() {
    if (this.window) return [[`rgb(${RANKLET_RED})`, say('ranklet_red')], [`rgb(${RANKLET_BLUE})`, say('ranklet_blue')]];
    if (!this.contours) return [];
    return [...this.paths.keys()].map((plane) => {
      const count = this.seen.filter((contour) => contour.plane === plane).length;
      return [PALETTE[plane % PALETTE.length], `${planeName(this.order.input, plane, this.classes)}: ${number(count)}`];
    });
  }

  // --- under the pointer: what is said; x is null where it is not on the picture ---

  hover(x, y, scale) {
    if (this.contours) return this.hoverContour(x, y, REACH / scale);
    if (this.window) return this.hoverRanklet(x, y);
    if (x === null) return '';
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const part = quadrantAt(this.quadrants, column, row);
    return hoverText(this.planes, this.choice, column, row, this.classes) + (part ? ` – ${say(part.name, part.level)}` : '');
  }

  hoverContour(x, y, reach) {
    this.near = x === null || !this.seen ? null : nearestContour(this.seen, x - 0.5, y - 0.5, reach);
    if (!this.near) return '';
    const name = planeName(this.order.input, this.near.plane, this.classes);
    return say('contour', name, this.near.closed, figure(lengthOf(this.near)), figure(areaOf(this.near)));
  }

  // The window whose middle is nearest to the place, and its three values.
  hoverRanklet(x, y) {
    const { window, planes } = this;
    const { width, height } = planes.picture;
    const left = Math.floor(x - (window.width - 1) / 2);
    const top = Math.floor(y - (window.height - 1) / 2);
    const inside = x !== null && left >= 0 && top >= 0 && left < width && top < height;
    this.place = inside ? { x: left, y: top } : null;
    if (!inside) return x === null ? '' : say('no_window');
    const values = DIRECTIONS.map((name, i) => `${say(name)} ${valueText(planes.at(3 * this.choice.first + i, left, top))}`);
    return `${say('window_at', left, top, window.width, window.height)}: ${values.join('; ')}`;
  }
}

export function drawLayer(context, scale, { back, left, top }) {
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(back, left, top);
}
