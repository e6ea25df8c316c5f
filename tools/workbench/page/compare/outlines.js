// Two sets of outlines of one picture, A and B: what is in one of them, what in both, and how they are drawn.
//
// An outline: {plane, class, hole, closed, xy: [x0, y0, x1, …], bbox: [left, top, right, bottom], area_px}.
import { tableRow } from '../controls.js';
import { make } from '../frame.js';
import { figure, number, say } from '../words.js';

// Of two boxes, the least share of their common area that makes their outlines the same defect's.
const SHARE_MIN = 0.25;

// Not said by colour alone: A's are dashed, and what only one of them has is drawn wide.
const STYLES = {
  same: { colour: '#ffffff', width: 1.4, dash: [] },
  changed_a: { colour: '#ffc71a', width: 1.4, dash: [5, 4] },
  changed_b: { colour: '#33ccff', width: 1.4, dash: [] },
  only_a: { colour: '#ffc71a', width: 3.6, dash: [7, 4] },
  only_b: { colour: '#33ccff', width: 3.6, dash: [] },
};

const sizeOf = ([left, top, right, bottom]) => Math.max(right - left, 1e-9) * Math.max(bottom - top, 1e-9);

// What two boxes share of all that they cover.
function shareOf(one, other) {
  const width = Math.min(one[2], other[2]) - Math.max(one[0], other[0]);
  const height = Math.min(one[3], other[3]) - Math.max(one[1], other[1]);
  if (width < 0 || height < 0) return 0;
  const common = Math.max(width, 1e-9) * Math.max(height, 1e-9);
  return common / (sizeOf(one) + sizeOf(other) - common);
}

const isSame = (a, b) => a.closed === b.closed && a.xy.length === b.xy.length && a.xy.every((value, i) => value === b.xy[i]);

function groupBy(list, keyOf) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

const kindOf = ({ plane, hole }) => `${plane} ${hole}`;

// Takes out of both sets what is the same point by point.
function takeSame(a, b) {
  const startOf = (one) => `${kindOf(one)} ${one.xy.length} ${one.xy[0]} ${one.xy[1]}`;
  const waiting = groupBy(b, startOf);
  const same = [];
  const restA = a.filter((one) => {
    const list = waiting.get(startOf(one)) || [];
    const at = list.findIndex((other) => isSame(one, other));
    if (at >= 0) same.push([one, list.splice(at, 1)[0]]);
    return at < 0;
  });
  return { same, restA, restB: [...waiting.values()].flat() };
}

// The index of the first of a list, sorted by their boxes' left sides, that begins at x or right of it.
function firstFrom(list, x) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].bbox[0] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Those of the sorted list whose boxes share enough with that of `one`: a box that is wider than 1 / SHARE_MIN of it cannot.
function partnersOf(one, sorted) {
  const [left, , right] = one.bbox;
  const partners = [];
  for (let i = firstFrom(sorted, left - Math.max(right - left, 1e-9) / SHARE_MIN); i < sorted.length && sorted[i].bbox[0] <= right; i += 1) {
    const share = shareOf(one.bbox, sorted[i].bbox);
    if (share >= SHARE_MIN) partners.push({ one, other: sorted[i], share });
  }
  return partners;
}

// Pairs what overlaps most first.
function takeChanged(a, b) {
  const ofB = groupBy(b.toSorted((one, other) => one.bbox[0] - other.bbox[0]), kindOf);
  const candidates = a.flatMap((one) => partnersOf(one, ofB.get(kindOf(one)) || []));
  candidates.sort((x, y) => y.share - x.share);
  const [usedA, usedB] = [new Set(), new Set()];
  const changed = [];
  for (const { one, other } of candidates) {
    if (usedA.has(one) || usedB.has(other)) continue;
    usedA.add(one);
    usedB.add(other);
    changed.push([one, other]);
  }
  return { changed, onlyA: a.filter((one) => !usedA.has(one)), onlyB: b.filter((one) => !usedB.has(one)) };
}

// {same, changed: pairs [of A, of B], onlyA, onlyB}.
function compareOutlines(a, b) {
  const { same, restA, restB } = takeSame(a, b);
  return { same, ...takeChanged(restA, restB) };
}

