// A fruit's views through the chain as the Chain mode has it now, as a verdict whose surface can be drawn.
import { post } from '../api.js';
import { composeYaml } from '../chain/steps.js';

// True if a pixel of a view is on the fruit.
function isOn({ x, y, rx, ry, tilt_deg: tilt }, [px, py]) {
  const [cos, sin] = [Math.cos(tilt * Math.PI / 180), Math.sin(tilt * Math.PI / 180)];
  return Math.hypot(((px - x) * cos + (py - y) * sin) / rx, ((py - y) * cos - (px - x) * sin) / ry) <= 1;
}

async function runChain(maps, { backend, threads }, yaml) {
  const { defects } = await post(`/chain?${new URLSearchParams({ in: maps.id, backend, threads })}`, yaml);
  return defects;
}

// `open(view)` gives a view's class maps, `chainOf(planes)` the Chain mode's settings. Poses are the verdict's: what is drawn
// of each view is its own strip, so that nothing needs to be joined. Nothing is measured.
export async function judgeAgain(verdict, open, chainOf) {
  const defects = [];
  const spots = [];
  for (const pose of verdict.surface.pose.filter((one) => one.from_deg !== null)) {
    const maps = await open(pose.view);
    const state = chainOf(maps.planes);
    const first = defects.length;
    for (const one of await runChain(maps, state, composeYaml(state))) {
      if (!one.hole && isOn(pose, one.centroid)) spots.push({ class: one.class, parts: [defects.length] });
      defects.push({ ...one, view: pose.view, parent: one.parent < 0 ? one.parent : first + one.parent });
    }
  }
  return { ...verdict, defects, surface: { ...verdict.surface, defects: spots } };
}
