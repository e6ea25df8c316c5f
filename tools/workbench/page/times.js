// Times as cernita-apply prints them, and in words.
import { figure, milliseconds, say } from './words.js';

// The lines "time_ms cold=38.3826 median=0.1956 min=0.1917 max=0.2011 n=9" as {time: {cold, median, min, max, n}, …};
// without warm runs there is the cold one's alone.
export function parseTimes(output) {
  const times = {};
  for (const [, name, values] of output.matchAll(/^(\w+)_ms (.*)$/gm)) {
    times[name] = Object.fromEntries(values.split(' ').map((pair) => pair.split('=')).map(([key, value]) => [key, Number(value)]));
  }
  if (!times.time) throw new Error(say('timing_no_time'));
  return times;
}

// `warm`: {median, min, max, n}, or undefined until it is known.
export function timeText(cold, warm) {
  const text = say('time_cold', milliseconds(cold));
  return warm ? `${text}, ${say('time_warm', milliseconds(warm.median), figure(warm.min), figure(warm.max), warm.n)}` : text;
}
