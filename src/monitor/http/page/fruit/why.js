// One sentence that says why a fruit is as it is, from its verdict alone. cernita-why, which also has the verdicts
// around it, says more.
import { milliseconds, say } from '../words.js';

// The words under `why`, by the reason of a view; what explains most comes first.
const BY_REASON = [
  ['device_lost', 'device_lost'],
  ['failed', 'failed'],
  ['no_slot', 'overload'],
  ['unfinished', 'overload'],
  ['discarded', 'overload'],
  ['not_finite', 'not_finite'],
  ['out_of_range', 'out_of_range'],
  ['all_zero', 'all_zero'],
  ['mask_values', 'scale'],
  ['divided_by_255', 'scale'],
  ['labels', 'scale'],
  ['per_cent', 'scale'],
  ['wrong_sum', 'scale'],
  ['truncated', 'truncated'],
  ['skipped', 'skipped'],
];

const numbersOf = (states) => states.map((state) => state.view);

// Of the views with a reason that the table has: the words of the first in it.
function sayReason(states) {
  for (const [reason, key] of BY_REASON) {
    const keys = BY_REASON.filter(([, other]) => other === key).map(([name]) => name);
    if (!states.some((state) => state.reason === reason)) continue;
    const those = states.filter((state) => keys.includes(state.reason));
    const named = those.find((state) => state.class);
    return say('why')[key](numbersOf(those), named ? say('in_class', named.class) : '');
  }
  return '';
}

// The longest part of the time after the close, as words.
function sayLongest({ latency_ms: latency }) {
  const known = Object.entries(latency).filter(([name]) => name !== 'total');
  const rest = latency.total - known.reduce((sum, [, ms]) => sum + ms, 0);
  const [name, ms] = known.reduce((most, one) => (one[1] > most[1] ? one : most), ['rest', rest]);
  if (name === 'rest') return say('part_rest', milliseconds(Math.max(0, ms)));
  if (name === 'pose') return say('part_pose', milliseconds(ms));
  if (name === 'surface') return say('part_surface', milliseconds(ms));
  return name === 'queue' ? say('part_queue', milliseconds(ms)) : say('part_step', name, milliseconds(ms));
}

export function sayWhy(verdict) {
  const of = (state) => verdict.view_states.filter((one) => one.state === state);
  const [refused, missing, lost] = [of('refused'), of('missing'), of('lost')];
  const words = say('why');
  if (verdict.closed_by === 'open_fruits') return words.open_fruits();
  if (verdict.closed_by === 'stop') return words.stop();
  if (refused.length > 0) return words.refused(numbersOf(refused));
  const reason = sayReason(lost);
  if (reason) return reason;
  if (lost.length > 0) return words.lost(numbersOf(lost), lost[0].reason);
  if (missing.length > 0) return words.missing(numbersOf(missing));
  const doubt = sayReason(of('judged'));
  if (doubt) return doubt;
  if (verdict.skipped.includes('surface')) return words.unmeasured();
  if (verdict.latency_ms.total > verdict.budget_ms) {
    return words.slow(milliseconds(verdict.latency_ms.total), milliseconds(verdict.budget_ms), sayLongest(verdict));
  }
  return words.fine(sayLongest(verdict));
}
