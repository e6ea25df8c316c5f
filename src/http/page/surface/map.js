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

// What a reader is told of a defect that is pointed at; its class alone where it was not measured.
function titleOf({ class: name, area_mm2: area, length_mm: length, width_mm: width }) {
  const title = makeSvg('title', {});
  title.textContent = area === undefined ? name : say('spot', name, squareMillimetres(area), figure(length), figure(width));
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

// Where each view's strip is: how far its middle is shifted. One at the map's end goes on at its other end.
function stripsOf(surface, shape) {
  const round = 2 * Math.PI * shape.a;
  return surface.pose.filter((one) => one.from_deg !== null).flatMap((pose) => {
    const middle = -((((pose.roll_deg + 180) % 360) + 360) % 360 - 180) * RAD * shape.a;
    return [-1, 0, 1].map((turn) => ({ pose, turn, shift: middle + turn * round })).filter(({ shift }) => {
      const [from, to] = [pose.from_deg, pose.to_deg].map((degrees) => shift + degrees * RAD * shape.a);
      return to > -round / 2 && from < round / 2;
    });
  });
}

// The defects in one view, within its strip; `colourOf` a class.
function drawFound(verdict, pose, shape, colourOf, clip) {
  const found = makeSvg('g', { 'clip-path': `url(#${clip})` });
  const unroll = unroller(pose, verdict.surface.roll_axis);
  for (const spot of verdict.surface.defects) {
    for (const index of spot.parts.filter((part) => verdict.defects[part]?.view === pose.view)) {
      const path = makeSvg('path', {
        d: outlineOf(verdict.defects, index, unroll, shape), class: 'spot', fill: colourOf(spot.class), 'data-class': spot.class,
      });
      path.append(titleOf(spot));
      found.append(path);
    }
  }
  return found;
}

// All that one view answers for, with its middle at 0; without `colourOf` no defects.
function drawStrip(verdict, pose, shape, colourOf, clip) {
  const [from, to] = [pose.from_deg * RAD, pose.to_deg * RAD];
  const height = shape.along(1);
  const strip = makeSvg('g', { 'data-view': pose.view });
  const frame = makeSvg('clipPath', { id: clip });
  frame.append(makeSvg('rect', { x: shape.a * from, y: -height, width: shape.a * (to - from), height: 2 * height }));
  const name = makeSvg('text', { x: 0, y: height * 0.97, class: 'strip-name', 'font-size': height / 7, 'text-anchor': 'middle' });
  name.textContent = pose.view;
  strip.append(frame, makeSvg('path', { d: seenArea(from, to, shape), class: 'seen' }));
  if (colourOf) strip.append(drawFound(verdict, pose, shape, colourOf, clip));
  strip.append(makeSvg('path', { d: `M${shape.a * from} ${-height}V${height}`, class: 'border' }), name);
  return strip;
}

let maps = 0; // what is clipped names its frame, of which a page may have several

// The map with what views have seen; `colourOf` as above. Returns it with the names of its strips' frames.
function drawViews(verdict, label, colourOf) {
  const shape = spheroidOf(verdict.surface);
  const [round, height] = [2 * Math.PI * shape.a, 2 * shape.along(1)];
  const svg = makeSvg('svg', { viewBox: `${-round / 2} ${-height / 2} ${round} ${height}`, class: 'unrolled', role: 'img', 'aria-label': label });
  svg.append(makeSvg('rect', { x: -round / 2, y: -height / 2, width: round, height, class: 'ground' }));
  maps += 1;
  const map = maps;
  const clipOf = ({ pose, turn }) => `strip-${map}-${pose.view}-${turn + 1}`;
  for (const one of stripsOf(verdict.surface, shape)) {
    const strip = drawStrip(verdict, one.pose, shape, colourOf, clipOf(one));
    strip.setAttribute('transform', `translate(${one.shift} 0)`);
    svg.append(strip);
  }
  return { svg, shape, clipOf };
}

// The map of a fruit that was measured; its middle is what the first view had in front. Defects whose outlines the verdict
// lacks are drawn as circles.
export function drawMap(verdict, colours, fruit) {
  const { surface } = verdict;
  const told = ({ class: name, area_mm2: area }) => (area === undefined ? name : `${name} ${squareMillimetres(area)}`);
  const label = say('map', fruit, surface.defects.map(told).join(', ') || say('no_defects'));
  const { svg, shape } = drawViews(verdict, label, (name) => colours.get(name) ?? 'white'); // of a class that was renamed
  const places = surface.defects.filter(({ parts }) => !parts.some((part) => verdict.defects[part]));
  svg.append(...places.map((spot) => drawPlace(spot, shape, colours)));
  return svg;
}

// Two verdicts with the same poses, on one map: what is a defect in both, only before, and only after, striped (class
// names of the layers: both, before, after). Classes are not told apart.
export function drawDifference(before, after, label) {
  const { svg, shape, clipOf } = drawViews(before, label, null);
  const { x, y, width, height } = svg.viewBox.baseVal;
  const layer = (verdict, name, fill = 'currentColor') => {
    const group = makeSvg('g', { class: name });
    for (const one of stripsOf(before.surface, shape)) {
      const strip = makeSvg('g', { transform: `translate(${one.shift} 0)` });
      strip.append(drawFound(verdict, one.pose, shape, () => fill, clipOf(one)));
      group.append(strip);
    }
    return group;
  };
  const without = (verdict, id) => { // a mask of all but its defects
    const mask = makeSvg('mask', { id, maskUnits: 'userSpaceOnUse', x, y, width, height });
    mask.append(makeSvg('rect', { x, y, width, height, fill: 'white' }), layer(verdict, 'hole'));
    return mask;
  };
  const only = (verdict, name, mask, fill) => {
    const group = makeSvg('g', { mask: `url(#${mask})` });
    group.append(layer(verdict, name, fill));
    return group;
  };
  const [notBefore, notAfter, stripes] = [`not-before-${maps}`, `not-after-${maps}`, `stripes-${maps}`];
  const size = height / 40;
  const pattern = makeSvg('pattern', { id: stripes, class: 'after', patternUnits: 'userSpaceOnUse', width: size, height: size, patternTransform: 'rotate(45)' });
  pattern.append(makeSvg('rect', { width: size, height: size, fill: 'currentColor' }), makeSvg('rect', { width: size / 3, height: size, fill: 'black' }));
  svg.append(pattern, without(before, notBefore), without(after, notAfter), layer(before, 'both'),
    only(before, 'before', notAfter), only(after, 'after', notBefore, `url(#${stripes})`));
  return svg;
}