// By plane, in its order: {plane, same, changed, onlyA, onlyB, areaA, areaB}: counts, and areas less holes.
function countByPlane(compared, a, b) {
  const rows = new Map();
  const row = (plane) => {
    if (!rows.has(plane)) rows.set(plane, { plane, same: 0, changed: 0, onlyA: 0, onlyB: 0, areaA: 0, areaB: 0 });
    return rows.get(plane);
  };
  for (const name of ['same', 'changed']) for (const [{ plane }] of compared[name]) row(plane)[name] += 1;
  for (const name of ['onlyA', 'onlyB']) for (const { plane } of compared[name]) row(plane)[name] += 1;
  for (const [name, list] of [['areaA', a], ['areaB', b]]) {
    for (const { plane, hole, area_px: area } of list) row(plane)[name] += hole ? -area : area;
  }
  return [...rows.values()].sort((one, other) => one.plane - other.plane);
}

// Points are at the centres of pixels, which the viewer counts from their corners.
export function trace(path, xy, closed) {
  for (let i = 0; i + 1 < xy.length; i += 2) {
    if (i === 0) path.moveTo(xy[0] + 0.5, xy[1] + 0.5);
    else path.lineTo(xy[i] + 0.5, xy[i + 1] + 0.5);
  }
  if (closed) path.lineTo(xy[0] + 0.5, xy[1] + 0.5); // closePath() is slow where there are thousands
}

// One path for each style: the fewer, the faster they are drawn.
function differencePaths({ same, changed, onlyA, onlyB }) {
  const lists = { same: same.map(([, one]) => one), changed_a: changed.map(([one]) => one), changed_b: changed.map(([, one]) => one),
    only_a: onlyA, only_b: onlyB };
  return Object.entries(lists).map(([name, list]) => {
    const path = new Path2D();
    for (const { xy, closed } of list) trace(path, xy, closed);
    return { ...STYLES[name], path };
  });
}

// Strokes paths of a style on the viewer's picture, black below so that they are seen on any ground.
export function drawStyled(context, scale, paths) {
  for (const { path, colour, width, dash } of paths) {
    for (const [ink, more] of [['#000', 1.6], [colour, 0]]) {
      context.strokeStyle = ink;
      context.lineWidth = (width + more) / scale;
      context.setLineDash(dash.map((length) => length / scale));
      context.stroke(path);
    }
  }
  context.setLineDash([]);
}

function lineOf(name) {
  const { colour, width, dash } = STYLES[name];
  const line = make('span', { class: 'compare-line', 'aria-hidden': 'true' });
  line.style.setProperty('--line', `${Math.max(width, 2)}px ${dash.length > 0 ? 'dashed' : 'solid'} ${colour}`);
  return line;
}

function countsTable(compared, a, b) {
  const names = new Map([...a, ...b].map((one) => [one.plane, one.class]));
  return { caption: say('compare_counts'),
    head: ['class', 'same', 'changed', 'only_a', 'only_b', 'area_a', 'area_b'].map((name) => say(`compare_col_${name}`)),
    rows: countByPlane(compared, a, b).map((row) => tableRow(names.get(row.plane), ...[row.same, row.changed, row.onlyA, row.onlyB].map(number),
      figure(row.areaA), figure(row.areaB))) };
}

// What a Compare tells of two sets of outlines, and the paths of their differences.
export function matchOutlines(a, b) {
  const compared = compareOutlines(a, b);
  const identical = a.length === b.length && compared.same.length === a.length && JSON.stringify(a) === JSON.stringify(b);
  const { same, changed, onlyA, onlyB } = compared;
  return { identical,
    told: identical ? say('compare_identical', b.length) : say('compare_different', compared),
    legend: [['same', same], ['changed_a', changed], ['only_a', onlyA], ['only_b', onlyB]].map(([name, { length }]) => (
      [lineOf(name), name === 'changed_a' ? lineOf('changed_b') : '', ` ${say(`compare_${name}`, length)}`])),
    table: countsTable(compared, a, b),
    paths: differencePaths(compared) };
}
