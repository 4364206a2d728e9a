// One clock for both lanes: round r of each. A lane that ended holds its last frame.

import { firstGap, firstWrong, ribbonOf } from './gaps.js';

/** Row ids in drawing order: longest prompt first. */
export function rowOrder(fold) {
  const prompts = fold?.header?.prompts ?? [];
  return prompts.map((p) => p.row).sort((a, b) => length(fold, b) - length(fold, a) || a - b);
}

/** The same for the stage. A chapter points from its rows to the picture of the memory below: there they stand by their numbers. */
export function stageOrder({ fold, chapter }) {
  const order = rowOrder(fold);
  return chapter ? order.sort((a, b) => a - b) : order;
}

/** Rows on the screen: all of a few, else the longest, a middle one and the shortest. */
export function shownRows(state) {
  const order = stageOrder(state);
  if (order.length <= 4 || state.allRows) return order;
  const three = [order[0], order[Math.floor(order.length / 2)], order.at(-1)];
  return three.includes(state.row) ? three : [...three, state.row].sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

/** The lane that differs from this one in nothing but its position ids: "bsp" and "bsp_repaired". */
export const siblingOf = (lane) => (lane.endsWith('_repaired') ? lane.slice(0, -'_repaired'.length) : `${lane}_repaired`);

/** The last step that can be shown. The repaired lane counts too, so that repairing never moves the clock. While a run streams in, only finished steps can. */
export function lastStep(state) {
  const steps = [state.left, state.right, siblingOf(state.right)].map((name) => {
    const frames = state.fold?.lanes[name]?.frames ?? [];
    return frames.findLast((frame) => frame.complete || frame.emitted.length)?.step ?? 0;
  });
  return Math.max(0, ...steps);
}

/** The first step of either lane: 0, except in a trace that was cut at its front. */
export function firstStep({ fold, left, right }) {
  const steps = [left, right].flatMap((name) => fold?.lanes[name]?.frames[0]?.step ?? []);
  return steps.length ? Math.min(...steps) : 0;
}

/** The right lane's first tear and first wrong word: of any row, or of the selected one where only that is shown. */
export const onlyOne = (state) => state.oneRow || Boolean(state.sole);
export const shownGap = (state) => (onlyOne(state) ? firstGap(state.fold, state.right, state.row) : laneGap(state.fold, state.right));
export const shownWrong = (state) => (onlyOne(state) ? firstWrong(state.fold, state.right, state.row) : laneWrong(state.fold, state.right));

/** The wrong word that tells most: the earliest in a row that rejected drafts had torn before; else the earliest. */
export function tellingWrong(state) {
  const { fold, right, row } = state;
  const all = (state.oneRow ? [row] : rowOrder(fold)).map((r) => ({ row: r, ...firstWrong(fold, right, r) })).filter((w) => w.step !== undefined);
  const torn = all.filter((w) => ribbonOf(fold, right, w.row, w.step)?.gaps.some((gap) => gap.before < w.index && gap.dead.some((d) => d.kind === 'rejected')));
  return [...(torn.length ? torn : all)].sort((a, b) => a.step - b.step)[0] ?? null;
}

/** The earliest event of a kind over all rows: {step, row, ...}, or null. */
function earliest(fold, lane, find) {
  let best = null;
  for (const row of rowOrder(fold)) {
    const found = find(fold, lane, row);
    if (found && (!best || found.step < best.step)) best = { ...found, row };
  }
  return best;
}

export const laneGap = (fold, lane) => earliest(fold, lane, firstGap);
export const laneWrong = (fold, lane) => earliest(fold, lane, firstWrong);

function length(fold, row) {
  return fold.header.prompts.find((p) => p.row === row).ids.length;
}
