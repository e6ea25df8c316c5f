// The live page: shows the daemon's events, one a second.
import { byId, make, setHeadline, setText, startFrame } from './frame.js';
import { classColours, drawView, legend } from './fruit_picture.js';
import { showHistogram } from './latency_chart.js';
import {
  bytes, duration, figure, milliseconds, number, percent, quantile, say, sayReason, timeOfDay,
} from './words.js';

const VIEWS_SHOWN = 4;
const SILENCE_MS = 6000; // without an event for so long the connection counts as lost
const RETRY_MS = 2000;
const PARTIAL_SHARE = 0.01; // of the fruits; from here on the headline says so

let latest = null; // the last event
let period = 'recent';
let lastEventMs = 0;

// --- the headline ---

// Verdicts of the last two minutes that no grader gets.
const codesOf = (event) => event.conditions.map(({ id, values }) => ({ code: id, count: values.count, refused: false }));

function countUndelivered(event) {
  return codesOf(event).filter(({ code }) => code === 'verdict_dropped' || code === 'verdict_failed')
    .reduce((sum, { count }) => sum + count, 0);
}

// The first reason that is neither a state nor a grader's absence: before the first view, why messages are refused.
function findLoss(event) {
  const at = codesOf(event).findIndex(({ code }) => code !== 'ready' && code !== 'no_grader');
  return at < 0 ? '' : sayReason(codesOf(event)[at].code, codesOf(event)[at].count, event.reasons[at]);
}

// How many messages of the last two minutes were refused, and why most of them were; null if none was.
function findRefused(event) {
  const refused = codesOf(event).map(({ count }, i) => ({ count, i })).filter(({ i }) => codesOf(event)[i].refused);
  if (refused.length === 0) return null;
  const { i } = refused.reduce((most, one) => (one.count > most.count ? one : most));
  return {
    count: refused.reduce((sum, { count }) => sum + count, 0),
    reason: sayReason(codesOf(event)[i].code, codesOf(event)[i].count, event.reasons[i]),
  };
}

function idleHeadline(event, clock) {
  const last = say('idle_since', ...clock(Math.max(...event.lanes.map((lane) => lane.last_view_s))));
  const refused = findRefused(event);
  return refused ? ['warning', say('idle_refused', refused.count), `${refused.reason}; ${last}`] : ['none', say('idle'), last];
}

function headlineOf(event) {
  const clock = (seconds) => [timeOfDay(seconds), duration(event.now_s - seconds)];
  const { budget } = event;
  if (!event.healthy) return ['bad', say('hangs'), ''];
  if (event.state === 'starting' || event.state === 'stopping') return ['none', say(event.state), ''];
  const undelivered = countUndelivered(event);
  if (undelivered > 0) return ['bad', say('undelivered', undelivered), say('in_the_last_two_minutes')];
  if (!budget.kept) {
    const level = budget.missed >= 0.01 * budget.verdicts ? 'bad' : 'warning';
    return [level, say('over', budget.missed, budget.verdicts), say('over_since', ...clock(budget.since_s), event.budget_ms)];
  }
  if (event.state === 'ready') {
    const refused = findLoss(event);
    return refused ? ['warning', say('empty_refused'), refused] : ['none', say('empty'), ''];
  }
  if (event.state === 'degraded') return ['warning', say('degraded'), ''];
  if (event.lanes.every((lane) => lane.state === 'silent')) return idleHeadline(event, clock);
  if (event.graders === 0) return ['warning', say('within'), say('no_grader')];
  const { partial } = event.recent.verdicts;
  if (partial > 0 && partial >= PARTIAL_SHARE * budget.verdicts) {
    return ['warning', say('many_partial', partial, budget.verdicts), say('many_partial_why')];
  }
  return ['good', say('within'), say('since', ...clock(budget.since_s), event.budget_ms)];
}

// --- lists whose rows are kept from event to event ---

function resize(list, count, create) {
  while (list.children.length > count) list.lastElementChild.remove();
  while (list.children.length < count) list.append(create());
}

function showTable(body, rows) {
  const cells = rows.length > 0 ? rows[0].length : 0;
  resize(body, rows.length, () => make('tr', {}, ...Array.from({ length: cells }, () => make('td'))));
  rows.forEach((row, i) => row.forEach((text, k) => setText(body.rows[i].cells[k], text)));
}

