// The last fruits, a card each, with their views; and those that were judged badly.
import { byId, make, setText } from './frame.js';
import { drawView, legend } from './fruit/picture.js';
import { classColours } from './surface/measures.js';
import { updateList } from './lists.js';
import { milliseconds, say, timeOfDay } from './words.js';

const VIEWS_SHOWN = 4;

// As text: it may have more digits than JavaScript's numbers.
export function fruitNumber(name) {
  return name.split('/')[2];
}

// --- cards ---

// By name; an entry is null while it is being loaded.
const cards = new Map();

function makeCard(name, data) {
  const { verdict } = data;
  const colours = classColours(verdict);
  const title = make('a', { href: `/fruits/${name}` }, say('fruit_name', verdict.lane, fruitNumber(name)));
  const facts = `${say('kinds')[verdict.verdict]}, ${milliseconds(verdict.latency_ms.total)}`;
  const card = make('article', { 'data-fruit': name, 'data-verdict': verdict.verdict },
    make('h3', {}, title), make('p', { class: 'facts' }, facts));
  for (const view of data.views.slice(0, VIEWS_SHOWN)) card.append(drawView(data, view, colours, fruitNumber(name)));
  const more = data.views.length - VIEWS_SHOWN;
  if (more > 0) card.append(make('p', { class: 'facts' }, say('more_views', more)));
  card.append(legend(verdict, colours));
  return card;
}

let wanted = []; // names

function arrangeCards() {
  const loaded = wanted.filter((name) => cards.get(name));
  updateList(byId('fruit-list'), loaded, (name) => name, (name) => cards.get(name), () => {});
  byId('no-fruits').hidden = loaded.length > 0;
}

async function loadCard(name) {
  cards.set(name, null);
  try {
    const answer = await fetch(`/fruits/${name}.json`);
    if (!answer.ok) return;
    const card = makeCard(name, await answer.json());
    if (cards.has(name)) cards.set(name, card);
    arrangeCards();
  } catch {
    cards.delete(name); // tried again with the next event
  }
}

export function showFruits(event) {
  wanted = event.shown;
  for (const name of cards.keys()) if (!wanted.includes(name)) cards.delete(name);
  for (const name of wanted) if (!cards.has(name)) loadCard(name);
  arrangeCards();
}

// --- the list of fruits that were late, partial or over budget ---

function makeRow(fruit) {
  const words = fruit.verdict === 'complete' ? [] : [say('kinds')[fruit.verdict]];
  if (fruit.over_budget) words.push(say('over_budget'));
  const link = make('a', { href: `/fruits/${fruit.name}` }, say('fruit_name', fruit.lane, fruitNumber(fruit.name)));
  return make('tr', {}, make('td'), make('td', {}, link), make('td', {}, words.join(', ')),
    make('td', {}, say('of', fruit.views_judged, fruit.views_expected || '?')),
    make('td', {}, milliseconds(fruit.latency_ms)));
}

export function showBad(event) {
  byId('no-bad').hidden = event.bad.length > 0;
  updateList(byId('bad-list'), event.bad, ({ name }) => name, makeRow,
    (row, fruit) => setText(row.cells[0], timeOfDay(fruit.published_s))); // yesterday's has its date
}
