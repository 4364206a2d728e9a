// What the tensor views show: pure functions from a folded frame to matrices. Nothing is drawn or invented here.
// Every function takes (fold, lane state, frame, axis); `axis` = {rows, queries} are the lines that both panels
// share, so a row that is not in this lane's batch is a line of nulls. z is a plain array of lines over slots.
//
//   kinds      z = code of KIND per slot of `frame.fed`
//   positions  z = position fed minus position expected (null: no owner), `position` = the ids themselves
//   mask       z = 1 where the query of that line may attend to the slot, 0 where not
//   gaps, owners: see tensor_layers.js
//   move       z = code of MOVE, two lines per row: `fed` above, `after` below; `origin` = slot it came from
//              (a lane that copies first: `start` above, `before` below)

import { costWords } from './copy_cost.js';
import { maskOf as rowMask } from './fold.js';
import { gapsOf, ownersOf } from './tensor_layers.js';

/** z codes of the kinds view. `hole`: written, hidden. `pending`: drafted, not judged yet. `cut`: agreed, then dropped. */
export const KIND = {
  pad: 0, prompt: 1, kept: 2, refed: 3, accepted: 4, rejected: 5, filler: 6, hole: 7, pending: 8, cut: 9,
};

/** z codes of the move view: what the clean-up does to each entry. */
export const MOVE = { pad: 0, stays: 1, right: 2, left: 3, dropped: 4, dead: 5 };

/** Fields of a frame that a view cannot do without. */
const NEEDS = { kinds: ['fed', 'slots', 'lens'], positions: ['fed'], mask: ['fed', 'slots', 'positions'], move: ['fed', 'after'], gaps: ['fed'], owners: ['fed'] };

/** Map or plain object, keys numbers or strings: the value, or undefined. */
export function at(table, key) {
  if (table instanceof Map) return table.get(key) ?? table.get(String(key));
  return table?.[key];
}

/** Name of the first field that `view` needs and this frame lacks; '' when all are there. */
export function missingField(frame, view) {
  const empty = (value) => !value || (value instanceof Map ? value.size === 0 : Object.keys(value).length === 0);
  return NEEDS[view].find((name) => empty(frame[name])) ?? '';
}

/** The matrices of one view of one lane. `missing` names an absent field; then there is no z. */
export function tensorOf(fold, lane, frame, view, axis = axisOf([frame])) {
  const missing = missingField(frame, view);
  const base = { view, lane: lane.name, step: frame.step, rows: axis.rows, width: frame.width, missing };
  if (missing) return base;
  const make = {
    kinds: kindsOf, positions: positionsOf, mask: maskOf, move: moveOf,
    gaps: () => gapsOf(frame, axis, positionsOf(fold, lane, frame, axis).gaps), owners: () => ownersOf(lane, frame, axis),
  }[view];
  return { ...base, ...make(fold, lane, frame, axis) };
}

/** The lines that several frames share: all their rows in order, and the most queries that any of them has. */
export function axisOf(frames) {
  const rows = [...new Set(frames.flatMap((frame) => frame?.rows ?? []))].sort((a, b) => a - b);
  const counts = frames.map((frame) => (frame && !isPrefill(frame) ? Math.max(1, ...frame.positions.map((p) => p.length)) : 1));
  return { rows, queries: Math.max(1, ...counts) };
}

/** Does this forward read prompts? Then no row of it had an entry before. */
export function isPrefill(frame) {
  return frame.rows.every((row) => !at(frame.before, row)?.owner.some((owner) => owner >= 0));
}

/** z [rows][S] of KIND codes over `frame.fed`; `chosen`: the token each row got that has no KV entry yet. */
export function kindsOf(fold, lane, frame, axis = axisOf([frame])) {
  return { z: axis.rows.map((row) => kindsOfRow(lane, frame, row) ?? nulls(frame.width)), codes: KIND, chosen: chosenOf(frame) };
}

