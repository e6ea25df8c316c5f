// What a verdict says of a fruit in millimetres, or why it says nothing.
import { make } from '../frame.js';
import { millimetres, number, percent, say, squareMillimetres, squarePixels } from '../words.js';
import { makeSvg } from './svg.js';

// As in the pictures of cernita-tail: classes have these colours, in the order of the verdict's totals.
const COLOURS = ['#ff5252', '#33ccff', '#ffc71a', '#47e680', '#c28fff', '#ff8c33',
  '#ff7acc', '#1ad1bd', '#ccff66', '#7aa3ff', '#e0ad80', '#fafa9e'];

export function classColours(verdict) {
  return new Map(Object.keys(verdict.totals).map((name, i) => [name, COLOURS[i % COLOURS.length]]));
}

// The fruit in millimetres; null: the line does not measure, or could not.
export function measuresOf({ surface }) {
  return surface && surface.diameter_mm !== null ? surface : null;
}

// Why a fruit of a line that measures has no measures; empty: it does not measure, or nothing was judged.
function sayUnmeasured({ surface, skipped }) {
  if (surface) return say(surface.pose.every(({ source }) => source === 'none') ? 'no_pose' : 'no_roll');
  return skipped.includes('surface') ? say('no_time_to_measure') : '';
}

// The fruit's size and how much of it was seen, or why that is not known.
export function sayMeasures(verdict) {
  const measures = measuresOf(verdict);
  return measures ? say('measured', millimetres(measures.diameter_mm), millimetres(measures.length_mm), percent(measures.coverage))
    : sayUnmeasured(verdict);
}

// "3 rot, 51.5 mm²": defects of the fruit, each once, where it was measured; else of all pictures.
function foundOf(verdict, name, total) {
  const measure = measuresOf(verdict)?.classes[name];
  return measure ? `${number(measure.count)} ${name}, ${squareMillimetres(measure.area_mm2)}`
    : `${number(total.count)} ${name}, ${squarePixels(total.area_px)}`;
}

// The classes that were found, a colour beside each.
export function listFound(verdict, colours) {
  const list = make('ul', { class: 'found' });
  for (const [name, total] of Object.entries(verdict.totals).filter(([, one]) => one.count > 0)) {
    const swatch = makeSvg('svg', { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' });
    swatch.append(makeSvg('rect', { width: 10, height: 10, fill: colours.get(name) }));
    list.append(make('li', {}, swatch, ` ${foundOf(verdict, name, total)}`));
  }
  return list;
}
