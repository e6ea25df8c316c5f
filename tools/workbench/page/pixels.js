// From values to colours: what cernita-apply writes as PNG, computed here.

// The picture's values with what shows them. `values` has all planes, one after the other.
export class Planes {
  constructor(picture, values) {
    this.picture = picture;
    this.values = values;
    this.size = picture.width * picture.height;
  }

  plane(index) {
    return this.values.subarray(index * this.size, (index + 1) * this.size);
  }

  at(plane, x, y) {
    return this.values[plane * this.size + y * this.picture.width + x];
  }
}

// Of the finite values; null if there is none.
export function rangeOf(values) {
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? { min, max } : null;
}

function halfToEven(value) {
  const below = Math.floor(value);
  const over = value - below;
  if (over !== 0.5) return over < 0.5 ? below : below + 1;
  return below % 2 ? below + 1 : below;
}

// As crn_map_linear: in double, then f32, then rounded half to even and saturated.
function greyOf(value, min, scale) {
  const grey = Math.fround(Number.isNaN(value) ? 0 : scale > 0 ? (value - min) * scale : 128);
  return grey >= 0 ? halfToEven(Math.min(grey, 255)) : 0; // 0 * Infinity is not a number either
}

function scaleOf({ min, max }) {
  return max > min ? 255 / (max - min) : 0;
}

// The bytes of one plane in grey, all planes on one scale.
function greysOf(planes, index) {
  const values = planes.plane(index);
  if (planes.picture.type === 'u8') return values;
  planes.range = planes.range || rangeOf(planes.values) || { min: 0, max: 0 };
  const scale = scaleOf(planes.range);
  return Uint8Array.from(values, (value) => greyOf(value, planes.range.min, scale));
}

function pictureOf({ width, height }, red, green, blue) {
  const rgba = new Uint8ClampedArray(width * height * 4);
  for (let i = 0; i < width * height; i += 1) {
    rgba[4 * i] = red[i];
    rgba[4 * i + 1] = green[i];
    rgba[4 * i + 2] = blue[i];
    rgba[4 * i + 3] = 255;
  }
  return { width, height, rgba };
}

export function showGrey(planes, index) {
  const grey = greysOf(planes, index);
  return pictureOf(planes.picture, grey, grey, grey);
}

// Three planes from `first` on as red, green, blue.
export function showColour(planes, first) {
  return pictureOf(planes.picture, greysOf(planes, first), greysOf(planes, first + 1), greysOf(planes, first + 2));
}

// A picture's first `count` planes: three in colour, otherwise the first in grey.
export function toRgba(picture, values, count) {
  const planes = new Planes(picture, values);
  return (count === 3 && picture.samples === 3 ? showColour(planes, 0) : showGrey(planes, 0));
}

// --- Haar ---

// As crn_map_quadrants: the differences of each level, then the averages. `name` is the key of its words.
export function quadrantsOf(width, height, levels) {
  const quadrants = [];
  let [right, bottom] = [width, height];
  for (let level = 1; level <= levels; level += 1) {
    const left = right - Math.floor(right / 2);
    const top = bottom - Math.floor(bottom / 2);
    quadrants.push({ name: 'haar_horizontal', level, x: left, y: 0, width: right - left, height: top });
    quadrants.push({ name: 'haar_vertical', level, x: 0, y: top, width: left, height: bottom - top });
    quadrants.push({ name: 'haar_diagonal', level, x: left, y: top, width: right - left, height: bottom - top });
    [right, bottom] = [left, top];
  }
  quadrants.push({ name: 'haar_averages', level: levels, x: 0, y: 0, width: right, height: bottom });
  return quadrants.filter((part) => part.width > 0 && part.height > 0);
}

export function quadrantAt(quadrants, x, y) {
  return quadrants.find((part) => x >= part.x && y >= part.y && x < part.x + part.width && y < part.y + part.height);
}

// The quadrant's range in all planes. Differences: 0 becomes 128, and the largest magnitude fits.
function quadrantRange(planes, part) {
  let range = null;
  for (let plane = 0; plane < planes.picture.planes; plane += 1) {
    for (let y = part.y; y < part.y + part.height; y += 1) {
      const row = plane * planes.size + y * planes.picture.width + part.x;
      const own = rangeOf(planes.values.subarray(row, row + part.width));
      if (own) range = range ? { min: Math.min(range.min, own.min), max: Math.max(range.max, own.max) } : own;
    }
  }
  if (!range) range = { min: 0, max: 0 };
  if (part.name === 'haar_averages') return range;
  const largest = Math.max(Math.abs(range.min), Math.abs(range.max));
  return { min: Math.fround(-largest * Math.fround(128 / 127)), max: largest };
}

