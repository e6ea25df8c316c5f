// The histogram of latencies, with a line where the budget ends.
import { byId, make, setText } from './frame.js';
import { figure, milliseconds, number, percent, quantile, say } from './words.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

let chart = null;
let drawn = null; // what is shown now: {edges, counts, budget}

const budgetLine = {
  id: 'budget-line',
  afterDatasetsDraw(of) {
    if (!drawn) return;
    const { ctx, chartArea, scales } = of;
    const edge = drawn.edges.indexOf(drawn.budget);
    const x = (scales.x.getPixelForValue(edge) + scales.x.getPixelForValue(edge + 1)) / 2;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour('--text');
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 4]);
    ctx.beginPath();
    ctx.moveTo(x, chartArea.top);
    ctx.lineTo(x, chartArea.bottom);
    ctx.stroke();
    ctx.font = '600 16px system-ui, sans-serif';
    ctx.textAlign = 'right';
    ctx.setLineDash([]);
    ctx.strokeStyle = colour('--card'); // around the letters, as they may lie on a bar
    ctx.lineWidth = 4;
    ctx.strokeText(say('budget_line', milliseconds(drawn.budget)), x - 8, chartArea.top + 16);
    ctx.fillText(say('budget_line', milliseconds(drawn.budget)), x - 8, chartArea.top + 16);
    ctx.restore();
  },
};

function create() {
  window.Chart.defaults.font.size = 16;
  return new window.Chart(byId('histogram'), {
    type: 'bar',
    data: { labels: [], datasets: [{ data: [], minBarLength: 4, categoryPercentage: 1, barPercentage: 0.9 }] },
    options: {
      animation: false,
      maintainAspectRatio: false,
      events: [],
      plugins: { legend: { display: false }, tooltip: { enabled: false } },
      scales: {
        x: { title: { display: true, text: 'ms' }, grid: { display: false } },
        y: { beginAtZero: true, ticks: { precision: 0 }, title: { display: true, text: say('fruits') } },
      },
    },
    plugins: [budgetLine],
  });
}

// Sets the colours, which the theme decides; options are not touched otherwise, so that nothing is computed anew.
function paint() {
  for (const axis of Object.values(chart.options.scales)) {
    axis.ticks.color = axis.title.color = colour('--muted');
    axis.grid.color = colour('--line');
  }
  const budgetEdge = drawn.edges.indexOf(drawn.budget);
  chart.data.datasets[0].backgroundColor = drawn.edges.concat(0).map((_, i) => colour(i <= budgetEdge ? '--muted' : '--bad'));
}

function fillTable(labels, counts) {
  const body = byId('histogram-table');
  while (body.rows.length < counts.length) body.append(make('tr', {}, make('td'), make('td')));
  counts.forEach((count, i) => {
    setText(body.rows[i].cells[0], labels[i]);
    setText(body.rows[i].cells[1], number(count));
  });
}

// The daemon was built without Chart.js.
function showTableOnly() {
  byId('histogram').parentElement.hidden = true;
  document.querySelector('#latency details').open = true;
}

// Shows these counts; the last one is of all that lie beyond the edges.
export function showHistogram(edges, counts, budget, latency) {
  const last = edges[edges.length - 1];
  const same = drawn && drawn.budget === budget && drawn.counts.every((count, i) => count === counts[i]);
  if (same) return;
  drawn = { edges, counts, budget };
  fillTable([...edges.map(milliseconds), say('above', milliseconds(last))], counts);
  if (!window.Chart) {
    showTableOnly();
    return;
  }
  if (!chart) {
    chart = create();
    paint();
  }
  chart.data.labels = [...edges.map(figure), `> ${figure(last)}`];
  chart.data.datasets[0].data = counts.map((count) => (count > 0 ? count : null));
  chart.update();
  byId('histogram').setAttribute('aria-label', say('chart', number(counts.reduce((a, b) => a + b, 0)),
    percent(latency.within_budget), quantile(latency.p99, edges)));
}

document.addEventListener('theme', () => {
  if (!chart) return;
  paint();
  chart.update();
});
