// What is wrong with the line: the headline, and what else is wrong. The texts come from the daemon's table.
import { SYMBOLS, byId, make, setHeadline, setText } from './frame.js';
import { updateList } from './lists.js';
import { duration, few, language, number, say, timeOfDay } from './words.js';

const LEVELS = { notice: 'notice', warning: 'warning', critical: 'bad' }; // of the page, by severity
const ALSO_SHOWN = 2; // conditions beside the headline
const TABLE_MS = 5000; // for the table: a browser with many pages of the line open leaves it waiting

let table = {}; // by the condition's id

// Reads the table of conditions; until then their English texts are shown.
export async function loadConditions() {
  const answer = await fetch('/conditions', { signal: AbortSignal.timeout(TABLE_MS) });
  if (!answer.ok) throw new Error(`/conditions: ${answer.status}`);
  table = (await answer.json()).conditions;
}

export function levelOf(condition) {
  return LEVELS[condition.severity];
}

export function symbolOf(condition) {
  return SYMBOLS[levelOf(condition)];
}

function keyOf(condition) {
  return `${condition.id} ${condition.lane ?? ''}`;
}

// --- texts ---

// As the daemon's log has them: few of them to a tenth, and what holds is never 0 %.
const FORMATS = {
  lane: String,
  count: number,
  percent: (value) => few(Math.max(value, 0.1)),
  seconds: few,
  hours: few,
  name: String,
};

// A figure and its unit stay on one line.
function fill(text, condition) {
  const values = { ...condition.values, lane: condition.lane ?? '?' };
  return text.replace(/(?<=\{(?:percent|seconds|hours)\}) /g, '\u00a0').replace(/\{(lane|count|percent|seconds|hours|name)\}/g, (_, key) => FORMATS[key](values[key]));
}

// `part` is what or action.
export function textOf(condition, part) {
  const text = table[condition.id]?.[language]?.[part];
  return text ? fill(text, condition) : condition[part];
}

// What is wrong with a lane, without the lane's name before it.
export function shortText(condition) {
  const template = table[condition.id]?.[language]?.what;
  if (!template) return condition.what;
  return fill(template.replace(/^[^:{]*\{lane\}\s*:\s*/, ''), condition);
}

// Empty where nobody knows.
function sinceText(seconds, event) {
  return seconds === undefined ? '' : say('since', timeOfDay(seconds), duration(event.now_s - seconds));
}

// --- the headline ---

function isIdle(event) {
  return event.lanes.every((lane) => lane.state === 'silent');
}

// The key of the words for a line without conditions.
function stateOf(event) {
  if (event.state === 'starting' || event.state === 'stopping' || event.state === 'ready') return event.state;
  return isIdle(event) ? 'idle' : 'normal';
}

// {level, headline, action, since, misjudged, key}: `key` differs exactly if something else is to be said.
export function headlineOf(event) {
  const [worst] = event.conditions;
  if (worst) {
    return {
      level: levelOf(worst),
      headline: textOf(worst, 'what'),
      action: textOf(worst, 'action'),
      since: sinceText(worst.since_s, event),
      misjudged: event.headline.misjudged,
      key: keyOf(worst),
    };
  }
  const state = stateOf(event);
  const idle = state === 'idle' && event.lanes.length > 0;
  return {
    level: state === 'normal' ? 'good' : 'none',
    headline: say(state),
    action: say(`${state}_action`),
    since: idle ? sinceText(Math.max(...event.lanes.map((lane) => lane.last_view_s)), event) : '',
    misjudged: false,
    key: state,
  };
}

let announced = '';

// Said by screen readers: once for each change, whatever figures within it change.
export function showHeadline({ level, headline, action, since, misjudged, key }) {
  setHeadline(level, headline, since);
  byId('headline').classList.toggle('long', headline.length > 36);
  byId('headline').classList.toggle('longest', headline.length > 72);
  setText(byId('action'), action);
  byId('misjudged').hidden = !misjudged;
  if (announced === key) return;
  announced = key;
  setText(byId('announcement'), `${headline}. ${action}`);
}

export function isAnnounced(condition) {
  return announced === keyOf(condition);
}

// --- the others ---

function showAlso(conditions) {
  const others = conditions.slice(1);
  const items = others.slice(0, ALSO_SHOWN).map((one) => ({ key: keyOf(one), level: levelOf(one), text: textOf(one, 'what') }));
  const more = others.length - items.length;
  if (more > 0) items.push({ key: 'more', level: 'none', text: say('more', more) });
  byId('also').hidden = items.length === 0;
  updateList(byId('also'), items, ({ key }) => key,
    () => make('li', {}, make('a', { href: '#conditions' }, make('span', { class: 'sign', 'aria-hidden': 'true' }), make('span'))),
    (element, { level, text }) => {
      const [sign, words] = element.firstElementChild.children;
      element.dataset.level = level;
      setText(sign, SYMBOLS[level]);
      setText(words, text);
    });
}

function makeCondition() {
  return make('li', {}, make('span', { class: 'sign', 'aria-hidden': 'true' }),
    make('div', {}, make('strong'), make('p', { class: 'do' }), make('p', { class: 'note' }),
      make('details', {}, make('summary', {}, say('details')), make('p', { lang: 'en' }))));
}

function fillCondition(element, condition, event) {
  const [sign, body] = element.children;
  const [what, action, note, details] = body.children;
  element.dataset.level = levelOf(condition);
  setText(sign, symbolOf(condition));
  setText(what, textOf(condition, 'what'));
  setText(action, textOf(condition, 'action'));
  setText(note, [say('severities')[condition.severity], sinceText(condition.since_s, event)].filter(Boolean).join(', '));
  setText(details.lastElementChild, `${condition.id}: ${condition.details}`);
}

export function showConditions(event) {
  const { conditions } = event;
  showAlso(conditions);
  byId('conditions').hidden = conditions.length === 0;
  updateList(byId('condition-list'), conditions, keyOf, makeCondition,
    (element, condition) => fillCondition(element, condition, event));
}
