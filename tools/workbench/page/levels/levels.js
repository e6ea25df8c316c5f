// Levels mode: precision and recall of each class over labelled recordings, by level, and the levels to take.
import { Refusal, get, newToken, post, remove } from '../api.js';
import { copyText, headRow, makeButton, makeSelect, onControlEnter, tableRow } from '../controls.js';
import { make, setText } from '../frame.js';
import { number, say } from '../words.js';
import { composeClasses, composeYaml } from '../chain/steps.js';
import { drawCurve, drawKey } from './curve.js';

const POLL_MS = 300;

const share = (value) => (value === null || value === undefined ? '–' : value.toFixed(3));

// By views where these are labelled, else by pixels; null where nothing is.
const curveOf = (one) => one.by_view || one.by_pixel;

class Levels {
  constructor(section, app) {
    this.section = section;
    this.app = app;
    this.answer = null;
    this.stored = app.settings.get('levels');
    this.recordings = make('select');
    this.labels = make('select');
    this.rule = makeSelect([['f1', say('levels_by_f1')], ['recall', say('levels_by_recall')]], { 'data-rule': '' });
    this.rule.value = this.stored.rule === 'recall' ? 'recall' : 'f1';
    this.recall = make('input', { type: 'number', min: 0, max: 100, step: 1 });
    this.recall.value = this.stored.recall >= 0 && this.stored.recall <= 100 ? this.stored.recall : 95;
    for (const control of [this.rule, this.recall]) control.addEventListener('input', () => this.show());
    this.run = makeButton(say('levels_run'), () => this.start(), { class: 'main-action' });
    onControlEnter(section, () => this.run.click());
    this.cancel = makeButton(say('cancel'), () => remove(`/jobs/${this.token}`).catch(() => {}));
    this.cancel.disabled = true;
    this.status = make('p', { class: 'note', role: 'status' });
    this.alert = make('p', { class: 'chain-alert', role: 'alert' });
    this.missing = make('p', {}, say('levels_missing'));
    this.form = make('div', {}, make('div', { class: 'chain-row' }, this.field('levels_recording', this.recordings),
      this.field('levels_labels', this.labels), this.run, this.cancel));
    this.result = make('div', { hidden: '' });
    this.newest = 0; // of the labels' ids
    section.append(make('h2', { class: 'unseen' }, say('levels_title')), make('p', { class: 'note' }, say('levels_about')), this.missing,
      this.folderRow(), this.form, this.status, this.alert, this.result);
    this.build();
  }

  field(word, control) {
    return make('label', { class: 'chain-field' }, `${say(word)} `, control);
  }

  folderRow() {
    const input = make('input', { type: 'file', webkitdirectory: '', hidden: '', 'data-folder': '' });
    input.addEventListener('change', async () => {
      const files = [...input.files];
      const [name] = (files[0]?.webkitRelativePath || '').split('/');
      // The folder's own, not those of folders in it.
      if (name) await this.app.openLabels(name, files.filter((file) => file.webkitRelativePath === `${name}/${file.name}`));
      input.value = '';
    });
    return make('div', { class: 'chain-row' }, makeButton(say('levels_folder'), () => input.click()), input,
      make('span', { class: 'note' }, say('levels_folder_hint')));
  }

  build() {
    this.seen = make('p', { class: 'facts' });
    this.body = make('tbody');
    this.curves = make('ul', { class: 'level-curves', 'aria-label': say('levels_curves') });
    this.yaml = make('pre', { tabindex: 0, role: 'region', 'aria-label': say('levels_yaml') });
    this.copied = make('span', { role: 'status' });
    this.recallField = make('label', { class: 'chain-field' }, `${say('levels_recall')} `, this.recall, ' %');
    const columns = ['class', 'by', 'labelled', 'positives', 'level', 'precision', 'recall', 'f1'].map((name) => say(`levels_col_${name}`));
    this.result.append(this.seen, make('div', { class: 'chain-row' }, this.field('levels_rule', this.rule), this.recallField),
      make('div', { class: 'chain-scroll', tabindex: 0, role: 'region', 'aria-label': say('levels_table') },
        make('table', {}, make('caption', {}, say('levels_table')), make('thead', {}, headRow(...columns)), this.body)),
      make('h3', {}, say('levels_curves')),
      make('ul', { class: 'found' }, ...['precision', 'recall', 'f1'].map((name) => make('li', {}, drawKey(name), ` ${say(`levels_col_${name}`)}`))),
      this.curves, make('h3', {}, say('levels_yaml')), make('p', { class: 'note' }, say('levels_yaml_about')),
      make('div', { class: 'chain-yaml' }, this.yaml),
      make('p', { class: 'chain-row' }, makeButton(say('copy'), () => copyText(this.yaml, (text) => setText(this.copied, text))), this.copied));
  }

