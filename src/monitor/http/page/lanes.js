// The lanes, each in its place by its number: grey while nothing is wrong with it.
import { SYMBOLS, byId, make, setText } from './frame.js';
import { levelOf, shortText } from './conditions.js';
import { updateList } from './lists.js';
import { few, say } from './words.js';

const RATE_S = 10; // over which a lane's rate is taken
const FEW = 4, SOME = 12, MANY = 32; // lanes: up to these, tiles are large, not yet small, and small

const numbers = new Set(); // seen since the page was opened: a lane keeps its place
const history = []; // [{now_s, verdicts by lane}] of the last RATE_S

function countVerdicts({ verdicts }) {
  return verdicts.complete + verdicts.partial + verdicts.late;
}

function noteCounts(event) {
  const last = history[history.length - 1];
  if (last && (event.now_s < last.now_s || event.run !== last.run)) history.length = 0; // another start of the daemon
  history.push({ now_s: event.now_s, run: event.run, counts: new Map(event.lanes.map((lane) => [lane.lane, countVerdicts(lane)])) });
  while (history.length > 2 && event.now_s - history[0].now_s > RATE_S) history.shift();
}

// Fruits per second of a lane; null: not known yet.
function rateOf(number) {
  const [first] = history;
  const last = history[history.length - 1];
  const passed = last.now_s - first.now_s;
  const count = last.counts.get(number) - (first.counts.get(number) ?? NaN);
  return passed > 0 && count >= 0 ? count / passed : null;
}

// What is said of a lane that no condition names. While the whole line misjudges, none is normal.
function wordOf(lane, event) {
  if (!lane) return 'lane_gone';
  if (lane.state === 'silent') return 'lane_idle';
  return event.conditions.some((one) => one.misjudged && one.lane === undefined) ? 'lane_runs' : 'lane_normal';
}

// {number, level, text, word, rate} of a lane; `word` is what a small tile has room for.
function stateOf(number, event) {
  const lane = event.lanes.find((one) => one.lane === number);
  const condition = event.conditions.find((one) => one.lane === number); // the worst comes first
  const rate = lane ? rateOf(number) : null;
  if (condition) {
    return { number, level: levelOf(condition), text: shortText(condition), word: say('severities')[condition.severity], rate };
  }
  const word = say(wordOf(lane, event));
  return { number, level: word === say('lane_normal') ? 'good' : 'none', text: word, word, rate };
}

function makeLane({ number }) {
  return make('li', { 'data-lane': number },
    make('span', { class: 'number' }, make('span', { class: 'unseen' }, say('lane', number)), make('span', { 'aria-hidden': 'true' }, String(number))),
    make('span', { class: 'sign', 'aria-hidden': 'true' }), make('span', { class: 'text' }), make('span', { class: 'word', 'aria-hidden': 'true' }), make('span', { class: 'rate' }));
}

function fillLane(element, { level, text, word, rate }) {
  const [, sign, words, shortWord, speed] = element.children;
  element.dataset.level = level;
  setText(sign, level === 'none' ? '–' : SYMBOLS[level]);
  setText(words, text);
  setText(shortWord, word);
  setText(speed, rate === null ? '' : say('per_second', few(rate)));
}

export function showLanes(event) {
  noteCounts(event);
  for (const { lane } of [...event.lanes, ...event.conditions]) if (lane !== undefined) numbers.add(lane);
  const lanes = [...numbers].sort((a, b) => a - b).map((number) => stateOf(number, event));
  byId('no-lanes').hidden = lanes.length > 0;
  byId('lane-list').className = lanes.length <= FEW ? 'few' : lanes.length <= SOME ? 'some' : lanes.length <= MANY ? 'many' : 'many dense';
  byId('lane-list').tabIndex = lanes.length > SOME ? 0 : -1; // it may have to be scrolled
  updateList(byId('lane-list'), lanes, ({ number }) => number, makeLane, fillLane);
}
