// The alarms in their dialog: first what nobody has acknowledged, then what still holds, is shelved, is over.
import { act } from './actions.js';
import { levelOf, symbolOf, textOf } from '../conditions.js';
import { byId, make, setText } from '../frame.js';
import { updateList } from '../lists.js';
import { say, timeOfDay } from '../words.js';

const SHELVE = [[15, '15 min'], [60, '1 h'], [480, '8 h']];
const ORDER = ['unacknowledged', 'acknowledged', 'shelved', 'over'];

export function stateOf(alarm, nowMs) {
  if (alarm.shelved_until_ms > nowMs) return 'shelved';
  if (alarm.acknowledged_ms === undefined) return 'unacknowledged';
  return alarm.cleared_ms === undefined ? 'acknowledged' : 'over';
}

function timesOf(alarm, state) {
  const time = (ms) => timeOfDay(ms / 1000);
  const times = [say('severities')[alarm.severity], say('raised', time(alarm.raised_ms))];
  if (alarm.cleared_ms !== undefined) times.push(say('alarm_ended', time(alarm.cleared_ms)));
  if (alarm.acknowledged_ms !== undefined) {
    const by = alarm.acknowledged_by;
    times.push(say('acknowledged', time(alarm.acknowledged_ms), by === 'local' ? say('this_machine') : by));
  }
  if (state === 'shelved') times.push(say('shelved', time(alarm.shelved_until_ms)));
  return times.map((text) => ` · ${text}`).join('');
}

function makeButton(text, what, fields) {
  const button = make('button', { type: 'button' }, text);
  button.addEventListener('click', () => act(what, fields));
  return button;
}

function makeAlarm({ number }) {
  const shelve = make('details', { class: 'shelve' }, make('summary', {}, say('shelve')),
    make('div', { role: 'group', 'aria-label': say('shelve') },
      ...SHELVE.map(([minutes, text]) => makeButton(text, 'shelve', { number, minutes }))));
  shelve.lastElementChild.addEventListener('click', () => { shelve.open = false; });
  return make('li', { 'data-number': number }, make('span', { class: 'sign', 'aria-hidden': 'true' }),
    make('div', {}, make('p', { class: 'what' }), make('p', { class: 'do' }),
      make('p', { class: 'note' }, make('span', { class: 'state' }), make('span')),
      make('details', {}, make('summary', {}, say('details')), make('p', { lang: 'en' }))),
    make('div', { class: 'acts' }, makeButton(say('acknowledge'), 'acknowledge', { number }), shelve,
      makeButton(say('end_shelving'), 'shelve', { number, minutes: 0 })));
}

function fillAlarm(element, alarm, nowMs) {
  const [sign, body, acts] = element.children;
  const [what, action, note, details] = body.children;
  const [acknowledge, shelve, endShelving] = acts.children;
  const state = stateOf(alarm, nowMs);
  element.dataset.alarm = state;
  element.dataset.level = levelOf(alarm);
  setText(sign, symbolOf(alarm));
  setText(what, textOf(alarm, 'what'));
  setText(action, alarm.cleared_ms === undefined ? textOf(alarm, 'action') : '');
  setText(note.firstElementChild, say('alarm_states')[state]);
  setText(note.lastElementChild, timesOf(alarm, state));
  setText(details.lastElementChild, `${alarm.id}: ${alarm.details}`);
  acts.setAttribute('role', 'group');
  acts.setAttribute('aria-label', textOf(alarm, 'what'));
  acknowledge.hidden = alarm.acknowledged_ms !== undefined;
  shelve.hidden = state === 'shelved' || state === 'over';
  endShelving.hidden = state !== 'shelved';
}

// Where a button goes away that has the focus, the next one to acknowledge gets it.
function keepFocus(alarms) {
  const focused = document.activeElement;
  if (!alarms.open || (focused !== document.body && focused.checkVisibility())) return;
  const next = alarms.querySelector('[data-alarm="unacknowledged"] .acts button:not([hidden])');
  (next || byId('alarms-title')).focus();
}

// `alarms` as GET /alarms has them.
export function showList(alarms, nowMs) {
  const rank = (alarm) => ORDER.indexOf(stateOf(alarm, nowMs));
  const sorted = [...alarms].sort((a, b) => rank(a) - rank(b) || b.number - a.number);
  byId('acknowledge-all').hidden = !alarms.some((alarm) => stateOf(alarm, nowMs) === 'unacknowledged');
  updateList(byId('alarm-list'), sorted, ({ number }) => number, makeAlarm,
    (element, alarm) => fillAlarm(element, alarm, nowMs));
  keepFocus(byId('alarms'));
}