export function showHaar(planes, index, levels) {
  const { width, height } = planes.picture;
  const values = planes.plane(index);
  const grey = new Uint8Array(width * height);
  for (const part of quadrantsOf(width, height, levels)) {
    const range = quadrantRange(planes, part);
    const scale = scaleOf(range);
    for (let y = part.y; y < part.y + part.height; y += 1) {
      for (let x = part.x; x < part.x + part.width; x += 1) {
        grey[y * width + x] = greyOf(values[y * width + x], range.min, scale);
      }
    }
  }
  return pictureOf(planes.picture, grey, grey, grey);
}

// --- ranklets ---

export const RANKLET_RED = [255, 60, 40];
export const RANKLET_BLUE = [50, 120, 255];

// From -1 (blue) over nothing to 1 (red).
export function showRanklet(planes, index) {
  const { width, height } = planes.picture;
  const rgba = new Uint8ClampedArray(width * height * 4);
  planes.plane(index).forEach((value, i) => {
    rgba.set(value > 0 ? RANKLET_RED : RANKLET_BLUE, 4 * i);
    rgba[4 * i + 3] = 255 * Math.min(Math.abs(value), 1);
  });
  return { width, height, rgba };
}

// Sizes of the windows that "4,8x16" names, or that a pyramid has, as cernita-apply counts them.
export function windowsOf({ windows, pyramid, square }, { width, height }) {
  if (!pyramid) {
    return String(windows || '').split(',').map((text) => text.trim().split('x').map(Number))
      .map(([across, down]) => ({ width: across, height: down === undefined ? across : down }));
  }
  const power = (side) => 2 ** Math.floor(Math.log2(Math.max(side, 1)));
  let [across, down] = [power(width), power(height)];
  if (square) across = down = Math.min(across, down);
  const list = [];
  for (; across >= 2 && down >= 2; across /= 2, down /= 2) list.push({ width: across, height: down });
  return list;
}

// --- contours ---

// tools/common/drawing/palette.c, in its order.
export const PALETTE = ['#ff5252', '#33ccff', '#ffc71a', '#47e680', '#c28fff', '#ff8c33',
  '#ff7acc', '#1ad1bd', '#ccff66', '#7aa3ff', '#e0ad80', '#fafa9e'];

export function lengthOf({ points, closed }) {
  let sum = 0;
  for (let i = 1; i < points.length; i += 1) {
    sum += Math.hypot(points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1]);
  }
  const [first, last] = [points[0], points[points.length - 1]];
  return closed ? sum + Math.hypot(first[0] - last[0], first[1] - last[1]) : sum;
}

// By the shoelace formula; an open contour counts as closed by a straight line.
export function areaOf({ points }) {
  let twice = 0;
  points.forEach(([x, y], i) => {
    const [nextX, nextY] = points[(i + 1) % points.length];
    twice += x * nextY - nextX * y;
  });
  return Math.abs(twice) / 2;
}

function distanceTo(x, y, [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const all = dx * dx + dy * dy;
  const share = all > 0 ? Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / all, 0), 1) : 0;
  return Math.hypot(x - ax - share * dx, y - ay - share * dy);
}

function boxOf(contour) {
  if (!contour.box) {
    const xs = contour.points.map((point) => point[0]);
    const ys = contour.points.map((point) => point[1]);
    const of = (list, f) => list.reduce((a, b) => f(a, b));
    contour.box = [of(xs, Math.min), of(ys, Math.min), of(xs, Math.max), of(ys, Math.max)];
  }
  return contour.box;
}

// The contour within `reach` of the place that is nearest to it, or null.
export function nearestContour(contours, x, y, reach) {
  let nearest = null;
  let least = reach;
  for (const contour of contours) {
    const [left, top, right, bottom] = boxOf(contour);
    if (x < left - least || x > right + least || y < top - least || y > bottom + least) continue;
    for (let i = 1; i < contour.points.length; i += 1) {
      const distance = distanceTo(x, y, contour.points[i - 1], contour.points[i]);
      if (distance <= least) [least, nearest] = [distance, contour];
    }
  }
  return nearest;
}