function showPairs(list, pairs) {
  resize(list, pairs.length, () => make('div', {}, make('dt'), make('dd')));
  pairs.forEach(([name, value], i) => {
    setText(list.children[i].children[0], name);
    setText(list.children[i].children[1], value);
  });
}

// --- parts of the page ---

function showReasons(event) {
  const texts = event.reasons.map((text, i) => sayReason(codesOf(event)[i].code, codesOf(event)[i].count, text));
  const silent = event.lanes.filter((lane) => lane.state === 'silent');
  if (silent.length < event.lanes.length) {
    texts.push(...silent.map((lane) => `${say('lane', lane.lane)}: ${laneText(lane, event)}`));
  }
  byId('reasons').hidden = texts.length === 0;
  const list = byId('reason-list');
  resize(list, texts.length, () => make('li'));
  texts.forEach((text, i) => setText(list.children[i], text));
}

function showFigures(event) {
  setText(byId('fruits-per-s'), figure(event.verdicts_per_s));
  setText(byId('views-per-s'), figure(event.views_per_s));
  setText(byId('p50'), quantile(event.recent.latency_ms.p50, event.edges_ms));
  setText(byId('p99'), quantile(event.recent.latency_ms.p99, event.edges_ms));
  for (const kind of ['complete', 'partial', 'late']) setText(byId(kind), number(event.verdicts[kind]));
  setText(byId('lost'), number(event.lost));
}

function laneText(lane, event) {
  if (lane.state === 'silent') return say('lane_silent', duration(event.now_s - lane.last_view_s));
  const causes = Object.entries(lane.causes).map(([name, count]) => say('causes')[name](count));
  if (causes.length > 0) return `${causes.join(', ')} ${say('in_two_minutes')}`;
  return `${quantile(lane.latency_ms.p99, event.edges_ms)} (99 %)`;
}

const LANE_WORDS = { good: 'good', degraded: 'degraded_lane', silent: 'silent' };

function showLanes(event) {
  const list = byId('lane-list');
  byId('no-lanes').hidden = event.lanes.length > 0;
  resize(list, event.lanes.length, () => make('li', {}, make('span', { class: 'dot', 'aria-hidden': 'true' }),
    make('strong'), make('span', { class: 'lane-state' }), make('span', { class: 'why' })));
  event.lanes.forEach((lane, i) => {
    const [, name, state, why] = list.children[i].children;
    list.children[i].dataset.state = lane.state;
    setText(name, say('lane', lane.lane));
    setText(state, say(LANE_WORDS[lane.state]));
    setText(why, laneText(lane, event));
  });
}

function showLatency(event) {
  const shown = period === 'recent' ? event.recent : event;
  showHistogram(event.edges_ms, shown.counts, event.budget_ms, shown.latency_ms);
}

function showStages(event) {
  const { stages } = event.recent;
  byId('no-stages').hidden = stages.length > 0;
  showTable(byId('stage-list'), stages.map((stage) => [stage.stage === 'queue' ? say('queue') : stage.stage,
    stage.backend, milliseconds(stage.mean_ms), percent(stage.share)]));
}

// As text: it may have more digits than JavaScript's numbers.
function fruitNumber(name) {
  return name.split('/')[2];
}

function showBad(event) {
  const body = byId('bad-list');
  byId('no-bad').hidden = event.bad.length > 0;
  resize(body, event.bad.length, () => make('tr', {}, make('td'), make('td', {}, make('a')), make('td'), make('td'), make('td')));
  event.bad.forEach((fruit, i) => {
    const [time, name, verdict, views, latency] = body.rows[i].cells;
    const link = name.firstElementChild;
    const words = fruit.verdict === 'complete' ? [] : [say('kinds')[fruit.verdict]];
    if (fruit.over_budget) words.push(say('over_budget'));
    setText(time, timeOfDay(fruit.published_s));
    link.setAttribute('href', `/fruits/${fruit.name}`);
    setText(link, say('fruit_name', fruit.lane, fruitNumber(fruit.name)));
    setText(verdict, words.join(', '));
    setText(views, say('of', fruit.views_judged, fruit.views_expected || '?'));
    setText(latency, milliseconds(fruit.latency_ms));
  });
}

function writer({ on, written, lost, bytes: size, free_bytes: free, size_bytes: all }) {
  return on ? say('writer', number(written), number(lost), bytes(size), all > 0 ? percent(free / all) : '?') : say('off');
}

