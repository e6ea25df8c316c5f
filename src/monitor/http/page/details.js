// What is of use to who looks after the line: latencies, steps, lanes, the machine.
import { byId, setText } from './frame.js';
import { showHistogram } from './latency_chart.js';
import { showPairs, showTable } from './lists.js';
import { bytes, duration, figure, milliseconds, number, percent, quantile, say, timeOfDay } from './words.js';

let period = 'recent';

function showFigures(event) {
  setText(byId('views-per-s'), figure(event.views_per_s));
  setText(byId('p50'), quantile(event.recent.latency_ms.p50, event.edges_ms));
  setText(byId('p99'), quantile(event.recent.latency_ms.p99, event.edges_ms));
  for (const kind of ['complete', 'partial', 'late']) setText(byId(kind), number(event.verdicts[kind]));
  setText(byId('lost'), number(event.lost));
}

function showLatency(event) {
  const shown = period === 'recent' ? event.recent : event;
  showHistogram(event.edges_ms, shown.counts, event.budget_ms, shown.latency_ms);
}

function remarksOf(lane) {
  return Object.entries(lane.causes).map(([name, count]) => say('causes')[name](count)).join(', ');
}

function showLaneTable(event) {
  const lanes = [...event.lanes].sort((a, b) => a.lane - b.lane);
  showTable(byId('lane-table'), lanes.map((lane) => [String(lane.lane),
    `${timeOfDay(lane.last_view_s)} (${duration(event.now_s - lane.last_view_s)})`,
    quantile(lane.latency_ms.p99, event.edges_ms), remarksOf(lane)]));
}

function showStages(event) {
  const { stages } = event.recent;
  byId('no-stages').hidden = stages.length > 0;
  showTable(byId('stage-list'), stages.map((stage) => [stage.stage === 'queue' ? say('queue') : stage.stage,
    stage.backend, milliseconds(stage.mean_ms), percent(stage.share)]));
}

function writer({ on, written, lost, bytes: size, free_bytes: free, size_bytes: all }) {
  return on ? say('writer', number(written), number(lost), bytes(size), all > 0 ? percent(free / all) : '?') : say('off');
}

function showMachine(event) {
  const devices = event.devices > 0 ? `, ${say('devices', event.devices, event.devices_lost)}` : '';
  showPairs(byId('machine-list'), [
    [say('state'), say('states')[event.state]],
    [say('running_on'), `${event.backend}, ${say('workers', event.workers)}${devices}`],
    [say('file'), `${event.config}, ${event.settings}`],
    ...(event.lot ? [[say('lot'), [event.lot, event.grower, event.variety].filter(Boolean).join(' · ')]] : []),
    [say('slots'), say('of', event.slots_free, event.slots)],
    [say('grader'), `${event.graders}${event.waiting ? `, ${say('waiting_verdicts', event.waiting)}` : ''}`],
    [say('recorder'), writer(event.recorder)],
    [say('log'), writer(event.log)],
    [say('memory'), bytes(event.memory_bytes)],
    [say('uptime'), timeOfDay(event.started_s)],
    [say('version'), `${event.version}, ${event.run}`],
  ]);
}

function showAll(event) {
  for (const part of [showFigures, showLatency, showLaneTable, showStages, showMachine]) part(event);
}

let latest = null;

// Closed, they cost nothing.
export function showDetails(event) {
  latest = event;
  if (byId('technical').open) showAll(event);
}

function choosePeriod(chosen) {
  period = chosen;
  byId('period-recent').setAttribute('aria-pressed', String(chosen === 'recent'));
  byId('period-all').setAttribute('aria-pressed', String(chosen === 'all'));
  if (latest) showLatency(latest);
}

export function startDetails() {
  byId('technical').addEventListener('toggle', () => latest && showDetails(latest));
  byId('period-recent').addEventListener('click', () => choosePeriod('recent'));
  byId('period-all').addEventListener('click', () => choosePeriod('all'));
}
