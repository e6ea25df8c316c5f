// The figures of the overview: throughput, recipe, lot, what was found in the last minute.
import { byId, setText } from './frame.js';
import { showPairs } from './lists.js';
import { figure, number, say } from './words.js';

const CLASSES_SHOWN = 12;

function showClasses(event) {
  const found = Object.entries(event.classes_per_minute);
  const pairs = found.slice(0, CLASSES_SHOWN).map(([name, count]) => [name, number(count)]);
  if (found.length > CLASSES_SHOWN) pairs.push([say('more', found.length - CLASSES_SHOWN), '']);
  byId('no-classes').hidden = pairs.length > 0;
  showPairs(byId('class-list'), pairs);
}

export function showOverview(event) {
  setText(byId('fruits-per-s'), figure(event.verdicts_per_s));
  setText(byId('recipe'), event.recipe || say('no_recipe'));
  setText(byId('lot'), event.lot || '');
  byId('lot-line').hidden = !event.lot;
  byId('recipe').classList.toggle('long', (event.recipe || say('no_recipe')).length > 14);
  showClasses(event);
}
