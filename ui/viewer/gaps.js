// What the model hears of one row: its visible tokens at the positions they are fed at, and the tears between them.
//
//   x = position id, counted from the row's own prompt end; gap = step between neighbours - 1
//
//   EQSPEC  ..prompt | 0 1 2 3 4          whole
//   BSP     ..prompt | 0 1 . . . 5 6      "+3": three rejected drafts keep their positions
//
// A constant offset is harmless under RoPE, so x is measured from the last prompt token's own position.

import { remember } from './remember.js';
import { kindOf } from './trace.js';

/** Index of the last frame at or before `step` that decodes `row`; -1 while there is none. */
export function rowFrameIndex(lane, row, step) {
  let found = -1;
  lane.frames.forEach((frame, n) => { if (frame.step <= step && frame.fed[row]) found = n; });
  return found;
}

/** The step in which each generated token of the row was emitted. */
export function births(lane, row) {
  const out = [];
  for (const frame of lane.frames) {
    const i = frame.rows.indexOf(row);
    for (const _ of (i < 0 ? [] : frame.emitted[i] ?? [])) out.push(frame.step);
  }
  return out;
}

/** Everything to draw of one row of one lane at a step, or null before its prefill. Of its tokens `next` is the one that no
 *  forward up to now has fed; it is `fed` all the same where a later one of the trace says at which position. */
export function ribbonOf(fold, laneName, row, step) {
  return remember(fold, `${laneName}/${row}/${step}`, () => newRibbon(fold, laneName, row, step));
}

function newRibbon(fold, laneName, row, step) {
  const lane = fold.lanes[laneName];
  const state = lane?.rows[row];
  const at = lane ? rowFrameIndex(lane, row, step) : -1;
  if (at < 0) return null;
  const frame = lane.frames[at];
  const i = frame.rows.indexOf(row);
  const now = frame.step === step;
  const length = frame.length[row];
  const old = length - (frame.emitted[i]?.length ?? 0); // content before this round
  const fresh = now ? old : length;
  const kept = frame.after[row]; // nothing of a row that left the batch, nor where every round feeds whole rows again
  const map = kept?.owner.length && !frame.ahead ? kept : lastMap(frame, row, i, old); // copied first: the next round drops the rejected
  const refed = frame.fed[row]?.owner.lastIndexOf(old - 1) ?? Infinity; // this round's drafts are behind it

  const slotOf = Array(length).fill(-1);
  for (let slot = 0; slot < map.owner.length; slot += 1) {
    const owner = map.owner[slot];
    if (owner >= 0 && owner < length && map.visible[slot]) slotOf[owner] = slot;
  }
  if (!(slotOf[state.prompt - 1] >= 0)) return null;
  const origin = map.position[slotOf[state.prompt - 1]] + 1;

  const tokens = [];
  for (let index = 0; index < length; index += 1) {
    const held = slotOf[index];
    const next = held < 0;
    if (next && index < length - 1) continue; // not visible to the next query
    const { slot, position, fed } = next ? nextFeed(lane, at, row, index, tokens.at(-1)) : { slot: held, position: map.position[held], fed: true };
    const kind = index < state.prompt ? 'prompt' : kindOf(state.kinds[index - state.prompt]);
    tokens.push({ index, id: state.ids[index], kind, fresh: index >= fresh, x: position - origin, slot, position, fed, next });
  }

  const holes = frame.layout === 'right'; // a left-padded lane closes up behind its rejected drafts
  const gaps = [];
  const seams = [];
  tokens.forEach((token, n) => {
    if (!n) return;
    const before = tokens[n - 1];
    const size = token.x - before.x - 1;
    if (size === 0 && (!holes || token.slot - before.slot < 2)) return; // whole
    const dead = deadBetween(map, before.slot, token.slot, now ? refed : Infinity);
    const tear = { after: before.index, before: token.index, x: before.x + 1, size, dead };
    if (size !== 0) gaps.push(tear);
    else if (dead.length) seams.push(tear); // a hole in memory that the positions do not show: harmless
  });

  const torn = gaps.some((gap) => gap.dead.some((d) => d.fresh));
  const fallen = now && !torn ? rejectedNow(frame, row, i, old, origin) : [];
  const tail = [...tokens, ...fallen].reduce((most, { x }) => Math.max(most, x + 1), 0);
  const done = state.done && !lane.frames.some((f, n) => n > at && f.rows.includes(row)) ? state.done : '';
  return { lane: laneName, row, step, now, frame, i, map, prompt: state.prompt, origin, tokens, gaps, seams, fallen, tail, done };
}

