// The last 24 hours, from /minutes: fruits per minute, and how many of them had which class. Asked for while it is open.
import { byId, make, setText } from './frame.js';
import { showTable } from './lists.js';
import { number, percent, say, timeOfDay } from './words.js';

const MINUTE_MS = 60000;
const HOUR_MS = 60 * MINUTE_MS;
const STEP_MS = 10 * MINUTE_MS; // of a row, and of a point of the charts
const POINTS = 144;
const HOURS = 24; // whole ones in the table, above them that of now
const CLASSES_DRAWN = 5;
const PATIENCE_MS = 30000;
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2]];
const COLOURS = ['--accent', '--warning', '--text', '--good', '--muted'];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const fruitsOf = (row) => row.fruits ?? row.complete + row.partial + row.late;

let charts = null; // by the id of their canvas
let shown = false; // an answer

const floor = (timeMs, stepMs) => Math.floor(timeMs / stepMs) * stepMs;

// Adds up rows, or such sums: {fruits, with_defect, classes {name: {looked_for, fruits}}}.
function sumOf(rows) {
  const sum = { fruits: 0, with_defect: 0, classes: {} };
  for (const row of rows) {
    sum.fruits += fruitsOf(row);
    sum.with_defect += row.with_defect;
    for (const [name, { looked_for: lookedFor, fruits }] of Object.entries(row.classes)) {
      const found = sum.classes[name] ??= { looked_for: 0, fruits: 0 };
      found.looked_for += lookedFor;
      found.fruits += fruits;
    }
  }
  return sum;
}

// The names, that of most fruits first.
const classesOf = ({ classes }) => Object.keys(classes).sort((a, b) => classes[b].fruits - classes[a].fruits);

const shareOf = (found) => (found && found.looked_for > 0 ? found.fruits / found.looked_for : null);

// The rows in groups of equal time, the oldest first; the last one is that of now.
function group(rows, timeMs, count, stepMs) {
  const firstMs = floor(timeMs, stepMs) - (count - 1) * stepMs;
  const groups = Array.from({ length: count }, () => []);
  for (const row of rows) groups[Math.floor((row.at_ms - firstMs) / stepMs)]?.push(row);
  return groups.map((one, i) => ({ at_ms: firstMs + i * stepMs, ...sumOf(one) }));
}

// Of a point; the last one is not over yet.
function perMinute(point, timeMs) {
  const minutes = Math.floor(Math.min(timeMs - point.at_ms, STEP_MS) / MINUTE_MS);
  return minutes > 0 ? point.fruits / minutes : null;
}

function create(id) {
  window.Chart.defaults.font.size = 16;
  return new window.Chart(byId(id), {
    type: 'line',
    data: { labels: [], datasets: [] },
    options: {
      animation: false,
      maintainAspectRatio: false,
      events: [],
      elements: { point: { radius: 0 }, line: { borderWidth: 2, tension: 0 } },
      plugins: { legend: { display: false }, tooltip: { enabled: false } },
      scales: {
        x: { grid: { display: false }, ticks: { maxTicksLimit: window.innerWidth < 600 ? 4 : 7, maxRotation: 0 } },
        y: { beginAtZero: true },
      },
    },
  });
}

function paint() {
  for (const chart of Object.values(charts)) {
    for (const axis of Object.values(chart.options.scales)) {
      axis.ticks.color = colour('--muted');
      axis.grid.color = colour('--line');
    }
    chart.data.datasets.forEach((set, i) => { set.borderColor = colour(COLOURS[i]); });
    chart.update();
  }
}

const SVG = 'http://www.w3.org/2000/svg';

function drawLine(i) {
  const picture = document.createElementNS(SVG, 'svg');
  const line = document.createElementNS(SVG, 'line');
  for (const [name, value] of [['class', 'line'], ['viewBox', '0 0 48 10'], ['aria-hidden', 'true']]) picture.setAttribute(name, value);
  for (const [name, value] of [['x1', 0], ['x2', 48], ['y1', 5], ['y2', 5], ['stroke-dasharray', DASHES[i].join(' ')],
    ['stroke', `var(${COLOURS[i]})`]]) line.setAttribute(name, value);
  picture.append(line);
  return picture;
}

