// A picture that can be zoomed and moved, in the canvas of a figure.
//
// A place in the picture counts from its corner: the first pixel covers 0 to 1, so a contour's point is at x + 0.5. On
// the canvas a place is at x * scale + transform.x, in CSS pixels, the overlay's unit.
import { make } from './frame.js';

const SCALE_MAX = 64;
const STEP = 1.25; // zoom by one key or notch
const MOVE = 40; // CSS pixels by one arrow key

const clamp = (value, min, max) => Math.min(Math.max(value, min), max);

export class Viewer {
  constructor(figure) {
    this.figure = figure;
    figure.viewer = this;
    this.canvas = figure.querySelector('canvas') || figure.insertBefore(make('canvas', { role: 'img' }), figure.firstChild);
    this.canvas.classList.add('viewer');
    this.canvas.tabIndex = 0;
    this.back = make('canvas'); // the picture, pixel by pixel
    this.shown = null;
    this.transform = { scale: 1, x: 0, y: 0 };
    this.fitted = true; // until the reader zooms or moves
    this.overlay = null; // (context, transform) => …
    this.onhover = null; // (x, y) => … in the picture's pixels, or (null)
    this.onkey = null; // (key) => true if it meant something to the owner
    this.links = [this];
    this.mark = null; // a place to mark, under the pointer of a linked viewer or in the middle when keys move it
    this.under = null; // swipe: the viewer whose picture is shown left of `swipe`, 0 to 1
    this.swipe = 0.5;
    this.fingers = new Map();
    this.awaited = false; // a drawing
    this.listen();
  }

  show(picture) {
    const before = this.shown;
    this.shown = picture;
    if (picture) {
      const { width, height, rgba } = picture;
      this.back.width = width;
      this.back.height = height;
      const pixels = new Uint8ClampedArray(rgba.buffer, rgba.byteOffset, rgba.length);
      this.back.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
      this.canvas.style.setProperty('--aspect', width / height);
      if (!before || before.width !== width || before.height !== height) this.fitted = true;
    }
    if (this.fitted) this.fit();
    this.redraw();
  }

  size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  // The whole picture in the middle.
  fit() {
    const { width, height } = this.size();
    if (!this.shown || !width || !height) return;
    const scale = Math.min(width / this.shown.width, height / this.shown.height, SCALE_MAX);
    this.transform = { scale, x: (width - this.shown.width * scale) / 2, y: (height - this.shown.height * scale) / 2 };
    this.fitted = true;
  }

  // However often it is asked for, it is drawn once a frame.
  redraw() {
    if (this.awaited) return;
    this.awaited = true;
    requestAnimationFrame(() => {
      this.awaited = false;
      this.paint();
    });
  }

