// Lists that are shown anew each second: their elements stay, so that focus, selection and what is open stay.
import { make, setText } from './frame.js';

const shownBy = new WeakMap(); // of a list: its elements by key

// Shows an element for each item, in their order; `create(item)` makes it, `update(element, item)` fills it. An element
// whose item has gone stays while it has the focus.
export function updateList(list, items, keyOf, create, update) {
  const shown = shownBy.get(list) || new Map();
  shownBy.set(list, shown);
  const wanted = new Set(items.map(keyOf));
  for (const [key, element] of shown) {
    if (wanted.has(key) || element.contains(document.activeElement)) continue;
    element.remove();
    shown.delete(key);
  }
  let at = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let element = shown.get(key);
    if (!element) shown.set(key, element = create(item));
    update(element, item);
    while (at && !wanted.has(keyOfElement(shown, at))) at = at.nextElementSibling;
    if (element === at) at = at.nextElementSibling;
    else moveBefore(list, element, at);
  }
}

function keyOfElement(shown, element) {
  for (const [key, one] of shown) if (one === element) return key;
  return undefined;
}

// What is moved loses the focus.
function moveBefore(list, element, next) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  list.insertBefore(element, next);
  focused?.focus({ preventScroll: true });
}

function resize(list, count, create) {
  while (list.children.length > count) list.lastElementChild.remove();
  while (list.children.length < count) list.append(create());
}

// Rows of texts.
export function showTable(body, rows) {
  const cells = rows.length > 0 ? rows[0].length : 0;
  resize(body, rows.length, () => make('tr', {}, ...Array.from({ length: cells }, () => make('td'))));
  rows.forEach((row, i) => row.forEach((text, k) => setText(body.rows[i].cells[k], text)));
}

// Names with their values, in a dl.
export function showPairs(list, pairs) {
  resize(list, pairs.length, () => make('div', {}, make('dt'), make('dd')));
  pairs.forEach(([name, value], i) => {
    setText(list.children[i].children[0], name);
    setText(list.children[i].children[1], value);
  });
}
