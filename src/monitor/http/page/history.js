// The last 24 hours, from /minutes: fruits per minute, and how many of them had which class. Asked for while it is open.
import { byId, make, setText } from './frame.js';
import { showTable } from './lists.js';
import { number, percent, say, timeOfDay } from './words.js';

const MINUTE_MS = 60000;
const HOUR_MS = 60 * MINUTE_MS;
const STEP_MINUTES = 10; // of a point of the charts
const POINTS = 144;
const CLASSES_SHOWN = 5;
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2]];
const COLOURS = ['--accent', '--warning', '--text', '--good', '--muted'];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const fruitsOf = (row) => row.complete + row.partial + row.late;

let charts = null; // by the id of their canvas
let shown = null; // what was drawn last

// Adds up rows of minutes: {fruits, with_defect, classes {name: {looked_for, fruits}}}.
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

const shareOf = (found) => (found && found.looked_for > 0 ? found.fruits / found.looked_for : null);

// The rows in groups of equal time up to `endMs`, the oldest first.
function group(rows, endMs, count, stepMs) {
  const groups = Array.from({ length: count }, () => []);
  for (const row of rows) groups[count - 1 - Math.floor((endMs - 1 - row.at_ms) / stepMs)]?.push(row);
  return groups.map((one, i) => ({ at_ms: endMs - (count - i) * stepMs, ...sumOf(one) }));
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

function draw({ points, names, all }) {
  charts ??= { 'history-fruits': create('history-fruits'), 'history-classes': create('history-classes') };
  const { 'history-fruits': fruits, 'history-classes': classes } = charts;
  fruits.data.labels = classes.data.labels = points.map((point) => timeOfDay(point.at_ms / 1000).slice(0, 5));
  fruits.data.datasets = [{ data: points.map((point) => point.fruits / STEP_MINUTES) }];
  classes.data.datasets = names.map((name, i) => ({ borderDash: DASHES[i],
    data: points.map((point) => { const share = shareOf(point.classes[name]); return share === null ? null : 100 * share; }) }));
  paint();
  const found = names.map((name) => `${name} ${percent(shareOf(all.classes[name]))}`).join(', ');
  byId('history-fruits').setAttribute('aria-label', say('history_fruits', number(all.fruits)));
  byId('history-classes').setAttribute('aria-label', `${say('history_classes')}: ${found}`);
}

function showHours(rows, endMs, names) {
  const nextHourMs = Math.ceil(endMs / HOUR_MS) * HOUR_MS;
  const hours = group(rows, nextHourMs, 25, HOUR_MS).filter((hour) => hour.fruits > 0).reverse();
  byId('history-head').replaceChildren(...[say('time'), say('fruits'), say('with_defect'), ...names]
    .map((text) => make('th', { scope: 'col' }, text)));
  showTable(byId('history-table'), hours.map((hour) => [timeOfDay(hour.at_ms / 1000), number(hour.fruits),
    percent(hour.with_defect / hour.fruits), ...names.map((name) => percent(shareOf(hour.classes[name])))]));
}

function showHistory({ now_ms: nowMs, rows }) {
  const endMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const all = sumOf(rows);
  const names = Object.keys(all.classes).sort((a, b) => all.classes[b].fruits - all.classes[a].fruits).slice(0, CLASSES_SHOWN);
  shown = { points: group(rows, endMs, POINTS, STEP_MINUTES * MINUTE_MS), names, all };
  setText(byId('history-said'), rows.length > 0 ? say('history_sum', number(all.fruits), percent(all.with_defect / all.fruits))
    : say('no_history'));
  byId('history-charts').hidden = rows.length === 0 || !window.Chart;
  byId('history-hours').hidden = rows.length === 0;
  byId('history-hours').open ||= !window.Chart;
  showKey(names);
  showHours(rows, endMs, names);
  if (rows.length > 0 && window.Chart) draw(shown);
}

let nowMs = Date.now; // by the daemon's clock

// A daemon that does not answer is told by the headline; what is shown stays.
async function ask() {
  if (!byId('history').open || document.hidden) return;
  try {
    const answer = await fetch(`/minutes?step=60&from=${nowMs() - 24 * HOUR_MS}`);
    if (answer.ok) showHistory(await answer.json());
  } catch {
    // asked again in a minute
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
