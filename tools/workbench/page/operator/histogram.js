// How often each value occurs, as a chart on a canvas and in words.
import { make } from '../frame.js';
import { figure, say } from '../words.js';

const BINS = 128;
const HEIGHT = 88;

// `values`: of the planes shown. null if none is finite.
export function countValues(values, type) {
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    count += 1;
  }
  if (count === 0) return null;
  const bins = new Float64Array(type === 'u8' ? 256 : BINS);
  const [from, to] = type === 'u8' ? [0, 256] : [min, max];
  const scale = to > from ? bins.length / (to - from) : 0;
  for (const value of values) {
    if (Number.isFinite(value)) bins[Math.min(Math.floor((value - from) * scale), bins.length - 1)] += 1;
  }
  return { bins, min, max, mean: sum / count, from, to };
}

// Draws into `box`, which gets a canvas and a line of text.
export function showHistogram(box, counted, title) {
  if (box.children.length === 0) {
    box.append(make('canvas', { role: 'img' }), make('p', { class: 'note' }));
    new ResizeObserver(() => draw(box)).observe(box);
    document.addEventListener('theme', () => draw(box));
  }
  box.counted = counted;
  box.hidden = !counted;
  if (!counted) return;
  const text = say('histogram_text', figure(counted.min), figure(counted.mean), figure(counted.max));
  box.children[0].setAttribute('aria-label', say('histogram_of', title, text));
  box.children[1].textContent = `${title}: ${text}`;
  draw(box);
}

// Heights are square roots of the counts: a background of one value would leave nothing else to be seen.
function draw(box) {
  const [canvas] = box.children;
  const width = canvas.clientWidth;
  if (!box.counted || !width) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const { bins } = box.counted;
  const largest = Math.sqrt(bins.reduce((a, b) => Math.max(a, b), 1));
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue('--accent');
  bins.forEach((count, i) => {
    const height = (Math.sqrt(count) / largest) * (HEIGHT - 2);
    const left = Math.floor((i * width) / bins.length);
    const right = Math.ceil(((i + 1) * width) / bins.length);
    context.fillRect(left, HEIGHT - 1 - height, right - left, height);
  });
  context.fillStyle = style.getPropertyValue('--muted');
  context.fillRect(0, HEIGHT - 1, width, 1);
}
