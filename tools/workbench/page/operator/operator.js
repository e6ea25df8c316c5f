// The Operator mode: what to run, whether it may run, and running it.
import { Refusal, get, newToken, post, remove } from '../api.js';
import { copyText, onControlEnter } from '../controls.js';
import { byId, make, setText } from '../frame.js';
import { OptionsForm, argsOf } from './options.js';
import { windowsOf } from '../pixels.js';
import { Result } from './result.js';
import { showSaves } from './save.js';
import { parseTimes } from '../times.js';
import { duration, number, say } from '../words.js';

const CHECK_MS = 120; // after the last change
const QUIET_MS = 300; // a job that takes no longer shows no progress
const POLL_MS = 250;
const WARM_MS = 500; // for warm runs, after one that took less
const WARM_RUNS = 9;
const MIDDLE = { u8: '128', u16: '32768', f16: '0.5', f32: '0.5' };

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const sizeText = ({ width, height }) => (width === height ? String(width) : `${width}x${height}`);

// Of a pyramid's windows the first whose positions give a picture worth looking at; the largest fit almost nowhere else.
const firstShown = ({ values, windows, input }) => (values.pyramid
  ? Math.max(windows.findIndex(({ width }) => width <= input.width / 8), 0) : 0);

// What shows best; the numbers as they are.
const outOf = (operator) => (operator.outputs.includes('tif') ? 'tif' : 'json');

export class Operator {
  constructor(app) {
    this.app = app;
    this.listeners = [];
    this.token = null; // of the job that runs
    this.warmToken = null; // of the one that measures its warm times afterwards
    this.waits = false; // a run for the check's end
    this.checked = { valid: false, reason: '' };
    this.sequence = 0;
    this.result = new Result(app, (window) => this.run(window), (backend) => this.runAsA(backend));
    this.form = new OptionsForm(byId('options'), app, () => this.changed());
    this.fill();
    this.listen();
    app.onselect(() => this.follow());
  }

