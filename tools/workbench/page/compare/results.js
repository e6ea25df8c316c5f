// Two results of operators, for a Compare: what they have in common, and how that is drawn.
import { areaOf } from '../pixels.js';
import { figure, number, say } from '../words.js';
import { drawSwiped, mismatch } from './compare.js';
import { drawStyled, matchOutlines } from './outlines.js';
import { matchValues, showDifferences } from './values.js';

function outlineOf({ plane, closed, points }, nameOf) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
  }
  return { plane, class: nameOf(plane), hole: false, closed, xy: points.flat(), bbox: [left, top, right, bottom], area_px: areaOf({ points }) };
}

function haveOneForm({ planes: a }, { planes: b }) {
  return ['width', 'height', 'planes', 'type'].every((name) => a.picture[name] === b.picture[name]);
}

// Of two Outputs; `nameOf`: a plane's name.
export function matchResults(a, b, nameOf) {
  if (a.contours && b.contours) {
    return matchOutlines(...[a, b].map(({ contours }) => contours.map((contour) => outlineOf(contour, nameOf))));
  }
  if (a.planes && b.planes && haveOneForm(a, b)) return matchValues(a.planes, b.planes, nameOf);
  return mismatch(say('compare_mismatch', a.form(), b.form()));
}

// Cold, and warm once that is known.
export function timeCells({ cold, warm }) {
  return warm ? [figure(cold), figure(warm.median), `${figure(warm.min)} – ${figure(warm.max)}`, number(warm.n)] : [figure(cold), '–', '–', '–'];
}

// What lies below what drawOver() draws of a Compare's view: {width, height, rgba}. `ground`: the input's, null without one.
export function groundOf({ a, b, found, view }, ground, choice) {
  const [ofA, ofB] = [a, b].map((output) => output.groundOf(ground, choice));
  if (view === 'a') return ofA;
  if (view !== 'differences' || !found.table || !b.planes) return ofB;
  const { first, count } = b.planesOf(choice);
  const shown = showDifferences(a.planes, b.planes, first, count, found.largest);
  if (!b.window) return shown;
  b.layer = b.layerOf(shown);
  return ground;
}

// `left`: the viewer that shows A.
export function drawOver({ a, b, found, view, share }, context, scale, shown, left) {
  const drawA = () => {
    context.imageSmoothingEnabled = scale < 1;
    if (left.shown) context.drawImage(left.back, 0, 0);
    a.draw(context, scale);
  };
  if (view === 'a') a.draw(context, scale);
  else if (view === 'swipe') drawSwiped(context, scale, shown, share, drawA, () => b.draw(context, scale));
  else if (view === 'differences' && found.paths) drawStyled(context, scale, found.paths);
  else b.draw(context, scale);
}
