// Controls that the modes share.
import { make, setText } from './frame.js';
import { say } from './words.js';

// Ctrl+Enter does it from wherever the focus is while the section is shown.
export function onControlEnter(section, action) {
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || section.clientWidth === 0) return;
    event.preventDefault();
    action();
  });
}

export function makeButton(text, click, attributes = {}) {
  const button = make('button', { type: 'button', ...attributes }, text);
  button.addEventListener('click', click);
  return button;
}

// A checkbox within its label; `change` gets whether it is checked.
export function makeCheckbox(text, checked, change) {
  const box = make('input', { type: 'checkbox' });
  box.checked = checked;
  box.addEventListener('change', () => change(box.checked));
  return make('label', { class: 'chain-field' }, box, ` ${text}`);
}

export function makeSelect(entries, attributes = {}) {
  return make('select', attributes, ...entries.map(([value, text = value]) => make('option', { value }, text)));
}

// The tables' widest bounds stand for "any".
const bound = (name, value) => (Math.abs(value) < 1e15 ? { [name]: value } : {});

// What a row of the server's tables takes, without a value: names (by default the row's own), a number, or a text.
export function makeControl({ type, choices, min, max, initial }, attributes = {}, entries = choices?.map((name) => [name])) {
  if (entries) return makeSelect(entries, attributes);
  if (type !== 'integer' && type !== 'real') return make('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
  // One step of a number changes it by a tenth of its default.
  const step = type === 'integer' ? 1 : initial / 10 || 'any';
  return make('input', { type: 'number', step, ...bound('min', min), ...bound('max', max), ...attributes });
}

export function tableRow(first, ...rest) {
  return make('tr', {}, make('th', { scope: 'row' }, first), ...rest.map((value) => make('td', {}, value)));
}

export function headRow(...texts) {
  return make('tr', {}, ...texts.map((text) => make('th', { scope: 'col' }, text)));
}

// Copies the text of an element; where browsers do not allow it, on pages without TLS, selects it, so that Ctrl+C copies.
export async function copyText(element, tell) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    tell(say('copied'));
  } catch {
    getSelection().selectAllChildren(element);
    tell(say('selected'));
  }
}
