// The steps of a chain: what options each has, how they are edited, and how a line's file writes them.
import { makeButton, makeControl, makeSelect } from '../controls.js';
import { make } from '../frame.js';
import { say, sayHelp } from '../words.js';

// Where a line begins, if not at the table's default: as in config/line.yaml.
const START = { contours: { min_area_px: '4' } };

// Keys of an element's file: a chain here names none.
const OF_FILES = ['non_flat'];

const NO_DEFECTS = ['background', 'roller']; // as in config/line.yaml

const startOf = (stage, key) => START[stage.name]?.[key.name] ?? key.initial.replace(/^\[(.*)\]$/, '$1');
const keysOf = (stage) => stage.keys.filter(({ name }) => !OF_FILES.includes(name));

// The stages of a kind, as the server's tables have them.
export const stagesOf = (catalogue, kind) => catalogue.chain.filter((stage) => stage.kind === kind);

// A step of a stage with its defaults, but for the given values.
export function newStep(stage, given = {}) {
  const values = {};
  for (const key of keysOf(stage)) {
    const value = given[key.name];
    values[key.name] = typeof value === 'string' || typeof value === 'number' ? String(value) : startOf(stage, key);
  }
  return { stage, values };
}

// What the mode shows of maps with these classes before anything is changed.
export function newState(names, catalogue) {
  return {
    catalogue,
    classes: names.map((name) => ({ name, outline: !NO_DEFECTS.includes(name), level: 0.5 })),
    steps: [],
    contours: newStep(stagesOf(catalogue, 'contours')[0]),
    features: [], // steps, at most one of each stage
    ground: -1, // the photograph, or the class whose map lies below the outlines
    backend: 'openmp',
    threads: 1,
  };
}

// A text that YAML takes for itself stands bare, any other in quotes: JSON's are YAML's.
function scalar(text) {
  const bare = /^[A-Za-z][A-Za-z0-9_-]*( [A-Za-z0-9_-]+)*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return bare ? text : JSON.stringify(text);
}

const isList = ({ type }) => type.endsWith('s');

function stepLines({ stage, values }) {
  const lines = keysOf(stage).map((key) => `      ${key.name}: ${isList(key) ? `[${values[key.name]}]` : values[key.name]}`);
  return [`  - ${stage.name}:`, ...lines];
}

// The `classes` of a line's file; `only`: as below.
export function composeClasses(classes, only = null) {
  const rows = classes.map(({ name, outline, level }, i) => (
    `  - {name: ${scalar(name)}${outline && (only === null || only === i) ? `, level: ${level}` : ''}}`));
  return ['classes:', ...rows, ''].join('\n');
}

// The `classes` and `chain` of a line's file; `only`: a class that alone is outlined, null: all that are to be.
export function composeYaml(state, only = null) {
  const steps = [...state.steps, state.contours, ...state.features];
  return [composeClasses(state.classes, only) + 'chain:', ...steps.flatMap(stepLines), ''].join('\n');
}

// Only the values that are not the defaults, for the URL.
function packStep({ stage, values }) {
  const own = keysOf(stage).filter((key) => values[key.name] !== startOf(stage, key)).map(({ name }) => [name, values[name]]);
  return [stage.name, Object.fromEntries(own)];
}

// Those of the packed steps whose stages are there.
function unpackSteps(packed, stages) {
  return (Array.isArray(packed) ? packed.slice(0, 32) : []).flatMap((step) => {
    const stage = stages.find(({ name }) => name === step?.[0]);
    return stage ? [newStep(stage, step[1] ?? {})] : [];
  });
}

export function packState(state, initial) {
  const packed = { l: state.classes.map(({ outline, level }) => (outline ? level : null)) };
  if (state.classes.some(({ name }, i) => name !== initial.classes[i].name)) packed.n = state.classes.map(({ name }) => name);
  if (state.steps.length > 0) packed.s = state.steps.map(packStep);
  const contours = packStep(state.contours)[1];
  if (Object.keys(contours).length > 0) packed.o = contours;
  if (state.features.length > 0) packed.f = state.features.map(packStep);
  for (const [key, short] of [['ground', 'g'], ['backend', 'b'], ['threads', 't']]) {
    if (state[key] !== initial[key]) packed[short] = state[key];
  }
  return packed;
}

