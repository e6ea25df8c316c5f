// A sound while an alarm is not acknowledged or a sorter says that something is wrong, by the severity; off unless the reader has switched it on.
import { byId, setText } from '../frame.js';
import { recall, remember, say } from '../words.js';

const TONE_S = 0.18, PAUSE_S = 0.12;
const PATTERNS = {
  critical: { tones_hz: [1000, 1000, 1000], every_s: 5 },
  warning: { tones_hz: [800, 800], every_s: 15 },
  notice: { tones_hz: [600], every_s: 60 },
};

let context = null; // browsers let none play before the reader has touched the page or a key
let on = recall('sound') === 'on';
let last = { severity: 'none', at_s: 0 }; // what was played last

export function soundIsOn() {
  return on;
}

function play({ tones_hz: tones }) {
  tones.forEach((frequency, i) => {
    const start = context.currentTime + i * (TONE_S + PAUSE_S);
    const oscillator = context.createOscillator();
    const gain = context.createGain();
    oscillator.frequency.value = frequency;
    gain.gain.setValueAtTime(0, start); // ramps, as a step is heard as a click
    gain.gain.linearRampToValueAtTime(0.5, start + 0.01);
    gain.gain.setValueAtTime(0.5, start + TONE_S - 0.02);
    gain.gain.linearRampToValueAtTime(0, start + TONE_S);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(start);
    oscillator.stop(start + TONE_S);
  });
}

const canPlay = () => on && context?.state === 'running';

function showState() {
  byId('sound').setAttribute('aria-pressed', String(on));
  setText(byId('sound-waits'), on && !canPlay() ? say('sound_waits') : '');
}

async function wake() {
  if (!on || canPlay()) return;
  context ||= new AudioContext();
  await context.resume();
  showState();
}

async function toggle() {
  on = !on;
  remember('sound', on ? 'on' : 'off');
  showState();
  await wake();
  if (canPlay()) play(PATTERNS.notice); // what was switched on is heard
}

// `severity`: the worst of what is to be heard, or none; `now_s` by the clock of whoever looks.
export function soundAlarm(severity, now_s) {
  const pattern = PATTERNS[severity];
  const due = severity !== last.severity || now_s - last.at_s >= pattern?.every_s;
  if (!due || (pattern && !canPlay())) return;
  last = { severity, at_s: now_s };
  if (pattern) play(pattern);
}

export function startSound() {
  byId('sound').addEventListener('click', toggle);
  for (const gesture of ['pointerdown', 'pointerup', 'keydown']) document.addEventListener(gesture, wake, { capture: true });
  showState();
}