/** KIND codes of one row's slots; null when it is not in this forward. */
function kindsOfRow(lane, frame, row) {
  const [m, prefill] = [at(frame.fed, row), isPrefill(frame)];
  return m?.owner.map((_, slot) => kindAt(lane, frame, row, m, slot, prefill)) ?? null;
}

/** KIND of one slot of the forward's KV. Columns of this round are told apart by the row's draft length and verdict. */
function kindAt(lane, frame, row, m, slot, prefill) {
  const i = frame.rows.indexOf(row);
  const t = slot - frame.slots[i];
  if (t < 0 || prefill) return oldKind(lane, frame, row, m, slot);
  if (t === 0) return KIND.refed;
  if (t > frame.lens[i]) return KIND.filler;
  if (!frame.accepted.length) return KIND.pending;
  if (t > frame.accepted[i]) return KIND.rejected;
  return t > frame.emitted[i].length ? KIND.cut : KIND.accepted;
}

/** An entry of an earlier round. owner -1: a pad, unless a later round wrote it there (filler that nobody removed). */
function oldKind(lane, frame, row, m, slot) {
  const owner = m.owner[slot];
  if (owner >= 0 && !m.visible[slot]) return KIND.hole;
  if (owner >= 0) return owner < at(lane.rows, row).prompt ? KIND.prompt : KIND.kept;
  const prefill = lane.frames.find((other) => other.rows.includes(row)).width;
  return m.position[slot] >= 0 && frame.layout === 'right' && slot >= prefill ? KIND.hole : KIND.pad;
}

/** The last token emitted, where the target chose it: it was never an input, so it has no KV; drawn right of the last. */
function chosenOf(frame) {
  return frame.rows.map((row, i) => {
    const kind = frame.kinds[i]?.at(-1);
    if (!kind || kind === 'a') return null;
    return { row, slot: frame.slots[i] + frame.positions[i].length, id: frame.emitted[i].at(-1), kind };
  }).filter(Boolean);
}

/** z [rows][S]: position minus expected. Expected: the row's own content index, plus the position of its token 0 under
 *  RoPE (a constant offset is harmless there; `base` says how large it is). `gaps`: visible neighbours whose positions are not one apart. */
export function positionsOf(fold, lane, frame, axis = axisOf([frame])) {
  const out = { z: [], position: [], owner: [], base: [], gaps: [] };
  for (const row of axis.rows) {
    const m = at(frame.fed, row);
    const first = m ? m.owner.findIndex((owner, slot) => owner === 0 && m.visible[slot]) : -1;
    const base = fold.header?.positions === 'learned' || first < 0 ? 0 : m.position[first];
    out.base.push(base);
    out.position.push(m ? m.position.slice() : nulls(frame.width));
    out.owner.push(m ? m.owner.slice() : nulls(frame.width));
    out.z.push(m ? m.owner.map((owner, s) => (owner < 0 ? null : m.position[s] - base - owner)) : nulls(frame.width));
    let last = -1;
    m?.owner.forEach((owner, slot) => {
      if (owner < 0 || !m.visible[slot]) return;
      if (last >= 0 && m.position[slot] !== m.position[last] + 1) {
        out.gaps.push({ row, slot, from: m.position[last], to: m.position[slot] });
      }
      last = slot;
    });
  }
  return out;
}

/** z [rows * queries][S] of 0/1, row by row. Where whole rows are fed, only each row's last queries are shown, as many
 *  as the other panel has, as `lines` says.
 *  `padSeen` {row: slots of pads that the mask shows}. */
export function maskOf(fold, lane, frame, axis = axisOf([frame])) {
  const [z, lines, prefill, padSeen] = [[], [], isPrefill(frame), {}];
  for (const row of axis.rows) {
    const i = frame.rows.indexOf(row);
    const m = at(frame.fed, row);
    const full = i < 0 ? [] : rowMask(frame, i);
    const last = prefill && m ? m.owner.findLastIndex((owner) => owner >= 0) : -1;
    for (let q = 0; q < axis.queries; q += 1) {
      const query = prefill ? last + 1 - axis.queries + q : q;
      lines.push({ row, query });
      z.push(full[query] ?? nulls(frame.width));
    }
    padSeen[row] = new Set(m?.owner.flatMap((owner, slot) => (owner < 0 && m.visible[slot] ? [slot] : [])) ?? []);
  }
  return { z, lines, queries: axis.queries, padSeen };
}

