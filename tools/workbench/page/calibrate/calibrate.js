// Calibrate mode: a camera's scale from a picture of a target, and what was found of it, drawn.
import { Refusal, planesOf, post } from '../api.js';
import { copyText, makeButton, makeSelect, onControlEnter } from '../controls.js';
import { make, setText } from '../frame.js';
import { toRgba } from '../pixels.js';
import { Viewer } from '../viewer.js';
import { say } from '../words.js';

const TARGETS = ['disc', 'chequerboard'];
const SIZES = { disc: 64, chequerboard: 10 }; // mm, to begin with

// Seen on any ground: the colour over black.
function strokeTwice(context, scale, colour) {
  for (const [ink, width] of [['#000', 3.6], [colour, 1.6]]) {
    context.strokeStyle = ink;
    context.lineWidth = width / scale;
    context.stroke();
  }
}

// The lines of rows and columns, and a cross at each corner.
function drawCorners(context, scale, corners) {
  const at = new Map(corners.map((corner) => [`${corner.column} ${corner.row}`, corner]));
  context.beginPath();
  for (const { x, y, column, row } of corners) {
    for (const next of [at.get(`${column + 1} ${row}`), at.get(`${column} ${row + 1}`)]) {
      if (!next) continue;
      context.moveTo(x + 0.5, y + 0.5);
      context.lineTo(next.x + 0.5, next.y + 0.5);
    }
  }
  strokeTwice(context, scale, '#33ccff');
  context.beginPath();
  const arm = 5 / scale;
  for (const { x, y } of corners) {
    context.moveTo(x + 0.5 - arm, y + 0.5 - arm);
    context.lineTo(x + 0.5 + arm, y + 0.5 + arm);
    context.moveTo(x + 0.5 - arm, y + 0.5 + arm);
    context.lineTo(x + 0.5 + arm, y + 0.5 - arm);
  }
  strokeTwice(context, scale, '#ffc71a');
}

function drawDisc(context, scale, { x, y, rx, ry }) {
  context.beginPath();
  context.ellipse(x + 0.5, y + 0.5, rx, ry, 0, 0, 2 * Math.PI);
  strokeTwice(context, scale, '#ffc71a');
}

class Calibrate {
  constructor(section, app) {
    this.section = section;
    this.app = app;
    this.found = null;
    const stored = app.settings.get('calibrate');
    this.sizes = { ...SIZES };
    this.target = makeSelect(TARGETS.map((name) => [name, say(`calibrate_${name}`)]));
    this.target.value = TARGETS.includes(stored.target) ? stored.target : TARGETS[0];
    if (stored.mm > 0) this.sizes[this.target.value] = stored.mm;
    this.size = make('input', { type: 'number', min: 0.1, max: 1e5, step: 'any', required: '' });
    this.sizeWord = make('span');
    this.target.addEventListener('input', () => this.choose());
    this.size.addEventListener('input', () => this.keep());
    this.run = makeButton(say('calibrate_run'), () => this.find(), { class: 'main-action' });
    onControlEnter(section, () => this.run.click());
    this.alert = make('p', { class: 'chain-alert', role: 'alert' });
    this.notes = make('ul', { lang: 'en' });
    this.lines = make('pre', { tabindex: 0, role: 'region', 'aria-label': say('calibrate_lines') });
    this.copied = make('span', { role: 'status' });
    this.result = make('div', { hidden: '' }, make('h3', {}, say('calibrate_lines')), make('div', { class: 'chain-yaml chain-scroll' }, this.lines),
      make('p', { class: 'chain-row' }, makeButton(say('copy'), () => copyText(this.lines, (text) => setText(this.copied, text))), this.copied));
    this.figure = make('figure');
    this.viewer = new Viewer(this.figure);
    this.viewer.canvas.setAttribute('aria-label', say('calibrate_picture'));
    this.viewer.overlay = (context, transform) => this.draw(context, transform);
    section.append(make('h2', { class: 'unseen' }, say('calibrate_title')), make('p', { class: 'note' }, say('calibrate_about')),
      make('div', { class: 'chain-row' }, make('label', { class: 'chain-field' }, `${say('calibrate_target')} `, this.target),
        make('label', { class: 'chain-field' }, this.sizeWord, this.size, ' mm'), this.run),
      this.alert, this.notes, this.result, this.figure);
    this.choose();
  }

  choose() {
    setText(this.sizeWord, `${say(`calibrate_size_${this.target.value}`)} `);
    this.size.value = this.sizes[this.target.value];
    this.keep();
  }

  // What was found is no longer that of the settings.
  keep() {
    if (this.size.valueAsNumber > 0) this.sizes[this.target.value] = this.size.valueAsNumber;
    this.app.settings.set('calibrate', { target: this.target.value, mm: this.sizes[this.target.value] });
    this.show(null);
  }

  // Another picture is selected, or the mode is shown.
  async follow() {
    const picture = this.app.current();
    if (this.section.clientWidth === 0 || picture?.id === this.shown) return;
    this.shown = picture?.id;
    this.show(null);
    this.viewer.show(null);
    this.run.disabled = !picture || picture.kind === 'recording';
    if (this.run.disabled) return;
    const count = picture.samples === 3 ? 3 : 1;
    const values = await planesOf(picture, 0, count).catch((error) => setText(this.alert, error.message));
    if (values && this.shown === picture.id) this.viewer.show(toRgba(picture, values, count));
  }

  async find() {
    const picture = this.app.current();
    this.show(null);
    if (!this.size.reportValidity()) return;
    try {
      this.show(await post(`/calibrate?in=${picture.id}`, `${this.target.value}\n${this.size.value}`));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(this.alert, error.message);
    }
  }

  show(found) {
    this.found = found;
    setText(this.alert, '');
    this.result.hidden = !found;
    setText(this.lines, found ? found.lines : '');
    this.notes.replaceChildren(...(found ? found.notes : []).map((text) => make('li', {}, text)));
    this.viewer?.redraw();
  }

  draw(context, { scale, x, y }) {
    if (!this.found) return;
    context.save();
    context.translate(x, y);
    context.scale(scale, scale);
    if (this.found.corners) drawCorners(context, scale, this.found.corners);
    else drawDisc(context, scale, this.found.disc);
    context.restore();
  }
}

export function startCalibrate(section, app) {
  const calibrate = new Calibrate(section, app);
  section.mode = calibrate; // for tests
  app.onselect(() => calibrate.follow());
  new ResizeObserver(() => calibrate.follow()).observe(section);
}
