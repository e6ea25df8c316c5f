// The outlines that a chain finds, over the photograph or a class's map.
import { make, setText } from '../frame.js';
import { figure, say } from '../words.js';
import { planesOf } from '../api.js';
import { drawSwiped } from '../compare/compare.js';
import { drawStyled, trace } from '../compare/outlines.js';
import { PALETTE, toRgba } from '../pixels.js';
import { Viewer } from '../viewer.js';

const LATENCIES_MAX = 500;

export const classColour = (plane) => PALETTE[plane % PALETTE.length];

// Two paths a class, of its outlines and its holes: the fewer, the faster they are drawn.
function makePaths(defects) {
  const paths = new Map();
  for (const defect of defects) {
    if (!paths.has(defect.plane)) paths.set(defect.plane, { outlines: new Path2D(), holes: new Path2D() });
    const { outlines, holes } = paths.get(defect.plane);
    trace(defect.hole ? holes : outlines, defect.xy, defect.closed);
  }
  return paths;
}

function isInside({ bbox, xy }, x, y) {
  if (x < bbox[0] || y < bbox[1] || x > bbox[2] || y > bbox[3]) return false;
  let inside = false;
  for (let i = 0, j = xy.length - 2; i < xy.length; j = i, i += 2) {
    const crosses = (xy[i + 1] > y) !== (xy[j + 1] > y);
    if (crosses && x < ((xy[j] - xy[i]) * (y - xy[i + 1])) / (xy[j + 1] - xy[i + 1]) + xy[i]) inside = !inside;
  }
  return inside;
}

function quantileOf(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

export class ChainPicture {
  constructor() {
    this.latencies = []; // ms from a level's input to its outlines, the last ones
    this.defects = [];
    this.paths = new Map();
    this.ondrawn = null; // of whenDrawn()
    this.since = null; // when the input came whose outlines are to be drawn next
    this.compared = null; // the Compare mode's, while it has an A
    this.figure = make('figure');
    this.hover = make('p', { class: 'note chain-hover' }, say('chain_hover'));
    this.legend = make('ul', { class: 'found', 'aria-label': say('chain_legend') });
    this.latency = make('p', { class: 'note' }, say('chain_latency_none'));
    this.element = make('div', {}, this.figure, this.hover, this.legend, this.latency);
    this.viewer = new Viewer(this.figure);
    this.viewer.canvas.setAttribute('aria-label', say('chain_picture'));
    this.viewer.overlay = (context, transform) => this.draw(context, transform);
    this.viewer.onhover = (x, y) => setText(this.hover, this.describe(x, y));
  }

  // What lies below: all samples of a photograph, or one plane of maps.
  async showGround(picture, plane) {
    const asked = `${picture.id} ${plane}`;
    if (this.shown === asked) return;
    this.shown = asked;
    const count = plane < 0 ? picture.planes : 1;
    const values = await planesOf(picture, Math.max(plane, 0), count);
    if (this.shown !== asked) return; // another one was asked for meanwhile
    this.viewer.canvas.style.aspectRatio = `${picture.width} / ${picture.height}`;
    this.viewer.show(toRgba(picture, values, count));
  }

  // `since`: when the input event came that these are the outlines for; null: not a level's. `only`: the class whose
  // outlines are others than before; null: all.
  showDefects(defects, since, only = null) {
    this.defects = defects;
    if (only === null) this.paths = makePaths(defects);
    else {
      const paths = makePaths(defects.filter(({ plane }) => plane === only)).get(only);
      if (paths) this.paths.set(only, paths);
      else this.paths.delete(only);
    }
    this.since = since;
    this.viewer.redraw();
  }

  // What is compared with the outlines, a Compare; without an A they are shown alone.
  setCompared(compare) {
    const { a } = compare;
    if (a !== this.compared?.a) this.pathsOfA = a && makePaths(a.answer.defects);
    this.compared = a && compare;
    this.viewer.redraw();
  }

  draw(context, { scale, x, y }) {
    const { view, share, found } = this.compared || { view: 'b' };
    const outlinesOf = (some) => () => this.drawOutlines(context, scale, some);
    context.save();
    context.translate(x, y);
    context.scale(scale, scale);
    if (view === 'differences') drawStyled(context, scale, found.paths);
    else if (view === 'swipe') drawSwiped(context, scale, this.viewer.shown, share, outlinesOf(this.pathsOfA), outlinesOf(this.paths));
    else this.drawOutlines(context, scale, view === 'a' ? this.pathsOfA : this.paths);
    context.restore();
    if (this.since !== null) this.measure();
  }

  drawOutlines(context, scale, paths) {
    context.lineWidth = 1.8 / scale;
    for (const [plane, { outlines, holes }] of paths) {
      context.strokeStyle = classColour(plane);
      context.setLineDash([]);
      context.stroke(outlines);
      context.setLineDash([4 / scale, 3 / scale]);
      context.stroke(holes);
    }
    context.setLineDash([]);
  }

  // After the next frame with a level's outlines, or after so many ms without one.
  whenDrawn(most) {
    return new Promise((resolve) => {
      setTimeout(resolve, most);
      this.ondrawn = resolve;
    });
  }

  // The viewer draws within requestAnimationFrame, and the outlines last: this is the frame's end.
  measure() {
    if (this.ondrawn) setTimeout(this.ondrawn); // once the frame is shown
    this.ondrawn = null;
    this.latencies.push(performance.now() - this.since);
    if (this.latencies.length > LATENCIES_MAX) this.latencies.shift();
    this.since = null;
  }

  showLatency() {
    if (this.latencies.length === 0) return;
    const sorted = this.latencies.toSorted((a, b) => a - b);
    setText(this.latency, say('chain_latency', sorted.length, figure(quantileOf(sorted, 0.5)), figure(quantileOf(sorted, 0.95))));
  }

  showLegend(classes, counts) {
    const items = classes.map(({ name, outline }, plane) => {
      if (!outline) return null;
      const swatch = make('span', { class: 'chain-swatch', 'aria-hidden': 'true' });
      swatch.style.background = classColour(plane);
      return make('li', {}, swatch, ` ${name}: ${counts[plane].count}`);
    });
    this.legend.replaceChildren(...items.filter((item) => item));
  }

  // The innermost outline around a point of the picture.
  describe(x, y) {
    if (x === null || x === undefined) return say('chain_hover');
    const shown = this.compared?.view === 'a' ? this.compared.a.answer.defects : this.defects;
    const around = shown.filter((defect) => isInside(defect, x - 0.5, y - 0.5));
    if (around.length === 0) return say('chain_hover_none');
    const inner = around.reduce((a, b) => (b.area_px < a.area_px ? b : a));
    const textures = inner.ranklet.map(({ width, height, ...values }) => (
      say('chain_texture', width, height, figure(values.vertical), figure(values.horizontal), figure(values.diagonal))));
    return [say('chain_defect', inner.class, inner.hole, figure(inner.area_px), figure(inner.perimeter_px), figure(inner.mean_probability)),
      ...textures].join('; ');
  }
}
