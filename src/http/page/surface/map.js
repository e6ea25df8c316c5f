// A fruit's surface, unrolled: longitude to the right, the roll axis upright, in millimetres. It is an equal-area chart
// (of a sphere Lambert's cylindrical projection; stages/surface/README.md): a spot is as large on it as on the fruit.
import { figure, say, squareMillimetres } from '../words.js';
import { makeSvg } from './svg.js';

const SEEN = Math.cos(75 * Math.PI / 180); // what is inclined by more counts as not seen
const RAD = Math.PI / 180;
const STEPS = 48; // of the border of what a view shows

// The fruit as a spheroid: a across the roll axis, c along it.
function spheroidOf({ diameter_mm: diameter, length_mm: length }) {
  const [a, c] = [diameter / 2, length / 2];
  const e = a * a - c * c;
  const root = Math.sqrt(Math.abs(e));
  const along = (v) => { // the integral of √(c² + e·t²) from 0 to v
    if (root < 3e-3 * c) return c * v * (1 + (e / (c * c)) * v * v / 6);
    const x = (root * v) / c;
    return (v * Math.sqrt(c * c + e * v * v) + (c * c / root) * (e > 0 ? Math.asinh(x) : Math.asin(x))) / 2;
  };
  return { a, c, along };
}

// From a pixel of a view to longitude from the view's middle, and height; beyond the fruit's rim, to the rim.
function unroller({ x, y, rx, ry, tilt_deg: tilt }, rollAxis) {
  const [cos, sin] = [Math.cos(tilt * RAD), Math.sin(tilt * RAD)];
  return ([px, py]) => {
    const [alongX, alongY] = [((px - x) * cos + (py - y) * sin) / rx, ((py - y) * cos - (px - x) * sin) / ry];
    const [across, up] = rollAxis === 'x' ? [alongY, alongX] : [alongX, alongY];
    const far = Math.max(1, Math.hypot(across, up));
    const [u, v] = [across / far, up / far];
    return [Math.atan2(u, Math.sqrt(Math.max(0, 1 - u * u - v * v))), v];
  };
}

// The height up to which a meridian is seen, as from far away.
function seenUpTo(lambda, { a, c }) {
  const slope = Math.max(0, (Math.cos(lambda) / SEEN) ** 2 - 1) * (c / a) ** 2;
  return Math.cos(lambda) > 0 ? Math.sqrt(slope / (1 + slope)) : 0;
}

const line = (points) => points.map(([x, y]) => `${x.toFixed(3)} ${y.toFixed(3)}`).join('L');

// What a view shows of its strip.
function seenArea(from, to, shape) {
  const [lo, hi] = [Math.max(from, -75 * RAD), Math.min(to, 75 * RAD)];
  const lambdas = Array.from({ length: STEPS + 1 }, (_, i) => lo + ((hi - lo) * i) / STEPS);
  const top = lambdas.map((lambda) => [shape.a * lambda, -shape.along(seenUpTo(lambda, shape))]);
  return lo < hi ? `M${line([...top, ...top.map(([x, y]) => [x, -y]).reverse()])}Z` : '';
}

// One defect's outline in one view, with its holes.
function outlineOf(defects, index, unroll, shape) {
  const parts = defects.filter((one, i) => i === index || (one.hole && one.parent === index));
  return parts.map(({ xy }) => `M${line(xy.map(unroll).map(([lambda, v]) => [shape.a * lambda, shape.along(v)]))}Z`).join('');
}

// What a reader is told of a defect that is pointed at.
function titleOf({ class: name, area_mm2: area, length_mm: length, width_mm: width }) {
  const title = makeSvg('title', {});
  title.textContent = say('spot', name, squareMillimetres(area), figure(length), figure(width));
  return title;
}

// A defect without an outline: a circle of its area about its middle.
function drawPlace(spot, shape, colours) {
  const circle = makeSvg('circle', {
    cx: shape.a * spot.lambda_deg * RAD, cy: shape.along(spot.v), r: Math.sqrt(spot.area_mm2 / Math.PI),
    class: 'spot place', fill: colours.get(spot.class), 'data-class': spot.class,
  });
  circle.append(titleOf(spot));
  return circle;
}

// All that one view answers for, with its middle at 0.
function drawStrip(verdict, pose, shape, colours, clip) {
  const [from, to] = [pose.from_deg * RAD, pose.to_deg * RAD];
  const height = shape.along(1);
  const strip = makeSvg('g', { 'data-view': pose.view });
  const frame = makeSvg('clipPath', { id: clip });
  frame.append(makeSvg('rect', { x: shape.a * from, y: -height, width: shape.a * (to - from), height: 2 * height }));
  strip.append(frame, makeSvg('path', { d: seenArea(from, to, shape), class: 'seen' }));
  const found = makeSvg('g', { 'clip-path': `url(#${clip})` });
  const unroll = unroller(pose, verdict.surface.roll_axis);
  for (const spot of verdict.surface.defects) {
    for (const index of spot.parts.filter((part) => verdict.defects[part]?.view === pose.view)) {
      const path = makeSvg('path', {
        d: outlineOf(verdict.defects, index, unroll, shape), class: 'spot', fill: colours.get(spot.class), 'data-class': spot.class,
      });
      path.append(titleOf(spot));
      found.append(path);
    }
  }
  const name = makeSvg('text', { x: 0, y: height * 0.97, class: 'strip-name', 'font-size': height / 7, 'text-anchor': 'middle' });
  name.textContent = pose.view;
  strip.append(found, makeSvg('path', { d: `M${shape.a * from} ${-height}V${height}`, class: 'border' }), name);
  return strip;
}

// The map of a fruit that was measured; its middle is what the first view had in front. Defects whose outlines the verdict
// lacks are drawn as circles.
export function drawMap(verdict, colours, fruit) {
  const { surface } = verdict;
  const shape = spheroidOf(surface);
  const [round, height] = [2 * Math.PI * shape.a, 2 * shape.along(1)];
  const spots = surface.defects.map((spot) => `${spot.class} ${squareMillimetres(spot.area_mm2)}`).join(', ');
  const svg = makeSvg('svg', {
    viewBox: `${-round / 2} ${-height / 2} ${round} ${height}`, class: 'unrolled', role: 'img',
    'aria-label': say('map', fruit, spots || say('no_defects')),
  });
  svg.append(makeSvg('rect', { x: -round / 2, y: -height / 2, width: round, height, class: 'ground' }));
  for (const pose of surface.pose.filter((one) => one.from_deg !== null)) {
    const middle = -((((pose.roll_deg + 180) % 360) + 360) % 360 - 180) * RAD * shape.a;
    for (const turn of [-1, 0, 1]) { // a strip at the map's end goes on at its other end
      const [from, to] = [pose.from_deg, pose.to_deg].map((degrees) => middle + turn * round + degrees * RAD * shape.a);
      if (to <= -round / 2 || from >= round / 2) continue;
      const strip = drawStrip(verdict, pose, shape, colours, `strip-${pose.view}-${turn + 1}`);
      strip.setAttribute('transform', `translate(${middle + turn * round} 0)`);
      svg.append(strip);
    }
  }
  const places = surface.defects.filter(({ parts }) => !parts.some((part) => verdict.defects[part]));
  svg.append(...places.map((spot) => drawPlace(spot, shape, colours)));
  return svg;
}