  fill() {
    const { operators, backends, cores } = this.app.catalogue;
    const set = this.app.settings.get('operator');
    byId('operator-name').append(...operators.map(({ name }) => make('option', { value: name }, name)));
    for (const { name, why } of backends) {
      const option = make('option', { value: name }, why ? `${name} – ${say('unavailable')}` : name);
      option.disabled = Boolean(why);
      byId('backend').append(option);
    }
    const usable = backends.filter(({ why }) => !why).map(({ name }) => name);
    byId('backend').value = [set.backend, 'openmp', ...usable].find((name) => usable.includes(name)) || '';
    setText(byId('backend-why'), backends.filter(({ why }) => why).map(({ name, why }) => `${name}: ${why}`).join('; '));
    byId('threads').value = set.threads || '';
    setText(byId('threads-help'), say('threads_help', cores));
    const operator = operators.find(({ name }) => name === set.operator) || operators[0];
    const { operator: _, backend, threads, ...values } = set;
    byId('operator-name').value = operator.name;
    this.choose(operator, Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === 'string')));
  }

  listen() {
    byId('operator-name').addEventListener('change', () => {
      this.choose(this.app.catalogue.operators.find(({ name }) => name === byId('operator-name').value));
      this.changed();
    });
    for (const id of ['backend', 'threads']) byId(id).addEventListener('input', () => this.changed());
    byId('job-form').addEventListener('submit', (event) => {
      event.preventDefault();
      if (!byId('run').disabled) this.run();
    });
    byId('cancel').addEventListener('click', () => this.cancel());
    onControlEnter(byId('operator'), () => this.runSoon());
    for (const name of ['command', 'python']) byId(`copy-${name}`).addEventListener('click', () => copyText(byId(name), (text) => this.app.tell(text)));
  }

  // A check that is under way comes first.
  runSoon() {
    this.waits = !this.checked.valid && !this.checked.reason;
    if (!byId('run').disabled) this.run();
  }

  choose(operator, values = null) {
    this.operator = operator;
    setText(byId('operator-about'), operator.about);
    this.form.show(operator, values);
    const picture = this.app.current();
    if (picture) this.form.suggest('level', this.middle || MIDDLE[picture.type]);
  }

  // Another picture is selected, or there are more of them for kernels and elements.
  async follow() {
    const picture = this.app.current();
    this.middle = null;
    this.form.show(this.operator, this.form.changed());
    this.changed();
    this.result.clear();
    const range = await this.result.showInput(picture);
    if (!picture || this.app.current() !== picture) return;
    const probabilities = range && range.min >= 0 && range.max <= 1;
    const own = picture.type.startsWith('f') && range && !probabilities;
    this.middle = own ? String(Number(((range.min + range.max) / 2).toPrecision(4))) : MIDDLE[picture.type];
    this.form.suggest('level', this.middle);
  }

  common() {
    const threads = byId('threads').value.trim();
    return ['--backend', byId('backend').value, ...(threads ? ['--threads', threads] : [])];
  }

  job() {
    return { operator: this.operator.name, args: argsOf(this.operator, this.form.values(), outOf(this.operator)) };
  }

  // All that a run needs, as it is now: the form may change while it runs.
  order() {
    const values = this.form.values();
    const input = this.operator.input ? this.app.current() : null;
    return { operator: this.operator, values, input, common: this.common(), out: outOf(this.operator),
      windows: this.operator.name === 'ranklet' && input ? windowsOf(values, input) : [] };
  }

  changed() {
    this.app.settings.set('operator', { operator: this.operator.name, backend: byId('backend').value,
      ...(byId('threads').value ? { threads: byId('threads').value } : {}), ...this.form.changed() });
    this.sequence += 1;
    clearTimeout(this.timer);
    this.say(false, '', say('checking'));
    this.timer = setTimeout(() => this.check(this.sequence), CHECK_MS);
  }

  // Why it cannot even be asked.
  obstacle() {
    const picture = this.app.current();
    if (this.operator.input && !picture) return say('no_picture');
    if (this.operator.input && picture.kind === 'recording') return say('choose_view');
    const bad = byId('threads').validity.badInput ? 'threads' : this.form.badNumber();
    return bad ? say('no_number', bad) : '';
  }

  async check(sequence) {
    let reason = this.obstacle();
    let answer = null;
    if (!reason) {
      try {
        const order = this.order();
        answer = await this.ask(order, order.out, newToken(), { check: true });
      } catch (error) {
        reason = error.message;
      }
    }
    if (sequence !== this.sequence) return; // the form has changed meanwhile
    this.form.mark(reason);
    this.say(!reason, reason, reason || say('valid'));
    byId('commands').hidden = !answer;
    if (!answer) return;
    setText(byId('command'), answer.command);
    setText(byId('python'), answer.python);
    if (this.waits && !byId('run').disabled) this.run();
    this.waits = false;
  }

  say(valid, reason, text) {
    this.checked = { valid, reason };
    this.text = text;
    this.update();
    for (const listener of this.listeners) listener(this.checked);
  }

  update() {
    const { valid, reason } = this.checked;
    byId('run').disabled = !valid || this.token !== null;
    byId('cancel').disabled = this.token === null;
    byId('reason').dataset.level = reason ? 'bad' : valid ? 'good' : 'none';
    setText(byId('reason'), this.token === null ? this.text : '');
  }

  // A run also gives the operator's own time; the shown command line has no --time, as it comes from the check. `repeat`:
  // warm runs, whose result is not kept.
  ask(order, out, token, { check = false, repeat = 0, values = order.values } = {}) {
    const from = order.input ? `in=${order.input.id}&` : '';
    const time = check ? [] : ['--time', ...(repeat ? ['--repeat', repeat] : [])];
    const lines = [order.operator.name, ...argsOf(order.operator, values, out), ...order.common, ...time];
    return post(`/apply?${from}out=${out}&job=${token}${check ? '&check=1' : ''}${repeat ? '&keep=0' : ''}`, lines.join('\n'));
  }

  // Warm times of results that have none, unless they took long; another run goes before them.
  async measure(outputs) {
    const token = newToken();
    this.warmToken = token;
    for (const output of outputs.filter(({ cold, warm }) => !warm && cold <= WARM_MS)) {
      try {
        const repeat = Math.min(WARM_RUNS, Math.max(Math.floor(WARM_MS / output.cold), 1));
        const answer = await this.ask(output.order, output.order.out, token, { repeat, values: output.values });
        this.result.setWarm(output, parseTimes(answer.output).time);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
      if (this.warmToken !== token) return;
    }
    this.warmToken = null;
  }

  // Runs it with progress; null if the reader has cancelled it or it failed, which is then said.
  async execute(order, out, values = order.values) {
    if (this.token) return null;
    const token = newToken();
    this.token = token;
    if (this.warmToken) remove(`/jobs/${this.warmToken}`).catch(() => {}); // it may have ended just now
    this.warmToken = null;
    this.update();
    this.pollProgress(token);
    try {
      return await this.ask(order, out, token, { values });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 409) this.app.tell(say('cancelled'));
      else this.app.warn(error.message);
      return null;
    } finally {
      this.token = null;
      byId('progress-box').hidden = true;
      this.update();
    }
  }

  async pollProgress(token) {
    const start = Date.now();
    await sleep(QUIET_MS);
    while (this.token === token) {
      let state = null;
      try {
        state = await get(`/jobs/${token}`);
      } catch {
        // Its POST says what is wrong.
      }
      if (this.token !== token) return;
      this.showProgress(state || { state: 'unknown' }, (Date.now() - start) / 1000);
      await sleep(POLL_MS);
    }
  }

  showProgress({ state, ahead, done, total, unit }, seconds) {
    const bar = byId('progress');
    byId('progress-box').hidden = false;
    if (state === 'running' && total > 0) bar.value = Math.min(done / total, 1);
    else bar.removeAttribute('value'); // it moves without a length
    const part = total > 1 ? `, ${say('part', number(done), number(total), unit || '')}` : '';
    setText(byId('progress-text'), state === 'waiting' ? say('job_waiting', ahead || 0) : `${say('job_running', duration(seconds))}${part}`);
  }

  async cancel() {
    if (!this.token) return;
    try {
      await remove(`/jobs/${this.token}`);
    } catch (error) {
      this.app.warn(error.message);
    }
  }

  // An Output; null if it was not made or cannot be shown, which is then said. `window`: which of several windows of
  // ranklets; they are computed one at a time.
  async make(order, window) {
    this.app.warn('');
    this.app.tell('');
    const values = order.windows.length > 1 ? { windows: sizeText(order.windows[window]) } : order.values;
    const answer = await this.execute(order, order.out, values);
    if (!answer || (order.input && this.app.current() !== order.input)) return null;
    try {
      return await this.result.load(order, values, answer, window);
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof RangeError)) throw error;
      this.app.warn(say('cannot_show', error.message));
      showSaves(byId('save'), this, { order, picture: order.windows.length > 1 ? null : answer.result });
      return null;
    }
  }

  async run(wanted = null) {
    const order = wanted === null ? this.order() : this.result.output.order;
    const output = await this.make(order, wanted === null ? firstShown(order) : wanted);
    if (!output) return;
    this.result.show(output);
    // On a phone the output lies below the form.
    if (matchMedia('(max-width: 60rem)').matches) byId('output-figure').scrollIntoView({ block: 'nearest' });
    showSaves(byId('save'), this, { order, picture: order.windows.length > 1 ? null : output.answer.result });
    this.measure(this.result.compare.a ? [output, this.result.compare.a] : [output]);
  }

  // The shown result again, by another backend, to compare both.
  async runAsA(backend) {
    const { output: b } = this.result;
    const threads = b.order.common.slice(2);
    const order = { ...b.order, common: ['--backend', backend, ...threads] };
    const a = await this.make(order, Math.max(order.windows.indexOf(b.window), 0));
    if (!a || this.result.output !== b) return;
    this.result.showA(a);
    this.measure([b, a]);
  }
}
