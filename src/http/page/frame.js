// What both pages have around their content: fixed texts, and the choice of language and theme.
import { language, languages, recall, remember, say } from './words.js';

export const byId = (id) => document.getElementById(id);

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// An element with attributes and children (elements or texts).
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const dark = matchMedia('(prefers-color-scheme: dark)');

let chosenTheme = recall('theme');

function currentTheme() {
  return chosenTheme || (dark.matches ? 'dark' : 'light');
}

function applyTheme() {
  const theme = currentTheme();
  document.documentElement.dataset.theme = theme;
  setText(byId('theme'), say(theme === 'dark' ? 'theme_light' : 'theme_dark'));
  document.dispatchEvent(new Event('theme'));
}

function switchTheme() {
  chosenTheme = currentTheme() === 'dark' ? 'light' : 'dark';
  remember('theme', chosenTheme);
  applyTheme();
}

function chooseLanguage(event) {
  remember('language', event.target.value);
  location.reload();
}

function fillLanguages(select) {
  for (const [code, name] of languages) {
    const option = make('option', { value: code, lang: code }, name);
    option.selected = code === language;
    select.append(option);
  }
  select.setAttribute('aria-label', say('language'));
  select.addEventListener('change', chooseLanguage);
}

export function startFrame() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = say(element.dataset.word);
  for (const element of document.querySelectorAll('[data-label]')) {
    element.setAttribute('aria-label', say(element.dataset.label));
  }
  fillLanguages(byId('language'));
  byId('theme').addEventListener('click', switchTheme);
  dark.addEventListener('change', applyTheme);
  applyTheme();
}

export const SYMBOLS = { good: '✓', notice: 'i', warning: '!', bad: '✕', none: '…' };

// The large sentence at the top: level is good, notice, warning, bad or none.
export function setHeadline(level, headline, detail) {
  const section = byId('verdict');
  if (section.dataset.level !== level) section.dataset.level = level;
  setText(byId('symbol'), SYMBOLS[level]);
  setText(byId('headline'), headline);
  setText(byId('since'), detail);
}
