// A fruit's views as pictures: the photograph, if there is one, and the outlines of its defects.
import { figure, say, squarePixels } from '../words.js';
import { make } from '../frame.js';
import { listFound } from '../surface/measures.js';
import { makeSvg } from '../surface/svg.js';

const TAG_SHARE = 1 / 28; // of a picture's width, that its defects' names are high

// Why there are more defects than are shown, or may be; empty: what is shown is all.
export function sayIncomplete(verdict) {
  if (verdict.views_judged === 0) return say('not_judged');
  if (verdict.truncated) return say('defects_cut');
  const found = Object.values(verdict.totals).some((total) => total.count > 0);
  return found && verdict.defects.length === 0 ? say('outlines_not_kept') : '';
}

// "2 healed hail, 1 rot", or why nothing is known of them.
function describeView(verdict, number, defects) {
  const view = verdict.view_states.find((one) => one.view === number);
  if (view && view.state !== 'judged') return say('view_states')[view.state];
  const found = Object.entries(countByClass(defects)).map(([name, total]) => `${total.count} ${name}`).join(', ');
  return found || sayIncomplete(verdict) || say('no_defects');
}

function countByClass(defects) {
  const totals = Object.create(null); // a class may have any name
  for (const defect of defects) {
    if (defect.hole) continue;
    totals[defect.class] = totals[defect.class] || { count: 0 };
    totals[defect.class].count += 1;
  }
  return totals;
}

// Points are at the centres of pixels: 0, 0 is the middle of the first one.
function outline(defect, colour) {
  const path = makeSvg('path', {
    d: `M${defect.xy.map(([x, y]) => `${x} ${y}`).join('L')}${defect.closed ? 'Z' : ''}`,
    class: defect.hole ? 'outline hole' : 'outline',
    stroke: colour,
    'data-class': defect.class,
  });
  const title = makeSvg('title', {});
  title.textContent = `${defect.class}, ${squarePixels(defect.area_px)}, p ${figure(defect.mean_probability)}`;
  path.append(title);
  return path;
}

// One defect of each class, which its name is written beside.
function largestOfEach(defects) {
  const largest = new Map();
  for (const defect of defects) {
    if (!defect.hole && !(largest.get(defect.class)?.area_px >= defect.area_px)) largest.set(defect.class, defect);
  }
  return largest.values();
}

// As large beside a picture's width in every picture, whatever its pixels.
function nameTag(defect, colour, width, height) {
  const [x0, y0, x1, y1] = defect.bbox;
  const size = width * TAG_SHARE;
  const above = y0 > 1.1 * size;
  const atEnd = x0 > width * 0.75;
  const text = makeSvg('text', {
    'font-size': size,
    x: atEnd ? x1 : x0,
    y: above ? y0 - 0.3 * size : Math.min(y1 + size, height - 0.3 * size),
    'text-anchor': atEnd ? 'end' : 'start',
    fill: colour,
    class: 'tag',
  });
  text.textContent = defect.class;
  return text;
}

// Where the view shows the fruit; dashed where it was taken from the other views.
function fruitOutline({ surface }, number) {
  const pose = surface?.pose.find((one) => one.view === number);
  if (!pose || pose.x === null) return [];
  return [makeSvg('ellipse', {
    cx: pose.x, cy: pose.y, rx: pose.rx, ry: pose.ry, class: `fruit-outline ${pose.source}`,
    transform: `rotate(${pose.tilt_deg} ${pose.x} ${pose.y})`,
  })];
}

// One view: `view` and `photos` as in /fruits/….json; the fruit's number as text, as it may have more digits than
// JavaScript's numbers.
export function drawView(data, view, colours, fruit) {
  const { width_px: width, height_px: height } = view;
  const defects = data.verdict.defects.filter((defect) => defect.view === view.view);
  const svg = makeSvg('svg', {
    viewBox: `-0.5 -0.5 ${width} ${height}`,
    class: 'view',
    role: 'img',
    'aria-label': say('picture', fruit, view.view, describeView(data.verdict, view.view, defects)),
  });
  svg.append(makeSvg('rect', { x: -0.5, y: -0.5, width, height, class: 'ground' }));
  if (view.y_px !== null) {
    const frame = makeSvg('svg', { x: -0.5, y: -0.5, width, height, viewBox: `0 ${view.y_px} ${width} ${height}` });
    const all = data.views.filter((one) => one.y_px !== null);
    frame.append(makeSvg('image', {
      href: `/photos/${data.photos}`,
      width: Math.max(...all.map((one) => one.width_px)),
      height: Math.max(...all.map((one) => one.y_px + one.height_px)),
      preserveAspectRatio: 'none',
    }));
    svg.append(frame);
  }
  svg.append(...fruitOutline(data.verdict, view.view));
  for (const defect of defects) svg.append(outline(defect, colours.get(defect.class)));
  for (const defect of largestOfEach(defects)) svg.append(nameTag(defect, colours.get(defect.class), width, height));
  return svg;
}

// What was found, a colour beside each class, and whether there may be more.
export function legend(verdict, colours) {
  const list = listFound(verdict, colours);
  const incomplete = sayIncomplete(verdict);
  if (!list.hasChildNodes()) return make('p', { class: 'found' }, incomplete || say('no_defects'));
  if (incomplete) list.append(make('li', {}, incomplete));
  return list;
}
