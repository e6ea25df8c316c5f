// The recorded fruit whose view is chosen, above every mode: its views, its neighbours in the list, the way back.
import { makeButton } from '../controls.js';
import { byId, make } from '../frame.js';
import { say } from '../words.js';

export class FruitBar {
  // `open`: a fruit and the index of a view; `step`: the fruit beside one in the list, or undefined; `back`: to the list.
  constructor({ open, step, back, describe }) {
    Object.assign(this, { open, step, back, describe });
    this.element = byId('fruit-bar');
  }

  // The picture that was chosen; without `fruit` it is not of a recorded one.
  show(picture) {
    const fruit = picture?.fruit;
    this.element.hidden = !fruit;
    if (!fruit) {
      this.element.replaceChildren();
      return;
    }
    const held = this.element.contains(document.activeElement) ? document.activeElement.dataset.does : '';
    const button = (does, text, click, attributes = {}) => makeButton(text, click, { 'data-does': does, ...attributes });
    const views = fruit.views.map((view) => button(`view-${view}`, String(view), () => this.open(fruit, view),
      { 'aria-pressed': view === picture.view, 'aria-label': say('fruits_view', view) }));
    const neighbour = (by, name) => {
      const other = this.step(fruit, by);
      const one = button(name, say(name), () => this.open(other, other.shown_view));
      one.disabled = !other;
      return one;
    };
    this.element.replaceChildren(make('strong', {}, this.describe(fruit)), make('span', { 'aria-hidden': 'true' }, say('fruits_count', fruit.views.length)),
      make('span', { class: 'joined', role: 'group', 'aria-label': say('fruits_views') }, ...views),
      neighbour(-1, 'fruits_before'), neighbour(1, 'fruits_next'), button('back', say('fruits_back'), this.back));
    this.element.querySelector(`[data-does="${held}"]:not(:disabled)`)?.focus();
  }
}
