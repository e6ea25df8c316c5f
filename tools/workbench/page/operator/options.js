// The form of an operator's options, made from the server's catalogue.
import { makeControl } from '../controls.js';
import { make, setText } from '../frame.js';
import { say } from '../words.js';

// Where an option has no default: something that shows a result at once.
const START = {
  contours: { level: '128' },
  morphology: { operation: 'open', element: 'disk', size: '5' },
  convolve: { kernel: 'gaussian', size: '3' },
  haar: { levels: '3' },
  ranklet: { windows: '8' },
  'diamond-square': { exponent: '8', seed: '1' },
};

// Options that take a name or a picture's file.
const isFromPictures = ({ type, choices }) => type === 'text' && choices !== null;

const isPicture = (value) => String(value || '').startsWith('@');

// Options that go only with others; cernita-apply refuses the rest.
const APPLIES = {
  morphology: {
    size: ({ element }) => !isPicture(element),
    'non-flat': ({ element }) => isPicture(element),
  },
  convolve: { size: ({ kernel }) => !isPicture(kernel) },
  haar: { inverse: ({ threshold }) => !threshold, threshold: ({ inverse }) => !inverse },
  ranklet: { windows: ({ pyramid }) => !pyramid, square: ({ pyramid }) => pyramid },
};

function applies(operator, name, values) {
  const rule = (APPLIES[operator] || {})[name];
  return rule ? Boolean(rule(values)) : true;
}

// The arguments for cernita-apply; a default is left out. `--scale` is for PNG alone.
export function argsOf(operator, values, out) {
  return operator.options.flatMap((option) => {
    const value = values[option.name];
    if (!applies(operator.name, option.name, values)) return [];
    if (operator.name === 'contours' && option.name === 'scale' && out !== 'png') return [];
    if (option.type === 'bool') return value ? [`--${option.name}`] : [];
    if (value === undefined || value === '' || (value === option.initial && !option.required)) return [];
    return [`--${option.name}`, value];
  });
}

function controlOf(option, app) {
  const id = `option-${option.name}`;
  if (option.type === 'bool') return make('input', { id, type: 'checkbox' });
  const files = isFromPictures(option) ? app.pictures().filter((one) => one.kind === 'table' || one.planes === 1) : [];
  return makeControl({ ...option, initial: '' }, { id }, option.choices?.map((name) => [name])
    .concat(files.map((one) => [`@${one.id}`, say('file_of', one.name)])));
}

export class OptionsForm {
  constructor(box, app, onchange) {
    this.box = box;
    this.app = app;
    this.onchange = onchange;
    this.operator = null;
    this.kept = {}; // by operator: what the reader has set
    this.controls = new Map();
    this.touched = new Set(); // options that the reader has changed: nothing is suggested for them
  }

  // `values`: of the URL, else what the operator had before.
  show(operator, values = null) {
    this.operator = operator;
    const kept = this.kept[operator.name];
    const wanted = values || kept || {};
    this.touched = new Set(Object.keys(wanted));
    this.controls.clear();
    this.box.replaceChildren(...operator.options.map((option) => this.makeField(option, wanted)));
    this.update();
  }

  makeField(option, wanted) {
    const control = controlOf(option, this.app);
    const start = wanted[option.name] ?? (START[this.operator.name] || {})[option.name] ?? option.initial ?? '';
    if (option.type === 'bool') control.checked = start === true || start === '1';
    else control.value = start;
    if (control.selectedIndex === -1) control.selectedIndex = 0;
    if (option.required) control.required = true;
    control.setAttribute('aria-describedby', `help-${option.name}`);
    control.addEventListener('input', () => {
      this.touched.add(option.name);
      this.update();
      this.onchange();
    });
    this.controls.set(option.name, { option, control });
    const label = make('label', { for: control.id }, option.name);
    if (option.required) label.append(' ', make('span', { class: 'required' }, say('required')));
    const help = make('p', { class: 'help', id: `help-${option.name}` }, make('span', { lang: 'en' }, option.help));
    if (option.name === 'exponent') help.append(' ', make('output', { id: 'option-side' }));
    return option.type === 'bool' ? make('div', { class: 'check' }, control, label, help)
      : make('div', { class: 'field' }, label, control, help);
  }

  values() {
    const values = {};
    for (const [name, { option, control }] of this.controls) {
      values[name] = option.type === 'bool' ? control.checked : control.value.trim();
    }
    return values;
  }

  // What differs from how the form starts, for the URL.
  changed() {
    const values = this.values();
    return Object.fromEntries([...this.touched].filter((name) => name in values)
      .map((name) => [name, typeof values[name] === 'boolean' ? (values[name] ? '1' : '0') : values[name]]));
  }

  update() {
    const values = this.values();
    if (this.operator) this.kept[this.operator.name] = this.changed();
    for (const [name, { control }] of this.controls) control.disabled = !applies(this.operator.name, name, values);
    const side = document.getElementById('option-side');
    const exponent = Number(values.exponent);
    if (side) setText(side, exponent >= 0 && exponent <= 20 ? say('side', 2 ** exponent + 1) : '');
  }

  // A better start, once the picture is known.
  suggest(name, value) {
    const known = this.controls.get(name);
    if (!known || this.touched.has(name) || known.control.value === value) return;
    known.control.value = value;
    this.onchange();
  }

  // Marks the options that a refusal names; the first text that is not a number, or ''.
  mark(reason) {
    for (const [name, { control }] of this.controls) {
      const wrong = !control.validity.valid || new RegExp(`--${name}(?![\\w-])`).test(reason);
      control.setAttribute('aria-invalid', String(wrong && !control.disabled));
    }
  }

  badNumber() {
    for (const [name, { control }] of this.controls) if (!control.disabled && control.validity.badInput) return name;
    return '';
  }
}
