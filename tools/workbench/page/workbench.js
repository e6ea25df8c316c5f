// The frame of the workbench: pictures, modes, and what the URL keeps.
import { startCalibrate } from './calibrate/calibrate.js';
import { startChain } from './chain/chain.js';
import { Refusal, get, post } from './api.js';
import { Files } from './files.js';
import { byId, make, setText, startFrame } from './frame.js';
import { startFruits } from './fruits/fruits.js';
import { Operator } from './operator/operator.js';
import { startLevels } from './levels/levels.js';
import { startTiming } from './timing.js';
import { bytes, number, say } from './words.js';

const MODES = ['operator', 'timing', 'chain', 'levels', 'calibrate', 'fruits'];
const INPUTS = ['picture', 'maps', 'recording'];

// --- what the URL keeps: mode.key=text, or mode.key:=JSON for what is not a text ---

const settings = {
  modes: {},

  read() {
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
      const [, mode, name, json] = key.match(/^(\w+)\.([\w-]+)(:?)$/) || [];
      if (!mode) continue;
      if (!Object.hasOwn(this.modes, mode)) this.modes[mode] = {};
      try {
        this.modes[mode][name] = json ? JSON.parse(value) : value;
      } catch {
        // Anyone may have written the URL.
      }
    }
  },

  get(mode) {
    return { ...(Object.hasOwn(this.modes, mode) ? this.modes[mode] : {}) };
  },

  set(mode, object) {
    this.modes[mode] = { ...object };
    clearTimeout(this.timer); // browsers limit how often the URL may change
    this.timer = setTimeout(() => this.write(), 100);
  },

  write() {
    const params = new URLSearchParams();
    for (const [mode, object] of Object.entries(this.modes)) {
      for (const [name, value] of Object.entries(object)) {
        if (typeof value === 'string') params.set(`${mode}.${name}`, value);
        else if (value !== undefined) params.set(`${mode}.${name}:`, JSON.stringify(value));
      }
    }
    history.replaceState(null, '', `#${params}`);
  },
};

// --- pictures ---

let pictures = [];
let selected = null;
const onselect = [];

const nameInUrl = (picture) => picture.spec || `file:${picture.name}`;

const app = {
  catalogue: null,
  settings,
  pictures: () => pictures,
  current: () => selected,
  onselect: (listener) => onselect.push(listener),
  warn: (text) => setText(byId('alert'), text),
  tell: (text) => setText(byId('told'), text),

  select(id) {
    const picture = pictures.find((one) => one.id === Number(id) && INPUTS.includes(one.kind)) || null;
    if (picture === selected && picture) return;
    selected = picture;
    byId('picture').value = picture ? String(picture.id) : '';
    const recording = recordingOf(picture);
    byId('view-field').hidden = !recording;
    if (recording) {
      byId('view').max = recording.views - 1;
      byId('view').value = picture.view ?? 0;
    }
    if (picture) settings.set('page', { ...settings.get('page'), picture: nameInUrl(picture) });
    for (const listener of onselect) listener(picture);
  },

  showMode,

  // Adds them to the list; those known already are not added twice.
  add(list) {
    for (const picture of list) if (!pictures.some(({ id }) => id === picture.id)) pictures.push(picture);
    listPictures();
    document.dispatchEvent(new Event('pictures'));
  },

  // Sends a file's content and selects it.
  async open(blob, name) {
    const { upload_bytes: most } = app.catalogue.limits;
    if (blob.size > most) throw new Refusal(say('file_too_large', bytes(blob.size), bytes(most)), 413);
    const answer = await post(`/pictures?name=${encodeURIComponent(name)}`, blob);
    app.add(answer.pictures);
    const first = answer.pictures.find(({ kind }) => INPUTS.includes(kind));
    if (!first) app.tell(say(answer.pictures[0].kind === 'labels' ? 'opened_labels' : 'opened_table', name));
    else if (first.kind === 'recording' && first.views > 0) await openView(first, 0);
    else app.select(first.id);
  },
};

function pictureText({ name, width, height, type, planes, kind, views }) {
  return kind === 'recording' ? say('recording', name, views) : say('described', name, width, height, type, planes);
}

function listPictures() {
  const list = pictures.filter(({ kind }) => INPUTS.includes(kind));
  byId('picture').replaceChildren(...list.map((one) => make('option', { value: one.id }, pictureText(one))));
  if (selected) byId('picture').value = String(selected.id);
}

// An action whose refusal is said; `name` is the file's that it is about.
async function attempt(action, name = '') {
  app.warn('');
  app.tell('');
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    app.warn(name && !error.message.includes(name) ? `${name}: ${error.message}` : error.message);
    return false;
  }
  return true;
}

