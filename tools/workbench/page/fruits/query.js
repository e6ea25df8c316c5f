// What a reader types to find fruits, "lane 3, rot, 02:00–03:00", as the server's search.

const DAY_MS = 24 * 60 * 60 * 1000;

export class Unknown extends Error {}

const RULES = [
  [/^(?:lane|corsia)\s*(\d+)/i, (query, [, lane]) => { query.lane = lane; }],
  [/^(?:fruit|frutto)\s*(\d+)/i, (query, [, fruit]) => { query.fruit = fruit; }],
  [/^(?:lot|lotto)\s+(?:"([^"]*)"|([^\s,;]+))/i, (query, [, quoted, plain]) => { query.lot = quoted ?? plain; }],
  [/^(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)/, (query, [, ...numbers]) => { query.day = numbers.map(Number); }],
  [/^(\d{1,2}):(\d\d)(?::(\d\d))?\s*(?:[-–—]|to|a)\s*(\d{1,2}):(\d\d)(?::(\d\d))?/i, (query, [, h, m, s = 0, toH, toM, toS = 0]) => {
    query.clock = [[h, m, s].map(Number), [toH, toM, toS].map(Number)];
  }],
  [/^(\d{1,2}):(\d\d)(?!\d|:)/, (query, [, h, m]) => { query.clock = [[Number(h), Number(m), 0], [Number(h), Number(m) + 1, 0]]; }],
];

const isClock = ([h, m, s]) => h <= 24 && m <= 60 && s <= 59;

const at = (day, [h, m, s] = [0, 0, 0]) => new Date(day[0], day[1] - 1, day[2], h, m, s).getTime();

const dayOf = (ms) => {
  const date = new Date(ms);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()];
};

// Without a day it is the last one of the recordings that has begun its clock times.
function timesOf({ day, clock }, last) {
  if (!day && !clock) return {};
  let chosen = day ?? dayOf(last);
  if (clock && !day && at(chosen, clock[0]) > last) chosen = dayOf(at(chosen) - DAY_MS / 2);
  const from = at(chosen, clock?.[0]);
  let to = clock ? at(chosen, clock[1]) : at([chosen[0], chosen[1], chosen[2] + 1]);
  if (clock && to <= from) to = at([chosen[0], chosen[1], chosen[2] + 1], clock[1]); // over midnight
  return { from, to };
}

// The name that the text begins with, the longest of several.
function nameAt(text, names) {
  const small = text.toLowerCase();
  const found = names.filter((name) => name && small.startsWith(name.toLowerCase()) && !/^[\p{L}\p{N}_]/u.test(text.slice(name.length)));
  return found.toSorted((a, b) => b.length - a.length)[0];
}

// {lane, fruit, lot, class, verdict, from, to}, what is not asked for left out. `verdicts`: pairs of the server's word and
// the reader's. Throws an Unknown, whose message is the word that means nothing here.
export function parseQuery(text, { classes, to_ms: last }, verdicts) {
  const query = {};
  let rest = text;
  for (;;) {
    rest = rest.replace(/^[\s,;]+/, '');
    if (!rest) break;
    const rule = RULES.find(([pattern]) => pattern.test(rest));
    const verdict = verdicts.find((words) => nameAt(rest, words));
    const name = nameAt(rest, classes);
    let used;
    if (rule) {
      const match = rest.match(rule[0]);
      rule[1](query, match);
      used = match[0].length;
    } else if (name) {
      query.class = name;
      used = name.length;
    } else if (verdict) {
      [query.verdict] = verdict;
      used = nameAt(rest, verdict).length;
    } else throw new Unknown(rest.match(/^[^\s,;]+/)[0]);
    rest = rest.slice(used);
    if (/^[\p{L}\p{N}]/u.test(rest)) throw new Unknown(rest.match(/^[^\s,;]+/)[0]);
  }
  if (query.clock && !query.clock.every(isClock)) throw new Unknown(text.match(/\d+:[\d:]+/)[0]);
  const { day, clock, ...asked } = query;
  return { ...asked, ...timesOf({ day, clock }, last) };
}
