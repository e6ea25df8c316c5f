// Alarms: the last one in the overview, all in a dialog, a word and a sound for a new one. The daemon keeps them.
import { startActions, tell } from './actions.js';
import { showList, stateOf } from './list.js';
import { soundAlarm, startSound } from './sound.js';
import { isAnnounced, levelOf, textOf } from '../conditions.js';
import { byId, setText } from '../frame.js';
import { say, timeOfDay } from '../words.js';

const SEVERITIES = ['critical', 'warning', 'notice'];
// Characters of a recipe's, class's or file's name in the overview: what is longer than the first is cut to the second, so
// that it needs no line of its own. The list has it whole.
const LONGEST_NAME = 16;
const CUT_NAME = 12;

let alarms = []; // as GET /alarms has them
let kept = true; // false: this daemon has no list of alarms
let read = ''; // which change of the list `alarms` is
let reading = false;
let said = null; // the number of the newest alarm that was there already
let latest = null; // the last event

const newestNumber = () => Math.max(0, ...alarms.map(({ number }) => number));

// --- new alarms ---

// Said by screen readers once for each, unless the headline says it: that is said anyway.
function sayNew() {
  const fresh = said === null ? [] : alarms.filter((alarm) => alarm.number > said && alarm.cleared_ms === undefined
    && stateOf(alarm, nowMs()) !== 'shelved' && (byId('alarms').open || !isAnnounced(alarm)));
  said = newestNumber();
  if (fresh.length === 0) return;
  const text = fresh.map((alarm) => say('new_alarm', textOf(alarm, 'what'))).join('. ');
  if (byId('alarms').open) tell(text);
  else setText(byId('new-alarm'), text);
}

// --- reading ---

function nowMs() {
  return latest.now_s * 1000;
}

const changeOf = (event) => `${event.run} ${event.alarms.change}`;

async function readAlarms() {
  const change = changeOf(latest);
  reading = true;
  try {
    const answer = await fetch('/alarms', { cache: 'no-store' });
    kept = answer.status !== 404;
    if (answer.ok) ({ alarms } = await answer.json());
    if (answer.ok || !kept) read = change;
    sayNew();
  } catch {
    // Read again with the next event.
  }
  reading = false;
  show();
}

// --- showing ---

function withShortName(alarm) {
  const name = [...alarm.values?.name ?? ''];
  if (name.length <= LONGEST_NAME) return alarm;
  return { ...alarm, values: { ...alarm.values, name: `${name.slice(0, CUT_NAME - 1).join('')}…` } };
}

function showLast() {
  const waiting = alarms.filter((alarm) => stateOf(alarm, nowMs()) === 'unacknowledged');
  const last = alarms.find((alarm) => stateOf(alarm, nowMs()) !== 'shelved') ?? alarms[0];
  const button = byId('open-alarms');
  const worst = SEVERITIES.find((severity) => waiting.some((alarm) => alarm.severity === severity));
  button.dataset.level = worst ? levelOf({ severity: worst }) : 'none';
  setText(byId('to-acknowledge'), waiting.length > 0 ? say('to_acknowledge', waiting.length) : '');
  byId('all-alarms').hidden = waiting.length > 0;
  if (!last) {
    setText(byId('last-alarm'), say(kept ? 'no_alarm' : 'no_alarm_list'));
    return;
  }
  const ended = last.cleared_ms === undefined ? '' : `, ${say('alarm_ended', timeOfDay(last.cleared_ms / 1000))}`;
  setText(byId('last-alarm'), `${timeOfDay(last.raised_ms / 1000)} · ${textOf(withShortName(last), 'what')}${ended}`);
}

function show() {
  showLast();
  byId('no-alarms').hidden = alarms.length > 0;
  setText(byId('no-alarms'), say(kept ? 'no_alarm' : 'no_alarm_list'));
  byId('alarms-csv').hidden = !kept;
  if (byId('alarms').open) showList(alarms, nowMs());
}

// The worst of the alarms that nobody has acknowledged, and of what a sorter says is wrong now; or none.
function loudestOf({ alarms: summary, sorter }) {
  const severities = [summary?.loudest, ...(sorter?.faults ?? []).map(({ severity }) => severity)];
  return SEVERITIES.find((severity) => severities.includes(severity)) ?? 'none';
}

export function showAlarms(event) {
  latest = event;
  if (!event.alarms) [alarms, kept] = [[], false];
  else if (!reading && read !== changeOf(event)) readAlarms();
  soundAlarm(loudestOf(event), event.now_s);
  show();
}

function open() {
  tell('');
  byId('alarms').showModal();
  if (latest) show();
}

export function startAlarms() {
  byId('open-alarms').addEventListener('click', open);
  byId('close-alarms').addEventListener('click', () => byId('alarms').close());
  startActions(() => latest?.alarms && readAlarms(), newestNumber);
  startSound();
}