/** A row's entries as they were fed, with the drafts that were not kept hidden. */
function lastMap(frame, row, i, old) {
  const map = frame.fed[row].copy();
  const kept = old + (frame.accepted[i] ?? 0);
  map.owner.forEach((owner, slot) => { if (slot >= frame.slots[i] && owner >= kept) map.visible[slot] = 0; });
  return map;
}

/** Where the newest token is fed: the next forward says so; before it ran, the lane's own rule does. */
function nextFeed(lane, at, row, index, last) {
  if (!lane.frames[at].width_after) return { slot: lane.frames[at].width, position: last.position + 1, fed: false }; // all slots are new then
  const next = lane.frames.slice(at + 1).find((frame) => frame.rows.includes(row))?.fed[row];
  const column = next ? next.owner.lastIndexOf(index) : -1;
  if (column >= 0) return { slot: column, position: next.position[column], fed: true };
  // the next slot is behind everything this forward wrote; which dead slots in between are counted is a fault's choice
  const { width: slot } = lane.frames[at];
  const counts = lane.config?.faults?.includes(last.index < lane.rows[row].prompt ? 'padding_gap' : 'rejection_gap');
  return { slot, position: last.position + (counts ? slot - last.slot : 1), fed: false };
}

/** Invisible slots strictly between two slots: rejected drafts, and pads or filler. */
function deadBetween(map, a, b, freshFrom) {
  const out = [];
  for (let slot = a + 1; slot < b; slot += 1) {
    if (map.visible[slot]) continue;
    const owner = map.owner[slot] ?? -1;
    out.push({ slot, kind: owner >= 0 ? 'rejected' : 'pad', id: map.token[slot] ?? -1, fresh: slot >= freshFrom });
  }
  return out;
}

/** This round's rejected drafts at the positions they were tried at. */
function rejectedNow(frame, row, i, old, origin) {
  const fed = frame.fed[row];
  const out = [];
  for (let n = frame.accepted[i] ?? Infinity; n < (frame.lens[i] ?? 0); n += 1) {
    const slot = fed ? fed.owner.lastIndexOf(old + n) : -1;
    if (slot >= 0) out.push({ x: fed.position[slot] - origin, id: fed.token[slot] });
  }
  return out;
}

/** The row's first tear in this lane: {step, index, size} of the token behind it, or null. */
export function firstGap(fold, laneName, row) {
  return remember(fold, `${laneName}/${row}/first gap`, () => {
    const ribbon = ribbonOf(fold, laneName, row, Infinity);
    const gap = ribbon?.gaps.find((g) => g.before >= ribbon.prompt);
    return gap ? { step: births(fold.lanes[laneName], row)[gap.before - ribbon.prompt], index: gap.before, size: gap.size } : null;
  });
}

/** The row's first token that differs from the row decoded alone: {step, index, generated, expected, actual}. */
export function firstWrong(fold, laneName, row) {
  const lane = fold.lanes[laneName];
  const state = lane?.rows[row];
  const compare = state?.compare;
  if (!compare || compare.verdict === 'equal' || compare.index == null) return null;
  const { index: generated, expected, verdict } = compare;
  const actual = compare.actual ?? state.ids[state.prompt + generated] ?? null; // a file need not repeat it
  const step = births(lane, row)[generated] ?? lane.frames.at(-1)?.step ?? 0;
  return { step, index: state.prompt + generated, generated, expected, actual, verdict: verdict === 'rounding' ? verdict : 'bug' }; // a file may say it in a word of its own
}

/** The row's first violated invariant: the event's fields and its step, or null. */
export function firstViolation(fold, laneName, row) {
  for (const frame of fold.lanes[laneName]?.frames ?? []) {
    const found = frame.violations.find((v) => v.row === row);
    if (found) return { ...found, step: frame.step };
  }
  return null;
}
