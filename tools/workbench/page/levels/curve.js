// Precision, recall and F1 of a class by level, as a drawing.
import { say } from '../words.js';

const SVG = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [320, 200, 34, 36, 8, 10];

const xOf = (index, last) => LEFT + ((WIDTH - LEFT - RIGHT) * index) / last;
const yOf = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value);

function draw(name, attributes, text = '') {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// A short line as one of the drawing's.
export function drawKey(name) {
  const svg = draw('svg', { viewBox: '0 0 32 8', class: 'level-curve level-key', 'aria-hidden': 'true' });
  svg.append(draw('path', { class: name, d: 'M0 4H32' }));
  return svg;
}

// A line with gaps where there is no value.
function pathOf(values) {
  let down = false;
  return values.map((value, i) => {
    if (value === null) {
      down = false;
      return '';
    }
    const step = `${down ? 'L' : 'M'}${xOf(i, values.length - 1).toFixed(1)} ${yOf(value).toFixed(1)}`;
    down = true;
    return step;
  }).join('');
}

// `at`: the index of the level that is marked, or null; `text`: what is to be read instead.
export function drawCurve(curve, at, text) {
  const svg = draw('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', class: 'level-curve' });
  svg.setAttribute('aria-label', text);
  for (const value of [0, 0.5, 1]) {
    svg.append(draw('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: yOf(value), y2: yOf(value) }),
      draw('text', { x: LEFT - 6, y: yOf(value) + 4, 'text-anchor': 'end' }, String(value)),
      draw('text', { x: xOf(value, 1), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle' }, String(value)));
  }
  svg.append(draw('text', { x: xOf(0.5, 1), y: HEIGHT - 4, 'text-anchor': 'middle' }, say('levels_col_level')));
  if (at !== null) {
    const x = xOf(at, curve.recall.length - 1);
    svg.append(draw('line', { class: 'mark', x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
  }
  for (const name of ['f1', 'recall', 'precision']) svg.append(draw('path', { class: name, d: pathOf(curve[name]) }));
  return svg;
}