  // What there is to choose from, whenever the mode is shown or a picture is opened.
  follow() {
    if (this.section.clientWidth === 0) return;
    const all = this.app.pictures();
    const [recordings, labels] = ['recording', 'labels'].map((kind) => all.filter((one) => one.kind === kind));
    const fill = (select, entries) => {
      const before = select.value;
      select.replaceChildren(...entries.map(([value, text]) => make('option', { value }, text)));
      if (entries.some(([value]) => String(value) === before)) select.value = before;
    };
    const each = recordings.map(({ id, name, views }) => [id, say('recording', name, views)]);
    fill(this.recordings, recordings.length > 1 ? [['', say('levels_all')], ...each] : each);
    fill(this.labels, labels.map(({ id, name }) => [id, name]));
    const newest = Math.max(0, ...labels.map(({ id }) => id));
    if (newest > this.newest) this.labels.value = newest;
    this.newest = newest;
    this.missing.hidden = recordings.length > 0 && labels.length > 0;
    this.form.hidden = !this.missing.hidden;
  }

  chosen() {
    const recordings = this.app.pictures().filter(({ kind }) => kind === 'recording');
    return this.recordings.value ? recordings.filter(({ id }) => id === Number(this.recordings.value)) : recordings;
  }

  async start() {
    if (this.token) return;
    const [first, ...rest] = this.chosen();
    this.chain = this.app.chain(first.planes);
    this.token = newToken();
    const { backend, threads } = this.chain;
    const query = { labels: this.labels.value, backend, threads, job: this.token, ...(rest.length > 0 ? {} : { in: first.id }) };
    setText(this.alert, '');
    this.setRunning(true);
    this.poll(this.token, [first, ...rest].reduce((sum, { views }) => sum + views, 0));
    try {
      this.answer = await post(`/levels?${new URLSearchParams(query)}`, composeYaml(this.chain));
      setText(this.status, '');
      this.show();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(this.status, '');
      setText(this.alert, error.message);
    } finally {
      this.token = null;
      this.setRunning(false);
    }
  }

  setRunning(running) {
    this.run.disabled = running;
    this.cancel.disabled = !running;
  }

  async poll(token, views) {
    while (this.token === token) {
      const state = await get(`/jobs/${token}`).catch(() => null); // its POST says what is wrong
      if (this.token !== token) return;
      setText(this.status, say('levels_running', state?.done || 0, views));
      await new Promise((resolve) => { setTimeout(resolve, POLL_MS); });
    }
  }

  // The suggested level's index of a curve.
  suggested(curve) {
    const percent = this.recall.validity.valid && this.recall.value !== '' ? Math.round(this.recall.valueAsNumber) : 95;
    return this.rule.value === 'f1' ? curve.best : curve.at_recall[percent];
  }

  show() {
    const { answer } = this;
    this.recallField.hidden = this.rule.value === 'f1';
    this.app.settings.set('levels', { rule: this.rule.value, recall: this.recall.valueAsNumber });
    if (!answer) return;
    this.result.hidden = false;
    setText(this.seen, say('levels_seen', answer));
    const labelled = answer.classes.filter((one) => curveOf(one));
    this.body.replaceChildren(...labelled.flatMap((one) => ['by_view', 'by_pixel'].filter((by) => one[by]).map((by) => this.row(one.name, by, one[by]))));
    this.curves.replaceChildren(...labelled.map((one) => this.curve(one.name, curveOf(one))));
    setText(this.yaml, composeClasses(this.classes()));
  }

  row(name, by, curve) {
    const at = this.suggested(curve);
    return tableRow(name, say(`levels_${by}`), number(curve.positives + curve.negatives), number(curve.positives),
      at === null ? '–' : (at / 100).toFixed(2), ...['precision', 'recall', 'f1'].map((key) => (at === null ? '–' : share(curve[key][at]))));
  }

  curve(name, curve) {
    const at = this.suggested(curve);
    const text = at === null ? say('levels_no_level', name) : say('levels_at', name, (at / 100).toFixed(2), share(curve.precision[at]), share(curve.recall[at]));
    return make('li', {}, make('h4', {}, name), drawCurve(curve, at, text), make('p', { class: 'note' }, text));
  }

  // The classes of the chain, with the suggested levels and the recording's names.
  classes() {
    return this.answer.classes.map((one, plane) => {
      const before = this.chain.classes[plane];
      const curve = before.outline ? curveOf(one) : null;
      const at = curve ? this.suggested(curve) : null;
      return { ...before, name: one.name, level: at === null ? before.level : at / 100 };
    });
  }
}

export function startLevels(section, app) {
  const levels = new Levels(section, app);
  app.onselect(() => levels.follow());
  document.addEventListener('pictures', () => levels.follow());
  new ResizeObserver(() => levels.follow()).observe(section);
  levels.follow();
}