// Anyone may have written the URL: what does not fit is left at its default.
export function unpackState(packed, initial) {
  const state = structuredClone(initial);
  if (!packed || typeof packed !== 'object') return state;
  const sameCount = Array.isArray(packed.l) && packed.l.length === state.classes.length;
  state.classes.forEach((one, i) => {
    if (sameCount) one.outline = Number.isFinite(packed.l[i]);
    if (sameCount && one.outline) one.level = Math.min(1, Math.max(0, packed.l[i]));
    if (sameCount && typeof packed.n?.[i] === 'string') one.name = packed.n[i];
  });
  state.steps = unpackSteps(packed.s, stagesOf(state.catalogue, 'image'));
  if (packed.o) state.contours = newStep(state.contours.stage, packed.o);
  state.features = unpackSteps(packed.f, stagesOf(state.catalogue, 'feature'));
  if (Number.isInteger(packed.g) && packed.g >= -1 && packed.g < state.classes.length) state.ground = packed.g;
  if (state.catalogue.backends.some(({ name }) => name === packed.b)) state.backend = packed.b;
  if (Number.isInteger(packed.t) && packed.t > 0 && packed.t <= 256) state.threads = packed.t;
  return state;
}

const SIZE = '[0-9]+(x[0-9]+)?';
const PATTERNS = { size: { pattern: SIZE }, sizes: { pattern: `${SIZE}( *, *${SIZE})*` } };

function makeInput(key) {
  if (key.type === 'bool') return makeSelect([['false'], ['true']]);
  return makeControl(key, PATTERNS[key.type] && { size: 8, ...PATTERNS[key.type] });
}

// The options of one step, each with its label; `changed` is called after each change.
export function makeFields(step, changed) {
  return keysOf(step.stage).map((key) => {
    const input = makeInput(key);
    input.value = step.values[key.name];
    if (input.value !== step.values[key.name]) step.values[key.name] = input.value = startOf(step.stage, key);
    input.addEventListener('input', () => {
      step.values[key.name] = input.value.trim();
      changed();
    });
    return make('label', { class: 'chain-field', title: key.help }, `${key.name} `, input);
  });
}

// A stage by its name, with what it does.
export const titleOf = ({ name, help }) => `${name}: ${sayHelp('stages', name, help)}`;

// The list of image steps, which can be added, moved and removed.
export class StepsEditor {
  constructor(steps, stages, changed) {
    this.steps = steps;
    this.stages = stages;
    this.changed = changed;
    this.list = make('ol', { class: 'chain-steps' });
    this.none = make('p', { class: 'empty' }, say('chain_no_steps'));
    this.select = makeSelect(stages.map((stage) => [stage.name, titleOf(stage)]));
    const add = makeButton(say('chain_add'), () => (
      this.edit(() => this.steps.push(newStep(this.stages[this.select.selectedIndex])), this.steps.length, 'first')));
    this.element = make('fieldset', {}, make('legend', {}, say('chain_steps')), this.none, this.list,
      make('div', { class: 'chain-row' }, make('label', { class: 'chain-field' }, `${say('chain_step')} `, this.select), add));
    this.draw();
  }

  // Changes the list and gives the focus to the step that was meant, so that the keyboard's place is kept.
  edit(change, focus, what) {
    change();
    this.draw();
    const row = this.list.children[Math.min(focus, this.steps.length - 1)];
    const button = row?.querySelector(`[data-what="${what}"]:not(:disabled)`);
    (button ?? row?.querySelector('select, input') ?? this.select).focus();
    this.changed();
  }

  swap(a, b, what) {
    this.edit(() => {
      [this.steps[a], this.steps[b]] = [this.steps[b], this.steps[a]];
    }, b, what);
  }

  button(what, sign, i, click, disabled) {
    const label = say(`chain_${what}`, this.steps[i].stage.name, i + 1);
    const button = makeButton(sign, click, { 'data-what': what, 'aria-label': label, title: label });
    button.disabled = disabled;
    return button;
  }

  row(step, i) {
    return make('li', {}, make('fieldset', {}, make('legend', {}, `${i + 1}. ${step.stage.name}`),
      make('div', { class: 'chain-row' }, ...makeFields(step, this.changed),
        this.button('up', '↑', i, () => this.swap(i, i - 1, 'up'), i === 0),
        this.button('down', '↓', i, () => this.swap(i, i + 1, 'down'), i === this.steps.length - 1),
        this.button('remove', '✕', i, () => this.edit(() => this.steps.splice(i, 1), i, 'remove'), false))));
  }

  draw() {
    this.none.hidden = this.steps.length > 0;
    this.list.replaceChildren(...this.steps.map((step, i) => this.row(step, i)));
  }
}