// The recording itself, or the one that a view was taken from: to go on to the next view.
function recordingOf(picture) {
  return picture?.kind === 'recording' ? picture : pictures.find(({ id }) => id === picture?.recording) || null;
}

// A view that is open already is not opened twice.
async function openView(recording, view) {
  const known = pictures.find((one) => one.recording === recording.id && one.view === Number(view) && one.kind === 'maps');
  if (known) {
    app.select(known.id);
    return;
  }
  const answer = await post(`/views?picture=${recording.id}&view=${view}`);
  for (const picture of answer.pictures) Object.assign(picture, { recording: recording.id, view: Number(view) });
  app.add(answer.pictures);
  app.select(answer.pictures[0].id);
}

// `words`: generator and its numbers, as in a picture's `spec`.
async function generate(words, spec = '') {
  const answer = await post('/generate', words.join('\n'));
  app.add(answer.pictures);
  return answer.pictures.find((one) => one.spec === spec) || answer.pictures[0];
}

function listenForms() {
  const values = (...ids) => ids.map((id) => byId(id).value.trim());
  const side = () => setText(byId('field-side'), say('side', 2 ** Number(byId('field-exponent').value) + 1));
  const submit = (form, words) => byId(form).addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(async () => {
      app.select((await generate(words())).id);
      byId('generators').open = false;
    });
  });
  submit('field-form', () => ['field', ...values('field-exponent', 'field-seed', 'field-roughness')]);
  submit('fruit-form', () => ['fruit', ...values('fruit-seed', 'fruit-view')]);
  byId('field-exponent').addEventListener('input', side);
  side();
  byId('view-open').addEventListener('click', () => attempt(() => openView(recordingOf(selected), byId('view').value), selected.name));
}

// --- modes ---

function showMode(mode, focus = false) {
  for (const name of MODES) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute('aria-selected', String(name === mode));
    tab.tabIndex = name === mode ? 0 : -1;
    byId(name).hidden = name !== mode;
  }
  document.body.dataset.mode = mode;
  if (focus) byId(`tab-${mode}`).focus();
  settings.set('page', { ...settings.get('page'), mode });
}

function listenTabs() {
  MODES.forEach((mode, i) => {
    const tab = byId(`tab-${mode}`);
    tab.addEventListener('click', () => showMode(mode));
    tab.addEventListener('keydown', (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i + MODES.length - 1, Home: 0, End: MODES.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      showMode(MODES[to % MODES.length], true);
    });
  });
}

// --- the start ---

// The picture that the URL names: open, made again, or gone.
async function restorePicture(wanted) {
  const known = pictures.find((one) => nameInUrl(one) === wanted && INPUTS.includes(one.kind));
  if (known) return known;
  const first = pictures.find(({ kind }) => INPUTS.includes(kind)) || null;
  if (!wanted) return first;
  if (wanted.startsWith('file:')) {
    app.warn(say('file_gone', wanted.slice(5)));
    return first;
  }
  try {
    const [kind, ...numbers] = wanted.split(':');
    return await generate([kind, ...numbers.slice(0, kind === 'fruit' ? 2 : 3)], wanted);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    app.warn(error.message);
    return first;
  }
}

async function start() {
  startFrame();
  settings.read();
  listenTabs();
  listenForms();
  byId('picture').addEventListener('change', () => app.select(byId('picture').value));
  // The skip link's own jump would overwrite what the URL keeps.
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    byId('main').focus();
  });
  addEventListener('hashchange', () => location.reload());
  app.catalogue = await get('/catalogue');
  new Files(app, attempt);
  app.add((await get('/pictures')).pictures);
  setText(byId('version'), say('version', app.catalogue.version, number(app.catalogue.cores)));
  const page = settings.get('page');
  const operator = new Operator(app);
  app.job = () => operator.job();
  app.oncheck = (listener) => {
    operator.listeners.push(listener);
    listener(operator.checked);
  };
  startTiming(byId('timing'), app);
  startChain(byId('chain'), app);
  startLevels(byId('levels'), app);
  startCalibrate(byId('calibrate'), app);
  startFruits(byId('fruits'), app);
  showMode(MODES.includes(page.mode) ? page.mode : 'operator');
  const picture = await restorePicture(page.picture);
  if (picture) app.select(picture.id);
  else for (const listener of onselect) listener(null);
  document.body.dataset.ready = 'true';
}

start().catch((error) => {
  app.warn(error.message);
  throw error;
});
