// The charts of the timing mode: bars by backend, lines by size. Colours come from the theme.
import { make } from './frame.js';
import { figure, say } from './words.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Stripes of a colour, so that a bar's parts differ by more than that.
function stripes(name, rising) {
  const tile = Object.assign(document.createElement('canvas'), { width: 8, height: 8 });
  const context = tile.getContext('2d');
  context.fillStyle = colour('--card');
  context.fillRect(0, 0, 8, 8);
  context.strokeStyle = colour(name);
  context.lineWidth = 3;
  for (const shift of [-8, 0, 8]) {
    context.moveTo(shift, rising ? 8 : 0);
    context.lineTo(shift + 8, rising ? 0 : 8);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat');
}

const LOOKS = {
  compute: () => colour('--accent'),
  kernel: () => colour('--good'),
  upload: () => stripes('--warning', true),
  download: () => stripes('--bad', false),
  other: () => colour('--line'),
};

const LINES = [
  { name: '--accent', pointStyle: 'circle', borderDash: [] },
  { name: '--warning', pointStyle: 'rect', borderDash: [8, 4] },
  { name: '--good', pointStyle: 'triangle', borderDash: [2, 3] },
];

const LOG_FROM = 20; // the ratio of times from which on bars have a logarithmic axis

const axis = (text, more) => ({ title: { display: true, text }, grid: {}, ticks: {}, ...more });

class TimingChart {
  constructor(type, scales, describe) {
    this.describe = describe;
    this.canvas = make('canvas', { role: 'img' });
    this.element = make('div', { class: 'chart' }, this.canvas);
    this.element.hidden = true;
    this.chart = null;
    this.create = () => new window.Chart(this.canvas, {
      type,
      data: { labels: [], datasets: [] },
      options: {
        animation: false,
        maintainAspectRatio: false,
        plugins: { legend: { labels: { usePointStyle: type === 'line', boxWidth: type === 'line' ? 8 : 40 } } },
        scales: structuredClone(scales),
      },
    });
    document.addEventListener('theme', () => this.paint());
  }

  // `datasets` as Chart.js takes them, with `look`: a function that gives the colours as the theme has them now.
  show(labels, datasets, description) {
    this.canvas.setAttribute('aria-label', description);
    if (!window.Chart) return; // the tables say the same
    this.element.hidden = false;
    this.chart ||= this.create();
    this.chart.data = { labels, datasets };
    this.paint();
  }

  hide() {
    this.element.hidden = true;
  }

  paint() {
    if (!this.chart) return;
    for (const one of Object.values(this.chart.options.scales)) {
      one.ticks.color = one.title.color = colour('--muted');
      one.grid.color = colour('--line');
    }
    this.chart.options.plugins.legend.labels.color = colour('--text');
    for (const dataset of this.chart.data.datasets) Object.assign(dataset, dataset.look());
    this.chart.update();
  }
}

// Of a logarithmic axis' many marks only 1, 2, 5, 10, … have room for their numbers.
function markOf(value) {
  const first = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
  return [1, 2, 5].includes(first) ? figure(value) : '';
}

// The parts of a row's time, by name; without transfers only the kernel's of a device's.
export function partsOf(row, transfers) {
  if (!row.kernel) return { compute: row.time.median };
  if (!transfers) return { kernel: row.kernel.median };
  const parts = { kernel: row.kernel.median, upload: row.upload.median, download: row.download.median };
  parts.other = Math.max(0, row.time.median - parts.kernel - parts.upload - parts.download);
  return parts;
}

export class BarChart extends TimingChart {
  constructor() {
    super('bar', {
      x: axis('', { stacked: true, title: { display: false }, grid: { display: false } }),
      y: axis('ms', { stacked: true, beginAtZero: true }),
    });
  }

  showRows(rows, transfers, description) {
    const parts = rows.map((row) => partsOf(row, transfers));
    const names = Object.keys(LOOKS).filter((name) => parts.some((part) => part[name] !== undefined));
    const datasets = names.map((name) => ({
      label: say(`timing_${name}`),
      data: parts.map((part) => part[name] ?? null),
      maxBarThickness: 90,
      borderWidth: 1,
      look: () => ({ backgroundColor: LOOKS[name](), borderColor: colour('--text') }),
    }));
    this.show(rows.map((row) => row.label), datasets, description);
    if (this.chart) this.chooseAxis(rows, names, transfers);
  }

  // Backends may differ a thousandfold; but parts of a bar can be compared on a linear axis only.
  chooseAxis(rows, names, transfers) {
    const totals = rows.map((row) => Object.values(partsOf(row, transfers)).reduce((a, b) => a + b, 0));
    const log = names.every((name) => name === 'compute' || name === 'kernel') && Math.max(...totals) > LOG_FROM * Math.min(...totals);
    const { y } = this.chart.options.scales;
    y.type = log ? 'logarithmic' : 'linear';
    y.beginAtZero = !log;
    y.min = log ? 10 ** Math.floor(Math.log10(Math.min(...totals) / 2)) : undefined;
    y.title.text = say(log ? 'timing_log_axis' : 'timing_axis');
    y.ticks.callback = (value) => (log ? markOf(value) : figure(value));
    this.chart.update();
  }
}

export class SizeChart extends TimingChart {
  constructor() {
    super('line', {
      x: axis(say('timing_side_px'), { type: 'logarithmic' }),
      y: axis('ms', { type: 'logarithmic' }),
    });
  }

  // `series`: {label, points: [{x, y}]} each.
  showSeries(series, description) {
    const sides = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
    const datasets = series.map(({ label, points }, i) => {
      const { name, ...line } = LINES[i % LINES.length];
      const look = () => ({ borderColor: colour(name), backgroundColor: colour(name) });
      return { label, data: points, pointRadius: 5, clip: 8, borderWidth: 2, ...line, look };
    });
    this.show([], datasets, description);
    if (!this.chart) return;
    const { x, y } = this.chart.options.scales;
    [x.min, x.max] = [sides[0], sides.at(-1)];
    // The sides that were measured, instead of powers of ten.
    x.afterBuildTicks = (scale) => {
      scale.ticks = sides.map((value) => ({ value }));
    };
    x.ticks.callback = (value) => String(value);
    y.ticks.callback = (value) => markOf(value);
    this.chart.update();
  }
}