function showMachine(event) {
  const devices = event.devices > 0 ? `, ${say('devices', event.devices, event.devices_lost)}` : '';
  showPairs(byId('machine-list'), [
    [say('state'), say('states')[event.state]],
    [say('running_on'), `${event.backend}, ${say('workers', event.workers)}${devices}`],
    [say('settings'), event.config],
    [say('slots'), say('of', event.slots_free, event.slots)],
    [say('grader'), `${event.graders}${event.waiting ? `, ${say('waiting_verdicts', event.waiting)}` : ''}`],
    [say('recorder'), writer(event.recorder)],
    [say('log'), writer(event.log)],
    [say('memory'), bytes(event.memory_bytes)],
    [say('uptime'), timeOfDay(event.started_s)],
    [say('version'), `${event.version}, ${event.run}`],
  ]);
}

// --- the last fruits ---

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

function arrangeCards(names) {
  const list = byId('fruit-list');
  const wanted = names.map((name) => cards.get(name)).filter((card) => card);
  wanted.forEach((card, i) => {
    if (list.children[i] !== card) list.insertBefore(card, list.children[i] || null);
  });
  while (list.children.length > wanted.length) list.lastElementChild.remove();
  byId('no-fruits').hidden = wanted.length > 0;
}

async function loadCard(name) {
  cards.set(name, null);
  try {
    const answer = await fetch(`/fruits/${name}.json`);
    if (!answer.ok) return;
    const card = makeCard(name, await answer.json());
    if (cards.has(name)) cards.set(name, card);
    if (latest) arrangeCards(latest.shown);
  } catch {
    cards.delete(name); // tried again with the next event
  }
}

function showFruits(event) {
  for (const name of cards.keys()) if (!event.shown.includes(name)) cards.delete(name);
  for (const name of event.shown) if (!cards.has(name)) loadCard(name);
  arrangeCards(event.shown);
}

// --- events ---

function show(event) {
  document.title = `${headlineOf(event)[1]} – cernita`;
  setText(byId('config'), event.config);
  setHeadline(...headlineOf(event));
  for (const part of [showReasons, showFigures, showLanes, showLatency, showStages, showBad, showFruits, showMachine]) {
    part(event);
  }
}

function setConnection(state, text) {
  document.body.dataset.connection = state;
  setText(byId('connection'), text);
}

let source = null;

function disconnect() {
  if (source) source.close();
  source = null;
}

function connect() {
  disconnect();
  source = new EventSource('/events');
  lastEventMs = lastEventMs || Date.now();
  source.addEventListener('snapshot', (message) => {
    latest = JSON.parse(message.data);
    lastEventMs = Date.now();
    setConnection('live', say('connected'));
    show(latest);
  });
  source.addEventListener('error', () => {
    if (source && source.readyState === EventSource.CLOSED) setTimeout(watch, RETRY_MS);
  });
}

// Looks after the connection; a hidden page has none, so that it costs nothing and leaves its place to others.
function watch() {
  if (document.hidden) {
    disconnect();
    return;
  }
  const silentMs = Date.now() - lastEventMs;
  const lost = lastEventMs > 0 && silentMs > SILENCE_MS;
  if (lost && latest) {
    setConnection('lost', say('not_connected'));
    document.title = `${say('not_connected')} – cernita`;
    setHeadline('bad', say('not_connected'), say('connection_lost', timeOfDay(lastEventMs / 1000)));
  } else if (lost) {
    setConnection('lost', say('not_connected'));
    setHeadline('bad', say('not_connected'), say('never_connected'));
  } else if (!latest) setConnection('connecting', say('connecting'));
  const closed = !source || source.readyState === EventSource.CLOSED;
  if (closed || (lost && silentMs % (2 * SILENCE_MS) < 1000)) connect();
}

function choosePeriod(chosen) {
  period = chosen;
  byId('period-recent').setAttribute('aria-pressed', String(chosen === 'recent'));
  byId('period-all').setAttribute('aria-pressed', String(chosen === 'all'));
  if (latest) showLatency(latest);
}

startFrame();
byId('period-recent').addEventListener('click', () => choosePeriod('recent'));
byId('period-all').addEventListener('click', () => choosePeriod('all'));
document.addEventListener('visibilitychange', () => {
  lastEventMs = document.hidden ? lastEventMs : Date.now();
  watch();
});
setInterval(watch, 1000);
watch();
