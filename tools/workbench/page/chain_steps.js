// The steps of a chain: what options each has, how they are edited, and how a line's file writes them.
import { make } from './frame.js';
import { say } from './words.js';

// As config/README.md has them; the server checks every value, and its words are shown.
const STAGES = {
  convolve: [
    { key: 'kernel', initial: 'gaussian', choices: ['blur', 'gaussian', 'sharpen', 'edge', 'emboss', 'sobel-x', 'sobel-y'] },
    { key: 'size', initial: '3', pattern: '[0-9]+(x[0-9]+)?' },
    { key: 'border', initial: 'replicate', choices: ['replicate', 'reflect', 'wrap', 'zero'] },
  ],
  morphology: [
    { key: 'operation', initial: 'open', choices: ['erode', 'dilate', 'open', 'close', 'gradient', 'tophat', 'blackhat'] },
    { key: 'element', initial: 'disk', choices: ['rect', 'disk', 'cross'] },
    { key: 'size', initial: '5', pattern: '[0-9]+(x[0-9]+)?' },
  ],
  haar: [
    { key: 'levels', initial: '2', min: 1, max: 31, step: 1 },
    { key: 'threshold', initial: '0.05', min: 0, max: 1, step: 0.005 },
  ],
  contours: [
    { key: 'connectivity', initial: 'low', choices: ['low', 'high'] },
    { key: 'orientation', initial: 'low', choices: ['low', 'high'] },
    { key: 'border', initial: 'closed', choices: ['open', 'closed'] },
    { key: 'min_area_px', initial: '4', min: 0, max: 1e9, step: 'any' },
  ],
  ranklet: [{ key: 'windows', initial: '8, 16', pattern: '[0-9]+(x[0-9]+)?( *, *[0-9]+(x[0-9]+)?)*' }],
};

export const IMAGE_STAGES = ['convolve', 'morphology', 'haar'];

const NO_DEFECTS = ['background', 'roller']; // as in config/line.yaml

// A step with its defaults, but for the given values.
export function newStep(stage, given = {}) {
  const values = {};
  for (const { key, initial } of STAGES[stage]) {
    values[key] = typeof given[key] === 'string' || typeof given[key] === 'number' ? String(given[key]) : initial;
  }
  return { stage, values };
}

// What the mode shows of maps with these classes before anything is changed.
export function newState(names) {
  return {
    classes: names.map((name) => ({ name, outline: !NO_DEFECTS.includes(name), level: 0.5 })),
    steps: [],
    contours: newStep('contours'),
    ranklet: null,
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

function stepLines({ stage, values }) {
  const lines = STAGES[stage].map(({ key }) => `      ${key}: ${key === 'windows' ? `[${values[key]}]` : values[key]}`);
  return [`  - ${stage}:`, ...lines];
}

// The `classes` and `chain` of a line's file; `only`: a class that alone is outlined, null: all that are to be.
export function composeYaml(state, only = null) {
  const classes = state.classes.map(({ name, outline, level }, i) => (
    `  - {name: ${scalar(name)}${outline && (only === null || only === i) ? `, level: ${level}` : ''}}`));
  const steps = [...state.steps, state.contours, ...(state.ranklet ? [state.ranklet] : [])];
  return ['classes:', ...classes, 'chain:', ...steps.flatMap(stepLines), ''].join('\n');
}

// Only the values that are not the defaults, for the URL.
function packStep({ stage, values }) {
  const own = STAGES[stage].filter(({ key, initial }) => values[key] !== initial).map(({ key }) => [key, values[key]]);
  return [stage, Object.fromEntries(own)];
}

export function packState(state, initial) {
  const packed = { l: state.classes.map(({ outline, level }) => (outline ? level : null)) };
  if (state.classes.some(({ name }, i) => name !== initial.classes[i].name)) packed.n = state.classes.map(({ name }) => name);
  if (state.steps.length > 0) packed.s = state.steps.map(packStep);
  const contours = packStep(state.contours)[1];
  if (Object.keys(contours).length > 0) packed.o = contours;
  if (state.ranklet) packed.r = state.ranklet.values.windows;
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
  for (const step of Array.isArray(packed.s) ? packed.s.slice(0, 32) : []) {
    if (IMAGE_STAGES.includes(step?.[0])) state.steps.push(newStep(step[0], step[1] ?? {}));
  }
  if (packed.o) state.contours = newStep('contours', packed.o);
  if (typeof packed.r === 'string') state.ranklet = newStep('ranklet', { windows: packed.r });
  if (Number.isInteger(packed.g) && packed.g >= -1 && packed.g < state.classes.length) state.ground = packed.g;
  if (['serial', 'openmp', 'cuda'].includes(packed.b)) state.backend = packed.b;
  if (Number.isInteger(packed.t) && packed.t > 0 && packed.t <= 256) state.threads = packed.t;
  return state;
}

function makeInput(field, value) {
  if (field.choices) {
    const select = make('select', {}, ...field.choices.map((name) => make('option', { value: name }, name)));
    select.value = value;
    return select;
  }
  const attributes = field.pattern
    ? { type: 'text', pattern: field.pattern, size: 8 }
    : { type: 'number', min: field.min, max: field.max, step: field.step };
  const input = make('input', attributes);
  input.value = value;
  return input;
}

// The options of one step, each with its label; `changed` is called after each change.
export function makeFields(step, changed) {
  return STAGES[step.stage].map((field) => {
    const input = makeInput(field, step.values[field.key]);
    if (input.value !== step.values[field.key]) step.values[field.key] = input.value = field.initial;
    input.addEventListener('input', () => {
      step.values[field.key] = input.value.trim();
      changed();
    });
    return make('label', { class: 'chain-field' }, `${field.key} `, input);
  });
}

// The list of image steps, which can be added, moved and removed.
export class StepsEditor {
  constructor(steps, changed) {
    this.steps = steps;
    this.changed = changed;
    this.list = make('ol', { class: 'chain-steps' });
    this.none = make('p', { class: 'empty' }, say('chain_no_steps'));
    this.select = make('select', {}, ...IMAGE_STAGES.map((name) => make('option', { value: name }, say(`chain_${name}`))));
    const add = make('button', { type: 'button' }, say('chain_add'));
    add.addEventListener('click', () => this.edit(() => this.steps.push(newStep(this.select.value)), this.steps.length, 'first'));
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
    const label = say(`chain_${what}`, this.steps[i].stage, i + 1);
    const button = make('button', { type: 'button', 'data-what': what, 'aria-label': label, title: label }, sign);
    button.disabled = disabled;
    button.addEventListener('click', click);
    return button;
  }

  row(step, i) {
    return make('li', {}, make('fieldset', {}, make('legend', {}, `${i + 1}. ${step.stage}`),
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