  paint() {
    const { canvas } = this;
    const { width, height } = this.size();
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.shown || !width) return;
    context.save();
    const edge = this.under && this.under.shown ? this.drawUnder(context, width, height) : null;
    this.drawPicture(context, this);
    if (this.overlay) this.overlay(context, this.transform);
    context.restore();
    if (edge !== null) drawLine(context, edge, height);
    if (this.mark) drawMark(context, this.transform, this.mark);
  }

  drawPicture(context, { back }) {
    const { scale, x, y } = this.transform;
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(back, x, y, back.width * scale, back.height * scale);
  }

  // The other picture; what is drawn afterwards is right of the line only.
  drawUnder(context, width, height) {
    this.drawPicture(context, this.under);
    const { scale, x } = this.transform;
    const edge = clamp(x + this.shown.width * scale * this.swipe, 0, width);
    context.beginPath();
    context.rect(edge, 0, width - edge, height);
    context.clip();
    context.clearRect(edge, 0, width - edge, height);
    return edge;
  }

  placeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  toPicture({ x, y }) {
    const { scale, x: left, y: top } = this.transform;
    return { x: (x - left) / scale, y: (y - top) / scale };
  }

  // All linked viewers move together.
  setTransform(transform) {
    for (const viewer of this.links) {
      viewer.transform = { ...transform };
      viewer.fitted = false;
      viewer.redraw();
    }
  }

  zoom(factor, at) {
    if (!this.shown) return;
    const { width, height } = this.size();
    const smallest = Math.min(width / this.shown.width, height / this.shown.height, 1) / 4;
    const scale = clamp(this.transform.scale * factor, smallest, SCALE_MAX);
    const used = scale / this.transform.scale;
    this.setTransform({ scale, x: at.x - (at.x - this.transform.x) * used, y: at.y - (at.y - this.transform.y) * used });
  }

  move(dx, dy) {
    this.setTransform({ scale: this.transform.scale, x: this.transform.x + dx, y: this.transform.y + dy });
  }

  fitAll() {
    for (const viewer of this.links) {
      viewer.fit();
      viewer.redraw();
    }
  }

  hover(place, byKeys = false) {
    for (const viewer of this.links) {
      viewer.mark = viewer !== this || byKeys ? place : null;
      if (viewer !== this || byKeys || this.keyed) viewer.redraw();
    }
    this.keyed = byKeys;
    if (!this.onhover) return;
    if (place) this.onhover(place.x, place.y);
    else this.onhover(null);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(STEP ** (-event.deltaY / (event.deltaMode === 0 ? 100 : 3)), this.placeAt(event));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, this.placeAt(event));
    });
    canvas.addEventListener('pointermove', (event) => this.onMove(event));
    for (const name of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(name, (event) => this.fingers.delete(event.pointerId));
    }
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('keydown', (event) => this.onKey(event));
    canvas.addEventListener('blur', () => this.hover(null));
    new ResizeObserver(() => {
      if (this.fitted) this.fit();
      this.redraw();
    }).observe(canvas);
  }

  // One finger or the mouse's button moves the picture, two zoom it.
  onMove(event) {
    const place = this.placeAt(event);
    const from = this.fingers.get(event.pointerId);
    if (from) {
      const other = [...this.fingers].find(([id]) => id !== event.pointerId);
      this.fingers.set(event.pointerId, place);
      if (other) this.pinch(other[1], from, place);
      else this.move(place.x - from.x, place.y - from.y);
    }
    this.hover(this.shown ? this.toPicture(place) : null);
  }

  pinch(fixed, from, to) {
    const distance = (a) => Math.hypot(a.x - fixed.x, a.y - fixed.y);
    if (distance(from) > 0) this.zoom(distance(to) / distance(from), fixed);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.shown) return;
    const { width, height } = this.size();
    const middle = { x: width / 2, y: height / 2 };
    const actions = {
      '+': () => this.zoom(STEP, middle),
      '=': () => this.zoom(STEP, middle),
      '-': () => this.zoom(1 / STEP, middle),
      0: () => this.fitAll(),
      ArrowLeft: () => this.move(MOVE, 0),
      ArrowRight: () => this.move(-MOVE, 0),
      ArrowUp: () => this.move(0, MOVE),
      ArrowDown: () => this.move(0, -MOVE),
    };
    if (!Object.hasOwn(actions, event.key)) {
      if (this.onkey?.(event.key)) event.preventDefault();
      return;
    }
    event.preventDefault();
    actions[event.key]();
    this.hover(this.toPicture(middle), true);
  }
}

function drawLine(context, x, height) {
  for (const [colour, width] of [['#000', 4], ['#fff', 2]]) {
    context.fillStyle = colour;
    context.fillRect(x - width / 2, 0, width, height);
  }
}

// A cross, white in black, so that it is seen on any ground.
function drawMark(context, { scale, x, y }, place) {
  const at = { x: place.x * scale + x, y: place.y * scale + y };
  for (const [colour, width] of [['#000', 3], ['#fff', 1]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(at.x - 8, at.y);
    context.lineTo(at.x + 8, at.y);
    context.moveTo(at.x, at.y - 8);
    context.lineTo(at.x, at.y + 8);
    context.stroke();
  }
}

// These move together and mark each other's pointer.
export function linkViewers(list) {
  for (const viewer of list) viewer.links = list;
}
