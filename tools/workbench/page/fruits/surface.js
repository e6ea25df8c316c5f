// The whole surface of the recorded fruit whose view is chosen, below its bar: the map of its verdict, or how to get one;
// beside it that of the Chain mode's settings, and the difference of both.
import { Refusal, post } from '../api.js';
import { classColour } from '../chain/picture.js';
import { makeButton } from '../controls.js';
import { byId, make, setText } from '../frame.js';
import { drawDifference, drawMap } from '../surface/map.js';
import { listFound, measuresOf, sayMeasures } from '../surface/measures.js';
import { say } from '../words.js';
import { judgeAgain } from './again.js';

// Lines for the line's file, with the values that only the plant knows.
const GEOMETRY = 'geometry:\n  mm_per_px: 0.42\n  roll_deg: 90\n  fruit: {from: photo}';

// Why a verdict has no map.
function explain(verdict) {
  const text = sayMeasures(verdict);
  if (text) return [make('p', { class: 'note' }, text)];
  if (verdict.views_judged === 0) return [make('p', { class: 'note' }, say('surface_late'))];
  return [make('p', { class: 'note' }, say('surface_no_geometry')), make('pre', { tabindex: 0, role: 'region', 'aria-label': 'geometry' }, GEOMETRY)];
}

// Those of the Chain mode; behind them classes that the recordings do not have.
function coloursOf({ totals }, recorded) {
  const names = [...new Set([...recorded, ...Object.keys(totals)])];
  return new Map(names.map((name, i) => [name, classColour(i)]));
}

function drawAgain(verdict, again, fruit, colours) {
  const key = ['before', 'after', 'both'].map((name) => make('li', {}, make('span', { class: `key ${name}`, 'aria-hidden': 'true' }), ` ${say(`surface_${name}`)}`));
  return [make('figure', { id: 'surface-again' }, drawMap(again, colours, fruit.fruit), make('figcaption', {}, make('strong', {}, say('surface_again')))),
    make('figure', { id: 'surface-difference' }, drawDifference(verdict, again, say('surface_difference')),
      make('figcaption', {}, make('strong', {}, say('surface_difference')), make('ul', { class: 'found' }, ...key)))];
}

// Runs it again and draws that into `maps`, beside what is there. `judge` gives the verdict by other settings.
function againBox(verdict, fruit, colours, maps, judge) {
  const status = make('p', { role: 'status' });
  const judged = [...maps.children];
  const button = makeButton(say('surface_run_again'), async () => {
    button.disabled = true;
    setText(status, say('chain_running'));
    try {
      maps.replaceChildren(...judged, ...drawAgain(verdict, await judge(), fruit, colours));
      setText(status, '');
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(status, error.message);
    } finally {
      button.disabled = false;
    }
  });
  button.id = 'surface-run-again';
  return make('div', { class: 'row' }, button, status);
}

function drawVerdict(verdict, fruit, recorded, judge) {
  if (!measuresOf(verdict)) return explain(verdict);
  const colours = coloursOf(verdict, recorded);
  const found = listFound(verdict, colours);
  const outlined = verdict.surface.pose.length > 0;
  const maps = make('div', { class: 'maps' }, make('figure', {}, drawMap(verdict, colours, fruit.fruit),
    make('figcaption', {}, make('strong', {}, say('surface_verdict')), ` ${sayMeasures(verdict)}`)));
  return [maps, found.hasChildNodes() ? found : make('p', { class: 'found' }, say('no_defects')),
  outlined ? againBox(verdict, fruit, colours, maps, () => judge(verdict)) : make('p', { class: 'note' }, say('surface_places'))];
}

export class FruitSurface {
  // `summary`: of what the recordings and verdicts have; `mapsOf(fruit, view)` opens a view; `chainOf` as judgeAgain has it.
  constructor({ summary, mapsOf, chainOf }) {
    Object.assign(this, { summary, mapsOf, chainOf, fruit: null, shown: null });
    this.element = byId('fruit-surface');
    this.body = make('div', {});
    this.element.append(make('summary', {}, say('surface_title')), this.body);
    this.element.addEventListener('toggle', () => this.follow());
  }

  // The picture that was chosen.
  show(picture) {
    this.fruit = picture?.fruit ?? null;
    this.element.hidden = !this.fruit;
    this.follow();
  }

  // The verdict is asked for once it is looked at, and once for all views of a fruit.
  async follow() {
    const { fruit } = this;
    if (!fruit || !this.element.open || fruit.number === this.shown) return;
    this.shown = fruit.number;
    let content;
    try {
      content = await this.contentOf(fruit);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      content = [make('p', { class: 'alert', role: 'alert', lang: 'en' }, error.message)];
    }
    if (fruit.number !== this.shown) return;
    this.body.replaceChildren(...content);
    this.element.dataset.shown = fruit.number; // for tests
  }

  async contentOf(fruit) {
    const { has_verdicts: hasVerdicts, classes, recorded_classes: count } = this.summary();
    if (!hasVerdicts) return [make('p', { class: 'note' }, say('surface_no_source'))];
    if (!fruit.verdict) return [make('p', { class: 'note' }, say('surface_no_verdict'))];
    const { verdict } = await post(`/fruits/verdict?number=${fruit.number}`);
    return drawVerdict(verdict, fruit, classes.slice(0, count), (one) => judgeAgain(one, (view) => this.mapsOf(fruit, view), this.chainOf));
  }
}
