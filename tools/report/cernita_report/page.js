// Theme and charts of the report. Without it the tables are there.
(() => {
  const COLOURS = ['--accent', '--muted', '--warning', '--good', '--text'];
  const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2]]; // as colours alone tell nothing to some
  const root = document.documentElement;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const charts = [];

  const ticksOf = (labels) => Math.max(2, Math.min(9, Math.floor(window.innerWidth / (16 * labels[0].length))));

  function create({ id, labels, sets }) {
    return new window.Chart(document.getElementById(id), {
      type: 'line',
      data: { labels, datasets: sets.map(({ label, values }, i) => ({ label, data: values, borderDash: DASHES[i] })) },
      options: {
        animation: false,
        maintainAspectRatio: false,
        events: [],
        elements: { point: { radius: 0 }, line: { borderWidth: 2, tension: 0 } },
        plugins: { legend: { display: sets.length > 1, labels: { boxHeight: 0, boxWidth: 48 } }, tooltip: { enabled: false } },
        scales: {
          x: { grid: { display: false }, ticks: { maxTicksLimit: ticksOf(labels), maxRotation: 0 } },
          y: { beginAtZero: true },
        },
      },
    });
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    for (const chart of charts) {
      chart.options.plugins.legend.labels.color = colour('--text');
      for (const axis of Object.values(chart.options.scales)) {
        axis.ticks.color = colour('--muted');
        axis.grid.color = colour('--line');
      }
      chart.data.datasets.forEach((set, i) => { set.borderColor = colour(COLOURS[i]); });
      chart.resize();
      chart.update();
    }
  }

  if (window.Chart) {
    window.Chart.defaults.font.size = 16;
    charts.push(...JSON.parse(document.getElementById('charts').textContent).map(create));
  }
  let theme = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  setTheme(theme);
  document.getElementById('theme').addEventListener('click', () => {
    theme = theme === 'dark' ? 'light' : 'dark';
    setTheme(theme);
  });
  window.addEventListener('beforeprint', () => setTheme('light'));
  window.addEventListener('afterprint', () => setTheme(theme));
})();
