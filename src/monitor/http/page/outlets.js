// The outlets, while a sorter reports them: how many fruits went to each in the last minute; and what is wrong with it.
import { byId, make, setText } from './frame.js';
import { updateList } from './lists.js';
import { number, percent, say, sayHelp } from './words.js';

const SEVERITIES = ['critical', 'warning', 'notice']; // worst first

// A fault as a condition of the line has it; the report does not say since when it lasts.
function conditionOf({ id, severity, text }) {
  return {
    id, severity, misjudged: severity === 'critical', values: {},
    what: sayHelp('outlet_faults', id, text), action: sayHelp('outlet_actions', id, ''), details: text,
  };
}

// The event with the sorter's faults among its conditions: a line whose fruits nobody ejects does not sort normally.
export function withSorterFaults(event) {
  const faults = event.sorter?.faults ?? [];
  if (faults.length === 0) return event;
  const conditions = [...event.conditions, ...faults.map(conditionOf)];
  conditions.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  return { ...event, conditions, headline: { ...event.headline, misjudged: conditions.some((one) => one.misjudged) } };
}

function makeOutlet() {
  return make('li', {}, make('span', { class: 'name' }), make('strong'), make('span', { class: 'part', 'aria-hidden': 'true' }, make('span')),
    make('span', { class: 'share' }), make('span', { class: 'all' }));
}

function fillOutlet(element, { name, fruits, per_minute: count }, all) {
  const [label, figure, bar, share, total] = element.children;
  const part = all > 0 ? count / all : 0;
  setText(label, name);
  setText(figure, number(count));
  bar.firstElementChild.style.width = `${100 * part}%`;
  setText(share, percent(part));
  setText(total, say('outlet_total', number(fruits)));
}

export function showOutlets({ sorter }) {
  const outlets = sorter?.outlets ?? [];
  const all = outlets.reduce((sum, one) => sum + one.per_minute, 0);
  byId('outlets').hidden = outlets.length === 0;
  updateList(byId('outlet-list'), outlets, ({ name }) => name, makeOutlet, (element, outlet) => fillOutlet(element, outlet, all));
}
