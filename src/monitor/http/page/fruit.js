// The page of one fruit: why it is as it is, its views, and where its time went.
import { byId, make, setHeadline, setText, startFrame } from './frame.js';
import { drawView, legend, sayIncomplete } from './fruit/picture.js';
import { sayWhy } from './fruit/why.js';
import { drawMap } from './surface/map.js';
import { classColours, measuresOf, sayMeasures } from './surface/measures.js';
import { figure, milliseconds, number, say, squareMillimetres, squarePixels, timeOfDay } from './words.js';

const [, , lane, epoch, fruit] = location.pathname.split('/');

function headlineOf(verdict) {
  const { total } = verdict.latency_ms;
  if (verdict.verdict === 'late') return ['bad', say('fruit_late')];
  if (total > verdict.budget_ms) return ['bad', say('fruit_over')];
  return verdict.verdict === 'partial' ? ['warning', say('fruit_partial')] : ['good', say('fruit_complete')];
}

// --- the waterfall: rows of bars on one axis of time, which begins with the reception of the first view ---

function place(element, fromMs, toMs, axisMs) {
  element.style.left = `${(100 * fromMs) / axisMs}%`;
  if (toMs !== null) element.style.width = `${Math.max(0.4, (100 * (toMs - fromMs)) / axisMs)}%`;
}

function bar(kind, fromMs, toMs, axisMs) {
  const text = `${say(kind)} ${milliseconds(toMs - fromMs)}`;
  const element = make('span', { class: `bar ${kind}`, title: text });
  place(element, fromMs, toMs, axisMs);
  return element;
}

function mark(kind, atMs, axisMs) {
  const element = make('span', { class: `mark ${kind}` });
  place(element, atMs, null, axisMs);
  return element;
}

function rowText(state) {
  const words = [say('view_states')[state.state]];
  if (state.reason) words.push(`(${state.reason})`);
  if (state.backend) words.push(state.backend);
  if (state.queue_ms !== null) words.push(`${say('waited')} ${milliseconds(state.queue_ms)}`);
  if (state.run_ms !== null) words.push(`${say('ran')} ${milliseconds(state.run_ms)}`);
  return words.join(' · ');
}

function viewRow(state, marks, axisMs) {
  const track = make('div', { class: 'track', 'aria-hidden': 'true' }, ...marks.map(([kind, at]) => mark(kind, at, axisMs)));
  if (state.received_ms !== null) {
    const begun = state.received_ms + (state.queue_ms || 0);
    track.append(bar('waited', state.received_ms, begun, axisMs));
    if (state.run_ms !== null) track.append(bar('ran', begun, begun + state.run_ms, axisMs));
  }
  return make('li', { 'data-state': state.state, 'data-view': state.view },
    make('strong', {}, say('view', state.view)), track, make('span', { class: 'why' }, rowText(state)));
}

function showWaterfall(verdict) {
  const closed = verdict.assembly_ms;
  const published = closed + verdict.latency_ms.total;
  const budgetEnd = closed + verdict.budget_ms;
  const ends = verdict.view_states.filter((state) => state.received_ms !== null)
    .map((state) => state.received_ms + (state.queue_ms || 0) + (state.run_ms || 0));
  const axisMs = 1.03 * Math.max(published, Math.min(budgetEnd, 4 * published), ...ends);
  const moments = [['closed', closed], ['published', published], ['budget-end', budgetEnd]];
  const marks = moments.filter(([, at]) => at <= axisMs);
  const limit = say('budget_line', milliseconds(verdict.budget_ms));
  const names = { closed: say('closed'), published: say('published'), 'budget-end': limit };
  byId('waterfall').append(
    make('ul', { class: 'marks' }, ...moments.map(([kind, at]) =>
      make('li', {}, make('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), `${names[kind]} `, make('strong', {}, milliseconds(at))))),
    make('ul', { class: 'rows' }, ...verdict.view_states.map((state) => viewRow(state, marks, axisMs))),
  );
}

function showParts(verdict) {
  const rows = [];
  for (const [name, ms] of Object.entries(verdict.latency_ms)) {
    const word = ['queue', 'pose', 'surface', 'total'].includes(name) ? say(name) : name;
    rows.push([word, ms]);
  }
  const known = rows.slice(0, -1).reduce((sum, [, ms]) => sum + ms, 0);
  rows.splice(-1, 0, [say('rest'), Math.max(0, verdict.latency_ms.total - known)]);
  for (const [word, ms] of rows) byId('parts').append(make('tr', {}, make('td', {}, word), make('td', {}, figure(ms))));
}

// Of all pictures, and where the fruit was measured each defect once.
function showTotals(verdict) {
  const measures = measuresOf(verdict);
  byId('on-fruit-head').hidden = byId('mm2-head').hidden = !measures;
  for (const [name, total] of Object.entries(verdict.totals)) {
    const row = make('tr', {}, make('td', {}, name), make('td', {}, number(total.count)), make('td', {}, squarePixels(total.area_px)));
    const measure = measures?.classes[name];
    if (measure) row.append(make('td', {}, number(measure.count)), make('td', {}, squareMillimetres(measure.area_mm2)));
    byId('totals').append(row);
  }
}

function showMeasures(verdict, colours) {
  const text = sayMeasures(verdict);
  byId('measures').hidden = !text;
  setText(byId('measured'), text);
  if (measuresOf(verdict)) byId('measured').before(drawMap(verdict, colours, fruit), legend(verdict, colours));
}

function showIncomplete(verdict) {
  const text = sayIncomplete(verdict);
  if (text) byId('totals').parentElement.after(make('p', { class: 'note' }, text));
}

function show(data) {
  const { verdict } = data;
  const budget = milliseconds(verdict.budget_ms);
  const colours = classColours(verdict);
  setHeadline(...headlineOf(verdict),
    say('took', milliseconds(verdict.latency_ms.total), budget, timeOfDay(verdict.published_ns / 1e9)));
  setText(byId('action'), sayWhy(verdict));
  byId('found').hidden = false;
  showWaterfall(verdict);
  showParts(verdict);
  showTotals(verdict);
  showMeasures(verdict, colours);
  showIncomplete(verdict);
  for (const view of data.views) {
    byId('pictures').append(make('figure', {}, drawView(data, view, colours, fruit), make('figcaption', {}, say('view', view.view))));
  }
  byId('no-photos').hidden = data.photos !== null;
  setText(byId('ask-why'), say('ask_why', `cernita-why ${location.host} ${lane} ${fruit} --epoch ${epoch}`));
}

async function load() {
  const answer = await fetch(`/fruits/${lane}/${epoch}/${fruit}.json`);
  if (answer.ok) show(await answer.json());
  else if (answer.status === 404) setHeadline('none', say('not_found'), say('not_found_hint'));
  else setHeadline('none', say('no_answer'), '');
}

startFrame();
document.title = `${say('fruit_name', lane, fruit)} – cernita`;
setText(byId('title'), say('fruit_name', lane, fruit));
load().catch(() => setHeadline('none', say('no_answer'), ''));