/** The two maps between which a frame's copy lies: around the clean-up, or ahead of the forward. */
export const copyOf = (frame) => (frame.ahead ? [frame.start, frame.before] : [frame.fed, frame.after]);

/** z [2 * rows][slots] of MOVE codes: line 2r the entries of `fed` by their fate, line 2r + 1 those of `after` (of `start`
 *  and `before` where the copy goes ahead).
 *  `origin` [rows][slots]: upper slot each entry came from, -1 none. `shift` {row: [signed deltas]}; `runs`
 *  [row, from, to, length] of what shifts; `gone`: rows that ended in this step, whose entries the copy leaves behind. */
export function moveOf(fold, lane, frame, axis = axisOf([frame])) {
  const { ahead, bytes } = frame;
  const [above, below] = copyOf(frame);
  const widthOf = (maps) => Math.max(0, ...frame.rows.map((row) => at(maps, row)?.owner.length ?? 0));
  const [width, widthAfter] = ahead ? [widthOf(above), widthOf(below)] : [frame.width, frame.width_after];
  const out = { z: [], origin: [], shift: {}, runs: [], gone: [], dead: 0, codes: MOVE, ahead, widthAfter, bytes, cost: costWords(fold.header, frame) };
  for (const row of axis.rows) {
    const [fed, after] = [at(above, row), at(below, row)];
    const kinds = (ahead ? fed?.owner.map((owner) => (owner < 0 ? KIND.pad : KIND.kept)) : kindsOfRow(lane, frame, row)) ?? [];
    const origin = fed && after ? originOf(frame, row, fed, after, kinds) : nulls(widthAfter);
    const fate = fed ? kinds.map((kind) => (kind === KIND.pad ? MOVE.pad : MOVE.dropped)) : nulls(width);
    const now = origin.map((from, slot) => {
      if (from === null || from < 0) return from === null ? null : MOVE.pad;
      fate[from] = after.visible[slot] ? [MOVE.left, MOVE.stays, MOVE.right][Math.sign(slot - from) + 1] : MOVE.dead;
      return fate[from];
    });
    if (fed && !after) out.gone.push(row);
    out.dead += now.filter((code) => code === MOVE.dead).length;
    out.z.push(fate, now);
    out.origin.push(origin);
    const runs = ahead ? runsOf(row, origin) : frame.moves.filter((move) => move[0] === row);
    out.shift[row] = [...new Set(runs.map(([, from, to]) => to - from))];
    out.runs.push(...runs);
  }
  return out;
}

/** Where each `after` entry was in `fed`: as the copy says; without a copy an entry is where it was. Pads: -1. */
function originOf(frame, row, fed, after, kinds) {
  const same = (slot) => after.position[slot] >= 0 && fed.owner[slot] === after.owner[slot] && fed.position[slot] === after.position[slot];
  const copied = at(frame.origin, row); // as long as `after`, unless the copy only made room before the forward
  const from = copied?.length === after.owner.length ? copied : after.owner.map((_, slot) => (same(slot) ? slot : -1));
  return from.map((slot) => (slot >= 0 && kinds[slot] !== KIND.pad ? slot : -1));
}

/** An origin as moves [row, from, to, length]. */
function runsOf(row, origin) {
  const runs = [];
  origin.forEach((from, to) => {
    const last = runs.at(-1);
    if (from === null || from < 0) return;
    if (last && from === last[1] + last[3] && to === last[2] + last[3]) last[3] += 1;
    else runs.push([row, from, to, 1]);
  });
  return runs;
}

function nulls(width) {
  return Array(width).fill(null);
}
