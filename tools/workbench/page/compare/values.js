// The values of two pictures of one size, A and B: how many differ, by how much, and where.
import { tableRow } from '../controls.js';
import { make } from '../frame.js';
import { showGrey } from '../pixels.js';
import { figure, number, say } from '../words.js';

export const COLOURS = { more_a: [255, 199, 26], more_b: [51, 204, 255], no_number: [255, 0, 255] };

// What is equal is drawn in grey and dark, and the least difference still seen.
const DARK = 0.35;
const LEAST = 0.45;

const isEqual = (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b));

// By plane: {plane, size, equal, more_a, more_b, no_number (in A or B alone, or without a finite difference), largest, mean:
// of the finite differences of all values, null where there is none}.
export function countDifferences(a, b) {
  return Array.from({ length: a.picture.planes }, (_, plane) => {
    const [ofA, ofB] = [a.plane(plane), b.plane(plane)];
    const row = { plane, size: a.size, equal: 0, more_a: 0, more_b: 0, no_number: 0, largest: null, mean: null };
    let sum = 0;
    for (let i = 0; i < row.size; i += 1) {
      const more = ofA[i] - ofB[i];
      if (isEqual(ofA[i], ofB[i])) row.equal += 1;
      else if (!Number.isFinite(more)) row.no_number += 1;
      else {
        row[more > 0 ? 'more_a' : 'more_b'] += 1;
        sum += Math.abs(more);
        if (!(row.largest >= Math.abs(more))) row.largest = Math.abs(more);
      }
    }
    if (row.size > row.no_number) row.mean = sum / (row.size - row.no_number);
    return row;
  });
}

function swatch(name) {
  const mark = make('span', { class: 'chain-swatch', 'aria-hidden': 'true' });
  mark.style.background = `rgb(${COLOURS[name]})`;
  return mark;
}

const orNone = (value) => (value === null ? '–' : figure(value));

// What a Compare tells of two pictures; `nameOf`: a plane's name.
export function matchValues(a, b, nameOf) {
  const rows = countDifferences(a, b);
  const sum = (name) => rows.reduce((all, row) => all + row[name], 0);
  const [all, equal] = [sum('size'), sum('equal')];
  const largest = rows.reduce((most, row) => (row.largest > most ? row.largest : most), 0);
  const columns = ['differing', 'more_a', 'more_b', 'largest', 'mean'];
  return { identical: equal === all,
    told: equal === all ? say('compare_values_identical', number(all))
      : say('compare_values_different', number(all - equal), number(all), figure((100 * (all - equal)) / all), largest > 0 ? figure(largest) : null),
    legend: [[say('compare_values_equal', number(equal))], ...['more_a', 'more_b', 'no_number'].filter((name) => name !== 'no_number' || sum(name) > 0)
      .map((name) => [swatch(name), ` ${say(`compare_${name}`, number(sum(name)))}`])],
    table: { caption: say('compare_values'), head: ['plane', ...columns].map((name) => say(`compare_col_${name}`)),
      rows: rows.map((row) => tableRow(nameOf(row.plane), number(row.size - row.equal), number(row.more_a), number(row.more_b),
        orNone(row.largest ?? (row.no_number > 0 ? null : 0)), orNone(row.mean))) },
    largest };
}

// Where planes `first` to first + count - 1 differ, over B in grey; a pixel's colour is that of its largest difference.
export function showDifferences(a, b, first, count, largest) {
  const shown = showGrey(b, first);
  const { rgba } = shown;
  for (let i = 0; i < a.size; i += 1) {
    let name = '';
    let most = 0;
    for (let plane = first; plane < first + count; plane += 1) {
      const [valueA, valueB] = [a.values[plane * a.size + i], b.values[plane * a.size + i]];
      const more = valueA - valueB;
      if (isEqual(valueA, valueB)) continue;
      if (!Number.isFinite(more)) [name, most] = ['no_number', Infinity];
      else if (Math.abs(more) > most) [name, most] = [more > 0 ? 'more_a' : 'more_b', Math.abs(more)];
    }
    const strength = name ? LEAST + (1 - LEAST) * Math.min(most / largest, 1) : 0;
    for (let k = 0; k < 3; k += 1) {
      const dark = rgba[4 * i + k] * DARK;
      rgba[4 * i + k] = name ? dark + (COLOURS[name][k] - dark) * strength : dark;
    }
  }
  return shown;
}
