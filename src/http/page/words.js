// What the pages say, in the reader's language, and how they write numbers and times.
import LANGUAGES from './languages.js';

// Choices of the reader, which browsers set up to store nothing refuse to keep.
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It lasts as long as the page.
  }
}

// Of a page's languages, its languages.js has them.
function preferred() {
  const stored = recall('language');
  if (Object.hasOwn(LANGUAGES, stored)) return stored;
  return navigator.languages.map((name) => name.slice(0, 2)).find((name) => name in LANGUAGES) || 'en';
}

export const language = preferred();
export const languages = Object.entries(LANGUAGES).map(([code, { language_name: name }]) => [code, name]);
const words = LANGUAGES[language];

// A text, by its key; functions get the values.
export function say(key, ...values) {
  const text = words[key];
  if (text === undefined) return key;
  return typeof text === 'function' ? text(...values) : text;
}

// What a table of the program says in English, or the translation of a row by its name.
export function sayHelp(table, name, english) {
  return words[table]?.[name] ?? english;
}

const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const digits = new Intl.NumberFormat(language, { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const calendar = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' });
const longCalendar = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
const UNIT_SPACE = '\u00a0'; // a figure and its unit stay on one line

export function number(value) {
  return value === null || value === undefined ? '–' : whole.format(value);
}

// A tenth matters only where there are few.
export function few(value) {
  return value < 10 ? tenths.format(value) : whole.format(value);
}

// Three digits, and none behind the point of what is larger.
export function figure(value) {
  if (value === null || value === undefined) return '–';
  return Math.abs(value) >= 100 ? whole.format(value) : digits.format(value);
}

export function milliseconds(value) {
  return value === null || value === undefined ? '–' : `${figure(value)}${UNIT_SPACE}ms`;
}

export function squarePixels(value) {
  return `${figure(value)}${UNIT_SPACE}px²`;
}

export function squareMillimetres(value) {
  return `${figure(value)}${UNIT_SPACE}mm²`;
}

export function millimetres(value) {
  return `${figure(value)}${UNIT_SPACE}mm`;
}

// 100 % is all, not nearly all.
export function percent(share) {
  if (share === null || share === undefined) return '–';
  return `${figure(share < 1 ? Math.min(share * 100, 99.9) : share * 100)}${UNIT_SPACE}%`;
}

// A quantile of durations that are counted up to the last edge: more than that is not known.
export function quantile(value, edges) {
  const last = edges[edges.length - 1];
  return value !== null && value >= last ? `> ${milliseconds(last)}` : milliseconds(value);
}

export function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${figure(value)}${UNIT_SPACE}${units[unit]}`;
}

// The time of day, with the date if that is not today's.
export function timeOfDay(seconds) {
  const date = new Date(seconds * 1000);
  const time = clock.format(date);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return time;
  return say('on_day', time, (date.getFullYear() === today.getFullYear() ? calendar : longCalendar).format(date));
}

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const unit = (value, name) => `${Math.floor(value)}${UNIT_SPACE}${name}`;
  if (s < 120) return unit(s, 's');
  if (s < 7200) return unit(s / 60, 'min');
  if (s < 172800) return `${unit(s / 3600, 'h')} ${unit((s % 3600) / 60, 'min')}`;
  return say('days', Math.floor(s / 86400));
}