// Which line is which class: by its dashes, too, as colours alone tell nothing to some.
function showKey(names) {
  byId('history-key').replaceChildren(...names.map((name, i) => make('li', {}, drawLine(i), name)));
}

function draw(points, names, all, timeMs) {
  charts ??= { 'history-fruits': create('history-fruits'), 'history-classes': create('history-classes') };
  const { 'history-fruits': fruits, 'history-classes': classes } = charts;
  fruits.data.labels = classes.data.labels = points.map((point) => timeOfDay(point.at_ms / 1000).slice(0, 5));
  fruits.data.datasets = [{ data: points.map((point) => perMinute(point, timeMs)) }];
  classes.data.datasets = names.map((name, i) => ({ borderDash: DASHES[i],
    data: points.map((point) => { const share = shareOf(point.classes[name]); return share === null ? null : 100 * share; }) }));
  paint();
  const found = names.map((name) => `${name} ${percent(shareOf(all.classes[name]))}`).join(', ');
  byId('history-fruits').setAttribute('aria-label', say('history_fruits', number(all.fruits)));
  byId('history-classes').setAttribute('aria-label', `${say('history_classes')}: ${found}`);
}

const clock = (timeMs) => timeOfDay(timeMs / 1000);

// That of now says that it is not over.
function nameHour(hour, timeMs) {
  return hour.at_ms + HOUR_MS > timeMs ? `${clock(hour.at_ms).slice(0, 5)}–${clock(timeMs).slice(0, 5)}` : clock(hour.at_ms);
}

function showHours(hours, timeMs) {
  const names = classesOf(sumOf(hours));
  byId('history-head').replaceChildren(...[say('time'), say('fruits'), say('with_defect'), ...names]
    .map((text) => make('th', { scope: 'col' }, text)));
  showTable(byId('history-table'), hours.map((hour) => [nameHour(hour, timeMs), number(hour.fruits),
    percent(hour.with_defect / hour.fruits), ...names.map((name) => percent(shareOf(hour.classes[name])))]));
}

function showHistory({ now_ms: timeMs, rows }) {
  const points = group(rows, timeMs, POINTS, STEP_MS);
  const hours = group(rows, timeMs, HOURS + 1, HOUR_MS).filter((hour) => hour.fruits > 0).reverse();
  const all = sumOf(points);
  const names = classesOf(all).slice(0, CLASSES_DRAWN);
  shown = true;
  setText(byId('history-said'), all.fruits > 0 ? say('history_sum', number(all.fruits), percent(all.with_defect / all.fruits))
    : say('no_history'));
  byId('history-charts').hidden = all.fruits === 0 || !window.Chart;
  byId('history-hours').hidden = hours.length === 0;
  byId('history-hours').open ||= !window.Chart;
  showKey(names);
  showHours(hours, timeMs);
  if (all.fruits > 0 && window.Chart) draw(points, names, all, timeMs);
}

let nowMs = Date.now; // by the daemon's clock

// From the begin of the oldest hour, which is then whole.
async function fetchHistory() {
  const fromMs = floor(nowMs(), HOUR_MS) - HOURS * HOUR_MS;
  const answer = await fetch(`/minutes?step=${STEP_MS / 1000}&from=${fromMs}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

// What is shown stays while the daemon does not answer, which the headline says.
async function ask() {
  if (!byId('history').open || document.hidden) return;
  try {
    showHistory(await fetchHistory());
  } catch {
    if (!shown) setText(byId('history-said'), say('history_failed'));
  }
}

// `clock` gives the daemon's time, in ms since 1970.
export function startHistory(clock) {
  nowMs = () => Math.floor(clock());
  byId('history').addEventListener('toggle', ask);
  document.addEventListener('visibilitychange', ask);
  document.addEventListener('theme', () => charts && paint());
  setInterval(ask, MINUTE_MS);
}
